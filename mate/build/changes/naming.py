"""Tables, rows and columns of an index by what people call them, and errors for those that it does not have."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mate.errors import UpdateError
from mate.lake.base import Index
from mate.lake.records import TableInfo


def find_table(index: Index, given: str) -> TableInfo:
    """Return the table that a person means: by its number, its source or its name."""
    if is_number(given):
        found = index.tables([int(given)])
        if found:
            return found[0]
    numbers = index.tables_from(sorted(spellings(given)))
    found = index.tables(numbers or index.tables_named(given))
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{t.table_id} ({t.name} in {t.source})" for t in found[:5])
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        raise UpdateError(f'"{given}" may be any of {len(found):,} tables, say which by number: {listed}{more}')
    raise UpdateError(f'the index has no table "{given}", neither by number, nor by file, nor by name')


def spellings(path: str) -> set[str]:
    """Return the ways in which an index may know a path."""
    return {path, str(Path(path).absolute()), str(Path(path).resolve())}


def find_column(table: TableInfo, given: str) -> int:
    """Return the column that a person means: by its name, or by its number counted from 1."""
    places = [place for place, name in enumerate(table.columns) if name == given]
    if len(places) == 1:
        return places[0]
    if places:
        numbers = ", ".join(str(place + 1) for place in places)
        raise UpdateError(f'{table.name} has several columns "{given}", say which by number: {numbers}')
    if is_number(given) and 1 <= int(given) <= len(table.columns):
        return int(given) - 1
    raise UpdateError(f'{table.name} has no column "{given}"; it has: {", ".join(table.column_names())}')


def is_number(given: str) -> bool:
    """Tell a number that an index can count from everything else that is made of digits, such as "²"."""
    return given.isascii() and given.isdecimal() and len(given) <= 18


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
