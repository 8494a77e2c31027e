"""The tools behind `mate mcp`: a lake for assistants that speak the Model Context Protocol."""
