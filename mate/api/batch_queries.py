"""The queries of a batch: a folder of tables, a CSV file that lists them, or tables in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mate.api.arguments import Key, text_list
from mate.api.tables import AnyTable, read, user_table
from mate.errors import MateError, QueryError

if TYPE_CHECKING:
    from mate.search.query import QueryTable

Queries: TypeAlias = "str | PathLike[str] | Mapping[str, tuple[AnyTable, Key]] | Iterable[tuple[AnyTable, Key]]"
"""A folder, a CSV file with the columns `query` and `key`, or pairs of a table and its key, with names or without."""


@dataclass(frozen=True)
class PlannedQuery:
    """A query before it is read."""

    name: str
    table: AnyTable
    key: Sequence[str] | None
    """None: all columns."""
    separator: str | None = None
    """Separates names in a text of the key that is no name of a column."""
    encoding: str | None = None
    """Of a file; None: it is detected."""

    def read(self) -> tuple[QueryTable, tuple[str, ...]]:
        """Return its key columns and their names."""
        from mate.search.query import QueryTable, key_columns

        found = read(self.table, self.encoding) if isinstance(self.table, str | PathLike) else self.table
        table = user_table(found, self.name).query
        key = key_columns(table, table.header if self.key is None else self._names(table.header))
        return QueryTable(table.name, table.columns.select(list(key)), table.source), key

    def _names(self, header: Sequence[str]) -> list[str]:
        names: list[str] = []
        for text in self.key or ():
            is_name = self.separator is None or text in header
            names += [text] if is_name else [part.strip() for part in text.split(self.separator)]
        return names

    def fingerprint(self) -> list[object]:
        """Return what identifies the query in a later run, without reading a file."""
        state: object = None
        if isinstance(self.table, str | PathLike):
            with suppress(OSError):
                found = Path(self.table).stat()
                state = [fspath(Path(self.table).resolve()), found.st_size, found.st_mtime_ns]
        else:
            with suppress(MateError):
                columns = user_table(self.table, self.name).query.columns
                digest = hashlib.sha256(repr(columns.column_names).encode())
                for batch in columns.to_batches():
                    digest.update(batch.serialize())
                state = digest.hexdigest()
        return [self.name, self.key, self.encoding, state]


def plan_queries(queries: Queries, key: Key | None, encoding: str | None = None) -> list[PlannedQuery]:
    """Return queries with distinct names; `key` is that of all queries of a folder."""
    if encoding is not None:
        from mate.corpus import check_encoding

        check_encoding(encoding)
    if isinstance(queries, str | PathLike):
        path = Path(queries)
        planned = _folder(path, key) if path.is_dir() else _listed(path, key)
    else:
        planned = _pairs(queries, key)
    seen: set[str] = set()
    for query in planned:
        if query.name in seen:
            raise QueryError(f'two queries of the batch are called "{query.name}"; give each a name of its own')
        seen.add(query.name)
    return [replace(query, encoding=encoding) for query in planned]


def _folder(path: Path, key: Key | None) -> list[PlannedQuery]:
    """Return the files of a folder, named by their paths in it."""
    from mate.corpus import discover

    columns = None if key is None else text_list(key)
    files = [Path(file.path) for file in discover([path])]
    return [PlannedQuery(file.relative_to(path).as_posix(), file, columns, ",") for file in files]


def _listed(path: Path, key: Key | None) -> list[PlannedQuery]:
    """Return the queries that a CSV file lists, with their keys; paths in it are relative to its folder."""
    if key is not None:
        raise QueryError(f"{path} lists a key for each query; a key for all of them is for the files of a folder")
    table = user_table(path, f"the list {path}").query
    if not {"query", "key"} <= set(table.header):
        columns = ", ".join(table.header)
        raise QueryError(f"{path} lists queries: it needs the columns query and key, and has {columns}")
    files, keys = (table.columns.column(name).to_pylist() for name in ("query", "key"))
    names = table.columns.column("name").to_pylist() if "name" in table.header else files
    planned = []
    for line, (name, file, columns) in enumerate(zip(names, files, keys, strict=True), start=1):
        if not file:
            raise QueryError(f"{path}: query {line} has no file")
        planned.append(PlannedQuery(name or file, path.parent / file, [columns] if columns else None, ";"))
    return planned


def _pairs(
    queries: Iterable[tuple[AnyTable, Key]] | Mapping[str, tuple[AnyTable, Key]], key: Key | None
) -> list[PlannedQuery]:
    if key is not None:
        raise QueryError("each table of a batch comes with a key of its own: give pairs of a table and its key")
    named = queries.items() if isinstance(queries, Mapping) else ((None, pair) for pair in queries)
    planned = []
    for number, (name, pair) in enumerate(named):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise QueryError("a query of a batch is a pair of a table and its key, such as (frame, ['city', 'day'])")
        table, own_key = pair
        default = fspath(table) if isinstance(table, str | PathLike) else f"query {number}"
        columns = None if own_key is None else text_list(own_key)
        planned.append(PlannedQuery(default if name is None else str(name), table, columns))
    return planned
