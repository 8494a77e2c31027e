"""Tables, rows and columns of an index by what people call them, and errors for those that it does not have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mate.errors import UpdateError
from mate.lake.base import Index
from mate.lake.records import TableInfo


def find_table(index: Index, text: str) -> TableInfo:
    """Return the table that a person means: by its number, its source or its name."""
    if is_number(text):
        tables = index.tables([int(text)])
        if tables:
            return tables[0]
    numbers = index.tables_from(sorted(spellings(text)))
    tables = index.tables(numbers or index.tables_named(text))
    if len(tables) == 1:
        return tables[0]
    if tables:
        listed = ", ".join(f"{t.table_id} ({t.name} in {t.source})" for t in tables[:5])
        more = f" and {len(tables) - 5:,} more" if len(tables) > 5 else ""
        raise UpdateError(f'"{text}" may be any of {len(tables):,} tables, say which by number: {listed}{more}')
    raise UpdateError(f'the index has no table "{text}", neither by number, nor by file, nor by name')


def spellings(path: str) -> set[str]:
    """Return the ways in which an index may know a path."""
    return {path, str(Path(path).absolute()), str(Path(path).resolve())}


def find_column(table: TableInfo, text: str) -> int:
    """Return the column that a person means: by its name, or by its number counted from 1."""
    places = [place for place, name in enumerate(table.columns) if name == text]
    if len(places) == 1:
        return places[0]
    if places:
        numbers = ", ".join(str(place + 1) for place in places)
        raise UpdateError(f'{table.name} has several columns "{text}", say which by number: {numbers}')
    if is_number(text) and 1 <= int(text) <= len(table.columns):
        return int(text) - 1
    raise UpdateError(f'{table.name} has no column "{text}"; it has: {", ".join(table.column_names())}')


def is_number(text: str) -> bool:
    """Tell a number that an index can count from everything else that is made of digits, such as "²"."""
    return text.isascii() and text.isdecimal() and len(text) <= 18


def tables_of(index: Index, table_ids: Iterable[int]) -> list[TableInfo]:
    """Return tables by number."""
    wanted = sorted(set(table_ids))
    found = index.tables(wanted)
    missing = set(wanted) - {table.table_id for table in found}
    if missing:
        raise UpdateError(f"the index has no table {min(missing)}; see: mate stats --tables")
    return found


def check_rows(table: TableInfo, rows: Iterable[int]) -> list[int]:
    """Return rows of a table, each once; raise UpdateError for one that it does not have."""
    chosen: dict[int, None] = {}
    for row in rows:  # one by one: an endless range ends at the first row that the table does not have
        if not 0 <= row < table.rows:
            raise UpdateError(f"{table.name} has no row {row + 1}; it has {table.rows:,} rows")
        chosen[row] = None
    return list(chosen)


def check_column(table: TableInfo, column: int) -> None:
    """Raise UpdateError for a column that the table does not have."""
    if not 0 <= column < len(table.columns):
        raise UpdateError(f"{table.name} has no column {column + 1}; it has {len(table.columns):,}")
