"""The join itself: a query table with the columns of a joinable one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from mate.errors import QueryError
from mate.index.base import Ids, Index
from mate.search.engine import as_query, match_table
from mate.search.query import unique_names
from mate.search.results import Matches

if TYPE_CHECKING:
    from mate.search.engine import AnyQuery


@dataclass(frozen=True)
class Enriched:
    """The result of a left join."""

    table: pa.Table
    mapping: dict[str, str]
    added: list[str]
    matched_rows: int


def enrich(index: Index, query: AnyQuery, key: Sequence[str], table_id: int, *, all_matches: bool = False) -> Enriched:
    """Left-join the query with a table of the index, under the mapping of the highest joinability.

    Every row of the query is kept. Of several matching rows the first is taken, unless all are asked for.
    """
    table = as_query(query)
    info = index.table(table_id)
    found = match_table(index, table, key, table_id)
    if not found.results:
        raise QueryError(f"table {table_id} ({info.name}) does not join with {table.name} on {', '.join(key)}")
    result = found.results[0]
    rows, partner = _pairs(found.key.row_tuple, result.matches, all_matches=all_matches)
    wanted, place = np.unique(partner[partner >= 0], return_inverse=True)
    cells = index.cells(table_id, wanted)
    added = [c for c in range(len(info.columns)) if c not in result.column_ids]
    columns = [table.columns.column(name).take(pa.array(rows)) for name in table.header]
    chosen = np.full(len(partner), -1)
    chosen[partner >= 0] = place
    taken = pa.array(chosen, mask=chosen < 0)
    columns += [pa.array([row[c] for row in cells], pa.string()).take(taken) for c in added]
    names = _names(table.header, [info.column_names()[c] for c in added], info.name)
    joined = pa.table(columns, names=[*table.header, *names])
    return Enriched(joined, result.mapping, names, int((partner >= 0).sum()))


def _pairs(row_tuple: Ids, matches: Matches, *, all_matches: bool) -> tuple[Ids, Ids]:
    """Return query rows and the rows of the table that they are joined with, -1 for none."""
    tuples, first, count = np.unique(matches.tuple_id, return_index=True, return_counts=True)
    place = np.searchsorted(tuples, row_tuple)
    known = (place < len(tuples)) & (row_tuple >= 0)
    known[known] = tuples[place[known]] == row_tuple[known]
    times = np.ones(len(row_tuple), np.int64)
    if all_matches:
        times[known] = count[place[known]]
    rows = np.repeat(np.arange(len(row_tuple)), times)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    partner = np.full(len(rows), -1)
    joined = known[rows]
    partner[joined] = matches.row[first[place[rows[joined]]] + within[joined]]
    return rows, partner


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
