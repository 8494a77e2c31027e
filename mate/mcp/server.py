"""A server of the Model Context Protocol: the service behind the page, with files of a folder as queries.

Answers are cut to be short.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

import mate
from mate.errors import MateError
from mate.web.service import Json, Matches, ServerLimits, Service, cut
from mate.web.uploads import SearchedTable

INSTRUCTIONS = """\
A lake of tables that can be joined with a table of the user's. Begin with suggest, which finds the key columns, or with
search if the key is known. Check the best answers with preview. join writes the result to a new file. Joinability is
the number of distinct key combinations that a table holds; "unique_part" is a part of a key that is enough by itself;
do not rely on answers whose evidence says "is_chance": true."""
CELL_CHARACTERS = 80
NAME_CHARACTERS = 200
"""Names of key columns are cut later than other texts: assistants use them in further questions."""
MOST_ITEMS = 20
MOST_PREVIEW_ROWS = 5
OMITTED = ("explanation", "python")
"""Fields of the page's API that assistants have no use for."""


class Tools:
    """What an assistant can do: each method is a tool, and its docstring and parameters are its description."""

    def __init__(self, lake: mate.Lake, folder: Path, limits: ServerLimits | None = None) -> None:
        self._service = Service(lake, limits or ServerLimits())
        self._folder = folder

    def tables(self, words: str = "", limit: int = MOST_ITEMS) -> Json:
        """List tables of the lake whose name, source or column names contain all the given words."""
        found = self._service.tables(words, limit=_few(limit))
        lake = self._service.lake.stats().tables
        return shortened(found, "tables", f"no table matches {cut(words, 80)!r}; the lake has {lake:,}")

    def suggest(self, query: str, k: int = 5, columns: list[str] | None = None) -> Json:
        """Find keys: which columns of a table, alone or together, join with which tables of the lake.

        `query` is the path of a file (CSV, Parquet, JSON), or the number of a table of the lake, such as "17".
        """
        *_, found = self._service.suggest(self._query(query), columns, _few(k))
        return shortened(found, "suggestions", found["message"])

    def search(self, query: str, key: list[str], k: int = 5) -> Json:
        """Find the tables of the lake that hold most combinations of a table's key columns, each in one row.

        `query` is as for suggest; `key` are names of its columns. An answer whose evidence says "is_chance" is no
        better than if the columns had nothing to do with each other.
        """
        found = self._service.search(self._query(query), key, _few(k))
        return shortened(found, "answers", "no table of the lake holds any combination of these key columns in one row")

    def preview(self, query: str, key: list[str], table: int) -> Json:
        """Show a few rows of a table beside the rows of a table of the lake that they match, and what a join adds."""
        found = self._service.preview(self._query(query), key, table)
        rows = {name: found[name][:MOST_PREVIEW_ROWS] for name in ("query_rows", "table_rows")}
        return shortened({**found, **rows})

    def join(self, query: str, key: list[str], table: int, output: str, matches: Matches = "first") -> Json:
        """Join a table with one of the lake, and write the result to a new file, .csv or .parquet.

        Every row is kept. Where several rows match, `matches` takes the "first" or "all", or combines them
        ("aggregate").
        """
        target = self._inside(output)
        if target.exists():
            raise MateError(f"{output} already exists; name a new file")
        joined = self._service.joined(self._query(query), key, table, matches)
        joined.write(target)
        written = {"rows": joined.rows, "matched_rows": joined.matched_rows, "added": joined.added}
        return {"file": output, **shortened(written)}

    def _query(self, query: str) -> SearchedTable:
        """Return the table that is searched with: a path, or the number of a table of the lake."""
        if query.isascii() and query.isdecimal():
            return self._service.lake_query(self._service.find_table(int(query[:19])))
        return SearchedTable(mate.read(self._inside(query)), query, "self")

    def _inside(self, path: str) -> Path:
        """Return a path inside the folder; raise an error for one that leads out of it."""
        try:
            resolved = (self._folder / path).resolve()
            resolved.exists()
        except (ValueError, OSError, RuntimeError):  # a NUL, a name that is too long, links in a circle
            raise MateError(f"{cut(path, 80)!r} is not a path of a file") from None
        if not resolved.is_relative_to(self._folder.resolve()):
            raise MateError(f"{path} is outside {self._folder}; start mate mcp with --folder to work elsewhere")
        return resolved


def _few(asked: int) -> int:
    return max(1, min(asked, MOST_ITEMS))


def shortened(record: Json, results: str = "", if_none: str = "") -> Json:
    """Return a record of the API without details, with long texts and lists cut, and a message if nothing was found."""
    message = {"message": if_none} if results and not record[results] else {}
    return {name: _shortened(value, name) for name, value in record.items() if name not in OMITTED} | message


def _shortened(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return cut(value, NAME_CHARACTERS if name in ("key", "unique_part") else CELL_CHARACTERS)
    if isinstance(value, float):
        return round(value, 3)
    if isinstance(value, dict):
        items = islice(value.items(), MOST_ITEMS)
        return {cut(key, NAME_CHARACTERS): _shortened(item, key) for key, item in items}
    if isinstance(value, list):
        more = [f"… and {len(value) - MOST_ITEMS:,} more"] if len(value) > MOST_ITEMS else []
        return [*(_shortened(item, name) for item in value[:MOST_ITEMS]), *more]
    return value


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
