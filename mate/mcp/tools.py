"""What an assistant can ask a lake for: small answers with their evidence, and words where nothing was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import mate
from mate.errors import MateError

Json: TypeAlias = dict[str, Any]

MOST_ANSWERS = 25
MOST_COLUMNS = 20
CELL_CHARACTERS = 80
NAME_CHARACTERS = 200
"""Names of key columns are cut later than cells: they are asked with again."""
JOINED_ROWS = 5_000_000
"""Rows of a join with all matches."""
DIGITS = 18
"""Of the largest number that a table may have."""
PREVIEW_ROWS = 5


@dataclass(frozen=True)
class Tools:
    """A lake, and the folder whose files may be read and written."""

    lake: mate.Lake
    folder: Path

    def tables(self, words: str = "", limit: int = 20) -> Json:
        """List tables of the lake whose name, source or column names contain all the given words."""
        wanted = words.casefold().split()
        found = [t for t in self.lake.tables() if _is_about(t, wanted)]
        if not found:
            return {
                "found": 0,
                "message": f"no table is about {_cut(words)!r}; the lake has {self.lake.stats().tables:,}",
            }
        return {"found": len(found), "tables": [_table(info) for info in found[: _few(limit)]]}

    def suggest(self, query: str, k: int = 5, columns: list[str] | None = None) -> Json:
        """Find keys: which columns of a table, alone or together, join with which tables of the lake.

        `query` is the path of a file (CSV, Parquet, JSON), or the number of a table of the lake, such as "17".
        """
        table, own = self._query(query)
        found = self.lake.suggest(table, _few(k), columns=columns, exclude=own)
        if not len(found):
            return _nothing("no table of the lake joins with any of these columns", columns or table.header)
        return {"suggestions": [_suggestion(one) for one in found]}

    def search(self, query: str, key: list[str], k: int = 5) -> Json:
        """Find the tables of the lake that hold most combinations of a table's key columns, each in one row.

        `query` is as for suggest; `key` are names of its columns. An answer with "is_chance" is no better than if the
        columns had nothing to do with each other.
        """
        table, own = self._query(query)
        found = self.lake.search(table, key, _few(k), exclude=own)
        if not len(found):
            return _nothing("no table of the lake holds any combination of these columns in one row", key)
        return {"key_combinations": found.key_tuples, "answers": [_answer(answer) for answer in found]}

    def preview(self, query: str, key: list[str], table: int) -> Json:
        """Show a few rows of a table beside the rows of a table of the lake that they match, and what a join adds."""
        mine, _ = self._query(query)
        answer = self.lake.match(mine, key, table)
        pairs = answer.pairs()
        joined = [
            {"yours": _row(mine.columns, row), "matching": _row(self.lake.table(table, "arrow", [partner]), 0)}
            for row, partner in pairs[:PREVIEW_ROWS]
        ]
        return {**_answer(answer), "rows": mine.columns.num_rows, "matched_rows": len(pairs), "examples": joined}

    def join(self, query: str, key: list[str], table: int, output: str, matches: str = "first") -> Json:
        """Join a table with one of the lake, and write the result to a new file, .csv or .parquet.

        Every row is kept. Where several rows match, `matches` takes the "first", "all", or makes one of them
        ("aggregate").
        """
        mine, _ = self._query(query)
        target = self._inside(output)
        if target.exists():
            raise MateError(f"{output} is there already; name a new file")
        answer = self.lake.match(mine, key, table)
        if matches == "all" and answer.rows_with_all() > JOINED_ROWS:
            rows = answer.rows_with_all()
            raise MateError(f"all matches are {rows:,} rows, more than {JOINED_ROWS:,}; take the first, or aggregate")
        joined = answer.enrich(matches)
        joined.write(target)
        added = _names(joined.added)
        return {"file": output, "rows": joined.rows, "matched_rows": joined.matched_rows, "added": added}

    def _query(self, query: str) -> tuple[mate.QueryTable, list[int] | Literal["self"]]:
        """Return the table that is searched with, and what to leave out of the answers: itself."""
        if query.isascii() and query.isdecimal():
            if len(query) > DIGITS:
                raise MateError(f"{self.lake.address} has no table {query[:DIGITS]}…; tables lists those that it has")
            info = self.lake.find(int(query))
            return mate.QueryTable(info.name, self.lake.table(info, "arrow")), [info.table_id]
        return mate.read(self._inside(query)), "self"

    def _inside(self, path: str) -> Path:
        """Return a path inside the folder, or refuse one that leads out of it."""
        try:
            found = (self.folder / path).resolve()
            found.exists()
        except (ValueError, OSError, RuntimeError):  # a NUL, too long a name, links in a circle
            raise MateError(f"{_cut(path)!r} is no path of a file") from None
        if not found.is_relative_to(self.folder.resolve()):
            raise MateError(f"{path} is outside {self.folder}; start mate mcp with --folder to work elsewhere")
        return found


def _few(asked: int) -> int:
    return max(1, min(asked, MOST_ANSWERS))


def _is_about(info: mate.TableInfo, words: Sequence[str]) -> bool:
    text = " ".join((info.name, info.source, *info.columns)).casefold()
    return all(word in text for word in words)


def _table(info: mate.TableInfo) -> Json:
    return {"table": info.table_id, "name": _cut(info.name), "rows": info.rows, "columns": _names(info.column_names())}


def _answer(answer: mate.Answer) -> Json:
    record = answer.to_dict()
    few = list(answer.mapping.items())[:MOST_COLUMNS]
    evidence = {name: round(v, 3) if isinstance(v, float) else v for name, v in record["evidence"].items()}
    return {
        "table": answer.table_id,
        "name": _cut(answer.table.name),
        "joinability": answer.joinability,
        "mapping": {_cut(mine, NAME_CHARACTERS): _cut(theirs) for mine, theirs in few},
        "evidence": evidence,
        "adds": _names(answer.added),
    }


def _suggestion(found: mate.SuggestedKey) -> Json:
    key = [_cut(name, NAME_CHARACTERS) for name in found.key]
    unique = {} if found.unique_part is None else {"unique_part": [_cut(n, NAME_CHARACTERS) for n in found.unique_part]}
    return {"key": key, **unique, **_answer(found)}


def _names(names: Sequence[str]) -> list[str]:
    more = [f"… and {len(names) - MOST_COLUMNS:,} more"] if len(names) > MOST_COLUMNS else []
    return [*map(_cut, names[:MOST_COLUMNS]), *more]


def _row(table: Any, row: int) -> dict[str, str]:
    """Return the cells of a row that have a value, long ones cut."""
    cells = [(name, table.column(name)[row].as_py()) for name in table.column_names[:MOST_COLUMNS]]
    return {_cut(name): _cut(cell) for name, cell in cells if cell}


def _cut(text: str, most: int = CELL_CHARACTERS) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _nothing(message: str, tried: Sequence[str]) -> Json:
    return {"found": 0, "message": message, "tried": _names(tried)}
