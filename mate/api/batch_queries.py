"""The queries of a batch: a folder of tables, a CSV file that lists them, or tables in memory."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from mate.api.given import AnyTable, given_table, read
from mate.errors import MateError, QueryError

if TYPE_CHECKING:
    from mate.search.query import QueryTable

Key: TypeAlias = "str | Sequence[str]"
Queries: TypeAlias = "str | PathLike[str] | Mapping[str, tuple[AnyTable, Key]] | Iterable[tuple[AnyTable, Key]]"
"""A folder, a CSV file with the columns `query` and `key`, or pairs of a table and its key, with names or without."""

LIST_SEPARATOR, FOLDER_SEPARATOR = ";", ","
"""Between the key columns of a listed query, and of the queries in a folder."""


@dataclass(frozen=True)
class PlannedQuery:
    """A query that was not read yet."""

    name: str
    given: AnyTable
    key: tuple[str, ...] | None
    """None: all columns."""
    separator: str | None = None
    """What separates the names in a text of the key that is no name of a column; None: nothing does."""
    encoding: str | None = None
    """Of a file; None: it is found."""

    def read(self) -> tuple[QueryTable, tuple[str, ...]]:
        """Return its key columns, and their names."""
        from mate.search.query import QueryTable, key_columns

        given = read(self.given, self.encoding) if isinstance(self.given, str | PathLike) else self.given
        table = given_table(given, self.name).query
        key = key_columns(table, table.header if self.key is None else self._names(self.key, table.header))
        return QueryTable(table.name, table.columns.select(list(key)), table.source), key

    def _names(self, key: tuple[str, ...], header: Sequence[str]) -> list[str]:
        """Return key columns; a text that is no name of a column is a list of names."""
        names: list[str] = []
        for text in key:
            whole = self.separator is None or text in header
            names += [text] if whole else [part.strip() for part in text.split(self.separator)]
        return names

    def fingerprint(self) -> list[object]:
        """Return what tells whether it is the same query as in an earlier run, without reading a file."""
        return [self.name, self.key, self.encoding, self._state()]

    def _state(self) -> object:
        if not isinstance(self.given, str | PathLike):
            try:
                columns = given_table(self.given, self.name).query.columns
            except MateError as error:
                return str(error)
            digest = hashlib.sha256(repr(columns.column_names).encode())
            for batch in columns.to_batches():
                digest.update(batch.serialize())
            return digest.hexdigest()
        try:
            state = Path(self.given).stat()
        except OSError:
            return None
        return [fspath(Path(self.given).resolve()), state.st_size, state.st_mtime_ns]


def planned(queries: Queries, key: Key | None, encoding: str | None = None) -> list[PlannedQuery]:
    """Return the queries with names of their own; `key` is that of all queries of a folder."""
    if encoding is not None:
        from mate.corpus import check_encoding

        check_encoding(encoding)
    return [replace(query, encoding=encoding) for query in _planned(queries, key)]


def _planned(queries: Queries, key: Key | None) -> list[PlannedQuery]:
    if isinstance(queries, str | PathLike):
        path = Path(queries)
        return _folder(path, _key(key)) if path.is_dir() else _listed(path, key)
    if key is not None:
        raise QueryError("each table of a batch comes with a key of its own: give pairs of a table and its key")
    named = queries.items() if isinstance(queries, Mapping) else ((None, pair) for pair in queries)
    found = [_pair(name, pair, number) for number, (name, pair) in enumerate(named)]
    return _checked(found)


def _folder(path: Path, key: tuple[str, ...] | None) -> list[PlannedQuery]:
    """Return the files of a folder, named by their paths in it."""
    from mate.corpus import discover

    files = [Path(file.path) for file in discover([path])]
    return [PlannedQuery(file.relative_to(path).as_posix(), file, key, FOLDER_SEPARATOR) for file in files]


def _listed(path: Path, key: Key | None) -> list[PlannedQuery]:
    """Return the queries that a CSV file lists, with their keys; paths in it are relative to its folder."""
    if key is not None:
        raise QueryError(f"{path} lists a key for each query; a key for all of them is for the files of a folder")
    table = given_table(path, f"the list {path}").query
    wanted = {"query", "key"}
    if not wanted <= set(table.header):
        had = ", ".join(table.header)
        raise QueryError(f"{path} lists queries: it needs the columns query and key, and has {had}")
    files, keys = (table.columns.column(name).to_pylist() for name in ("query", "key"))
    names = table.columns.column("name").to_pylist() if "name" in table.header else files
    found = []
    for line, (name, file, columns) in enumerate(zip(names, files, keys, strict=True), start=1):
        if not file:
            raise QueryError(f"{path}: query {line} has no file")
        found.append(PlannedQuery(name or file, path.parent / file, (columns,) if columns else None, LIST_SEPARATOR))
    return _checked(found)


def _pair(name: object, pair: object, number: int) -> PlannedQuery:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise QueryError("a query of a batch is a pair of a table and its key, such as (frame, ['city', 'day'])")
    table, key = pair
    known = fspath(table) if isinstance(table, str | PathLike) else f"query {number}"
    return PlannedQuery(known if name is None else str(name), table, _key(key))


def _key(key: object) -> tuple[str, ...] | None:
    if key is None:
        return None
    if isinstance(key, str):
        return (key,)
    if not isinstance(key, Iterable):
        raise QueryError(f"columns are given as a list of names, not as {type(key).__name__}")
    return tuple(map(str, key))


def _checked(found: list[PlannedQuery]) -> list[PlannedQuery]:
    seen: set[str] = set()
    for query in found:
        if query.name in seen:
            raise QueryError(f'two queries of the batch are called "{query.name}"; give each a name of its own')
        seen.add(query.name)
    return found
