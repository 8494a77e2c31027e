"""The queries of a batch: a folder of tables, a CSV file that lists them, or tables in memory."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TypeAlias

from mate.api.arguments import Key, text_list
from mate.api.tables import AnyTable, read, user_table
from mate.corpus import check_encoding, discover
from mate.errors import MateError, QueryError
from mate.search.query import QueryTable, key_columns

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
        found = read(self.table, self.encoding) if isinstance(self.table, str | PathLike) else self.table
        table = user_table(found, self.name).query
        names = table.header if self.key is None else []
        for text in self.key or ():
            is_name = self.separator is None or text in table.header
            names += [text] if is_name else [part.strip() for part in text.split(self.separator)]
        table = table.for_key(names)
        key = key_columns(table, names)
        return QueryTable(table.name, table.columns.select(list(key)), table.source), key

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
        check_encoding(encoding)
    if isinstance(queries, str | PathLike) and Path(queries).is_dir():
        planned = _folder(Path(queries), None if key is None else text_list(key))
    elif key is not None:
        raise QueryError("a key for all queries is for a folder of tables; listed queries have a key of their own")
    else:
        planned = _listed(Path(queries)) if isinstance(queries, str | PathLike) else _pairs(queries)
    for name, count in Counter(query.name for query in planned).items():
        if count > 1:
            raise QueryError(f'two queries of the batch are called "{name}"; give each a name of its own')
    return [replace(query, encoding=encoding) for query in planned]


def _folder(path: Path, key: list[str] | None) -> list[PlannedQuery]:
    """Return the files of a folder, named by their paths in it."""
    files = [Path(file.path) for file in discover([path])]
    return [PlannedQuery(file.relative_to(path).as_posix(), file, key, ",") for file in files]


def _listed(path: Path) -> list[PlannedQuery]:
    """Return the queries that a CSV file lists, with their keys; paths in it are relative to its folder."""
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


def _pairs(queries: Iterable[tuple[AnyTable, Key]] | Mapping[str, tuple[AnyTable, Key]]) -> list[PlannedQuery]:
    named = queries.items() if isinstance(queries, Mapping) else ((None, pair) for pair in queries)
    planned = []
    for number, (name, pair) in enumerate(named):
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise QueryError("a query of a batch is a pair of a table and its key, such as (frame, ['city', 'day'])")
        table, key = pair
        default = fspath(table) if isinstance(table, str | PathLike) else f"query {number}"
        planned.append(PlannedQuery(default if name is None else name, table, None if key is None else text_list(key)))
    return planned
