"""The same index as tables of a database."""
