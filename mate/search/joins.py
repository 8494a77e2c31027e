"""The join itself: a query table with the columns of a joinable one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mate.errors import QueryError
from mate.search.discovery import Result, as_query, match_table
from mate.search.query import unique_names

if TYPE_CHECKING:
    from mate.search.discovery import AnyQuery
    from mate.store.base import IndexStore


@dataclass(frozen=True)
class Enriched:
    """The result of a left join."""

    table: pa.Table
    mapping: dict[str, str]
    added: list[str]
    matched_rows: int


def enrich(
    store: IndexStore, query: AnyQuery, key: Sequence[str], table_id: int, *, all_matches: bool = False
) -> Enriched:
    """Left-join the query with a table of the index, under the mapping of the highest joinability.

    Every row of the query is kept. Of several matching rows the first is taken, unless all are asked for.
    """
    table = as_query(query)
    if not store.tables(np.array([table_id])):
        last = store.tables()[-1].table_id if store.manifest.tables else -1
        raise QueryError(f"the index has no table {table_id}; its tables are 0 to {last:,}")
    found = match_table(store, table, key, table_id)
    if not found.results:
        info = store.tables(np.array([table_id]))[0]
        raise QueryError(f"table {table_id} ({info.name}) does not join with {table.name} on {', '.join(key)}")
    result = found.results[0]
    rows, partner = _pairs(found.key.row_tuple, result, all_matches=all_matches)
    cells = store.cells(partner[partner >= 0])
    added = [c for c in range(len(result.table.columns)) if c not in result.column_ids]
    names = _names(table.header, [result.table.columns[c] or f"column {c + 1}" for c in added], result.table.name)
    columns = [table.columns.column(name).take(pa.array(rows)) for name in table.header]
    partners = [cells[row] if row >= 0 else None for row in partner.tolist()]
    columns += [pa.array([row[c] if row else None for row in partners], pa.string()) for c in added]
    joined = pa.table(columns, names=[*table.header, *names])
    return Enriched(joined, result.mapping, names, int((partner >= 0).sum()))


def _pairs(
    row_tuple: np.ndarray[tuple[int], np.dtype[np.int64]], result: Result, *, all_matches: bool
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """Return query rows and the rows of the index that they are joined with, -1 for none."""
    partners: dict[int, list[int]] = {}
    for number, row in sorted(set(zip(result.tuple_ids.tolist(), result.row_ids.tolist(), strict=True))):
        partners.setdefault(number, []).append(row)
    rows, joined = [], []
    for place, number in enumerate(row_tuple.tolist()):
        matches = partners.get(number, [-1])
        for row in matches if all_matches else matches[:1]:
            rows.append(place)
            joined.append(row)
    return np.array(rows, np.int64), np.array(joined, np.int64)


def _names(taken: Sequence[str], new: Sequence[str], table: str) -> list[str]:
    """Return names for the added columns that clash with none."""
    wanted = [f"{name} ({table})" if name in taken else name for name in new]
    return unique_names([*taken, *wanted])[len(taken) :]


def write(table: pa.Table, path: str) -> None:
    """Write a table as CSV, or as Parquet if the name ends so."""
    import csv

    target = Path(path)
    try:
        if target.suffix.lower() in (".parquet", ".pq"):
            import pyarrow.parquet as pq

            with target.open("wb") as binary:
                pq.write_table(table, binary)
            return
        with target.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(table.column_names)
            for batch in table.to_batches():
                columns = [["" if cell is None else cell for cell in column.to_pylist()] for column in batch.columns]
                writer.writerows(zip(*columns, strict=True))
    except OSError as error:
        raise QueryError(f"cannot write {path}: {error.strerror}") from error
