"""Queries sampled from the lake's own tables as the paper does (section 7.1): by cardinality, no duplicates."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from mate.lake.base import Index
from mate.lake.records import TableInfo
from mate.search.query import QueryTable
from mate.values.text import tokens

_TABLES_AT_ONCE = 512
TALLEST = 20
"""A whole table of more rows than this many times the largest cardinality wanted is not even looked at."""


@dataclass(frozen=True)
class Query:
    """A query table, its key, and the table of the lake that it was taken from."""

    name: str
    table: QueryTable
    key: tuple[str, ...]
    cardinality: int
    """Distinct key tuples."""
    origin: int
    """Its own table in the index, -1 if it has none."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a sampled query is to look like."""

    least: int = 2
    """Distinct key tuples, at least."""
    below: int = 1_000
    """Fewer distinct key tuples than this."""
    key_columns: int = 2
    whole: bool = False
    """Only whole tables; else of one that is too tall the first rows are taken."""


def sample_queries(
    index: Index, count: int, shape: Shape, seed: int = 1, without: Set[int] = frozenset()
) -> Iterator[Query]:
    """Yield up to `count` queries of a shape.

    Tables are drawn without replacement, none of them from `without`, and no two queries have the same key tuples.
    Key columns are drawn among those that hold at least two values, and stand in the order of the table.
    """
    random = np.random.default_rng(seed)
    made: set[bytes] = set()
    for table in shuffled(index, random):
        if len(made) == count:
            return
        if len(table.columns) < shape.key_columns or table.rows < shape.least or table.table_id in without:
            continue
        if shape.whole and table.rows > TALLEST * shape.below:
            continue
        order = random.permutation(len(table.columns)).tolist()
        body = rows_of(index, table, None if shape.whole else shape.below - 1)
        chosen = sorted(varied(index, body, order, shape.key_columns, min(2, shape.least)))
        if len(chosen) < shape.key_columns:
            continue
        query, content = taken(index, table, body, chosen)
        if shape.least <= query.cardinality < shape.below and content not in made:
            made.add(content)
            yield query


def shuffled(index: Index, random: np.random.Generator) -> Iterator[TableInfo]:
    """Yield the tables of the index in random order, some of them fetched at a time."""
    order = random.permutation(index.manifest.next_table)
    for start in range(0, len(order), _TABLES_AT_ONCE):
        part = order[start : start + _TABLES_AT_ONCE]
        infos = {table.table_id: table for table in index.tables(part)}
        yield from (infos[number] for number in part.tolist() if number in infos)


def rows_of(index: Index, table: TableInfo, most: int | None = None) -> list[list[str | None]]:
    """Return the rows of a table as they were read, at most so many."""
    return index.cells(table.table_id, np.arange(table.rows if most is None else min(table.rows, most)))


def varied(
    index: Index, body: Sequence[Sequence[str | None]], columns: Sequence[int], wanted: int, least: int
) -> list[int]:
    """Return the first so many of the columns that hold at least `least` distinct values."""
    chosen: list[int] = []
    for column in columns:
        values = tokens([row[column] for row in body], frozenset(index.manifest.nulls))
        if len(values.unique().drop_null()) >= least:
            chosen.append(column)
        if len(chosen) == wanted:
            break
    return chosen


def taken(
    index: Index, table: TableInfo, body: Sequence[Sequence[str | None]], columns: Sequence[int]
) -> tuple[Query, bytes]:
    """Return columns of a table as a query, and a checksum of its distinct key tuples."""
    names = [f"{table.columns[c] or 'column'} [{c}]" for c in columns]
    arrays = [pa.array([row[c] for row in body], pa.string()) for c in columns]
    found = distinct(arrays, frozenset(index.manifest.nulls))
    content = hashlib.sha256("\x1e".join(sorted("\x1f".join(values) for values in found)).encode()).digest()
    name = f"{table.table_id}:{','.join(map(str, columns))}"
    query = QueryTable(table.name, pa.table(arrays, names=names), table.source)
    return Query(name, query, tuple(names), len(found), table.table_id), content


def distinct(columns: Sequence[pa.Array], nulls: Set[str]) -> set[tuple[str, ...]]:
    """Return the distinct key tuples of columns, those with an empty cell left out."""
    whole = zip(*(tokens(column, nulls).to_pylist() for column in columns), strict=True)
    return {values for values in whole if None not in values}
