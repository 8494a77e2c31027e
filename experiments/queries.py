"""Query sets, sampled from the lake's own tables as the paper does (section 7.1): by cardinality, no duplicates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mate.query import QueryTable
from mate.store.base import IndexStore, TableInfo
from mate.text import tokens


@dataclass(frozen=True)
class Query:
    """A query table, its key, and the table of the lake that it was taken from."""

    name: str
    table: QueryTable
    key: tuple[str, ...]
    cardinality: int
    """Distinct key tuples."""
    origin: int


def sample_queries(
    store: IndexStore,
    count: int,
    least: int = 2,
    below: int = 1_000,
    key_columns: int = 2,
    seed: int = 1,
) -> Iterator[Query]:
    """Yield up to `count` queries with at least `least` and fewer than `below` distinct key tuples.

    Tables are drawn without replacement, key columns at random among those that hold values; of a table that is too
    tall, the first rows are taken.
    """
    random = np.random.default_rng(seed)
    made = 0
    for table_id in random.permutation(store.manifest.tables).tolist():
        if made == count:
            return
        (table,) = store.tables(np.array([table_id]))
        if len(table.columns) < key_columns or table.rows < least:
            continue
        columns = random.permutation(len(table.columns)).tolist()
        query = _take(store, table, columns, key_columns, least, below)
        if query is not None:
            made += 1
            yield query


def _take(
    store: IndexStore, table: TableInfo, columns: list[int], key_columns: int, least: int, below: int
) -> Query | None:
    rows = min(table.rows, below - 1)
    cells = store.cells(np.arange(table.first_row, table.first_row + rows))
    body = [cells[row] for row in sorted(cells)]
    chosen: list[int] = []
    for column in columns:
        values = tokens([row[column] for row in body], frozenset(store.manifest.nulls))
        if len(values.unique().drop_null()) >= min(2, least):
            chosen.append(column)
        if len(chosen) == key_columns:
            break
    if len(chosen) < key_columns:
        return None
    names = [f"{table.columns[c] or 'column'} [{c}]" for c in chosen]
    arrays = [pa.array([row[c] for row in body], pa.string()) for c in chosen]
    whole = zip(*(tokens(a, frozenset(store.manifest.nulls)).to_pylist() for a in arrays), strict=True)
    cardinality = len({values for values in whole if None not in values})
    if not least <= cardinality < below:
        return None
    query = QueryTable(table.name, pa.table(arrays, names=names))
    return Query(f"{table.table_id}:{','.join(map(str, chosen))}", query, tuple(names), cardinality, table.table_id)
