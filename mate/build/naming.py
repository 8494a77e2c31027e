"""Tables, rows and columns of an index by what people call them, and errors for what is not there."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from mate.errors import UpdateError
from mate.store.base import IndexStore, TableInfo, as_ids


def find_table(store: IndexStore, given: str) -> TableInfo:
    """Return the table that a person means: by its number, its source or its name."""
    if given.isdigit():
        found = store.tables(as_ids([int(given)]))
        if found:
            return found[0]
    numbers = store.tables_from(sorted({given, str(Path(given).absolute()), str(Path(given).resolve())}))
    if not len(numbers):
        numbers = store.tables_named(given)
    found = store.tables(numbers)
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(f"{t.table_id} ({t.name} in {t.source})" for t in found[:5])
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        raise UpdateError(f'"{given}" may be any of {len(found):,} tables, say which by number: {listed}{more}')
    raise UpdateError(f'the index has no table "{given}", neither by number, nor by file, nor by name')


def find_column(table: TableInfo, given: str) -> int:
    """Return the column that a person means: by its name, or by its number counted from 1."""
    places = [place for place, name in enumerate(table.columns) if name == given]
    if len(places) == 1:
        return places[0]
    if places:
        numbers = ", ".join(str(place + 1) for place in places)
        raise UpdateError(f'{table.name} has several columns "{given}", say which by number: {numbers}')
    if given.isdigit() and 1 <= int(given) <= len(table.columns):
        return int(given) - 1
    names = ", ".join(name or f"column {place + 1}" for place, name in enumerate(table.columns))
    raise UpdateError(f'{table.name} has no column "{given}"; it has: {names}')


def tables_of(store: IndexStore, table_ids: Iterable[int]) -> list[TableInfo]:
    """Return tables by number."""
    wanted = sorted(set(table_ids))
    found = store.tables(as_ids(wanted))
    missing = set(wanted) - {table.table_id for table in found}
    if missing:
        raise UpdateError(f"the index has no table {min(missing)}; see: mate stats --tables")
    return found


def row_ids_of(store: IndexStore, table: TableInfo, rows: Iterable[int]) -> dict[int, int]:
    """Return the numbers in the index of a table's rows."""
    numbers = store.row_ids(as_ids([table.table_id])).row_id
    chosen = dict.fromkeys(rows)
    for row in chosen:
        if not 0 <= row < len(numbers):
            raise UpdateError(f"{table.name} has no row {row + 1}; it has {len(numbers):,} rows")
    return {row: int(numbers[row]) for row in chosen}


def check_column(table: TableInfo, column: int) -> None:
    """Raise UpdateError for a column that the table does not have."""
    if not 0 <= column < len(table.columns):
        raise UpdateError(f"{table.name} has no column {column + 1}; it has {len(table.columns):,}")
