"""A server of the Model Context Protocol on standard input and output."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import mate
from mate.errors import MateError
from mate.mcp.tools import Tools
from mate.web.service import Json

INSTRUCTIONS = """\
A lake of tables that can be joined with a table of the user's. Begin with suggest, which finds the key columns, or with
search if the key is known. Check the best answers with preview. join writes the result to a new file. Joinability is
the number of distinct key combinations that a table holds; "unique_part" is a part of a key that is enough by itself;
do not rely on answers whose evidence says "is_chance": true."""


def server(lake: mate.Lake, folder: Path) -> MCPServer[Any]:
    """Return the server for a lake; files are read and written in one folder only."""
    tools = Tools(lake, folder)
    result: MCPServer[Any] = MCPServer("mate", instructions=INSTRUCTIONS, version=mate.__version__, log_level="ERROR")
    for tool in (tools.tables, tools.suggest, tools.search, tools.preview, tools.join):
        result.tool()(_with_tool_errors(tool))
    return result


def _with_tool_errors(tool: Callable[..., Json]) -> Callable[..., Json]:
    """Let the assistant read the message of an error."""

    @functools.wraps(tool)
    def with_errors(*given: Any, **named: Any) -> Json:
        try:
            return tool(*given, **named)
        except MateError as error:
            raise ToolError(str(error)) from error

    return with_errors
