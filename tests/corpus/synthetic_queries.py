"""Queries on a synthetic lake that are known to join some of its tables."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from mate.corpus import Chunk, Table
from mate.corpus.synthetic import SyntheticLake
from mate.corpus.synthetic import shapes as places
from mate.corpus.synthetic.shapes import Numbers, Shapes, stream, tuples_of, unit_of
from mate.corpus.synthetic.values import ARITY, TEMPLATES, headers_of


@dataclass(frozen=True, slots=True)
class SyntheticQuery:
    """A query table with what is known about it by construction."""

    chunk: Chunk
    """The whole query table."""
    key: tuple[str, ...]
    """Names of its key columns."""
    joins: dict[int, int]
    """Table number to key tuples: so many distinct ones, or more, are found in that table under one mapping."""


def queries(
    lake: SyntheticLake, count: int, seed: int, key_columns: int = 2, rows: int = 100
) -> Iterator[SyntheticQuery]:
    """Yield query tables of ``rows`` rows, each known to join at least two tables of the lake."""
    members = _members(lake, key_columns)
    made = 0
    for attempt in range(20 * count + 20):
        if made == count:
            break
        query = _query(lake, members, seed, attempt, (key_columns, rows))
        if len(query.joins) > 1:
            made += 1
            yield query
    assert made == count


def _members(lake: SyntheticLake, key_columns: int) -> Numbers:
    """Return (domain, table) of the tables in domains of at least so many key columns and two tables."""
    numbers = np.arange(lake.tables)
    domain = lake._domain(numbers, stream(lake._root(), numbers))
    usable = (domain >= 0) & (ARITY[lake._template(domain)] >= key_columns)
    members = np.stack([domain[usable], numbers[usable]], axis=1)
    _, inverse, count = np.unique(members[:, 0], return_inverse=True, return_counts=True)
    return members[count[inverse] > 1]


def _query(lake: SyntheticLake, members: Numbers, seed: int, attempt: int, size: tuple[int, int]) -> SyntheticQuery:
    key_columns, rows = size
    whole = replace(lake, near_misses=0)
    key = stream(stream(stream(lake._root(), places.QUERIES), seed), attempt)
    domain = members[int(stream(key, places.DOMAIN)[0] % np.uint64(len(members))), :1]
    arity = int(ARITY[lake._template(domain)][0])
    shape = Shapes(np.array([attempt]), key, np.array([arity + 2]), np.array([rows]), domain)
    columns = whole._columns(shape)
    cells = whole._cells(shape, columns, np.zeros(1, np.int64), shape.rows)
    (header,) = headers_of(shape, columns)
    slots = np.argsort(stream(key, places.SLOT + np.arange(arity)))[:key_columns]
    names = tuple(header[int(np.flatnonzero(columns.slot == slot)[0])] for slot in slots)
    table = Table(f"{lake.address}#queries={seed}", attempt, attempt + 1, f"query {attempt:06d}", header)
    wanted = np.unique(_key_tuples(whole, shape, 0, slots), axis=0)
    joins = _joins(lake, wanted, slots, members[members[:, 0] == domain[0], 1])
    return SyntheticQuery(Chunk(table, 0, cells), names, joins)


def _joins(lake: SyntheticLake, wanted: Numbers, slots: Numbers, numbers: Numbers) -> dict[int, int]:
    tables = lake._shapes(numbers)
    joins = {}
    for index, number in enumerate(numbers.tolist()):
        found = _key_tuples(lake, tables, index, slots)
        for slot in range(len(slots)):
            found = found[np.isin(found[:, slot], wanted[:, slot])]
        both = np.concatenate([wanted, np.unique(found, axis=0)])
        common = len(both) - len(np.unique(both, axis=0))
        if common:
            joins[number] = common
    return joins


def _key_tuples(lake: SyntheticLake, shapes: Shapes, index: int, slots: Numbers) -> Numbers:
    """Return the key tuples of a table, near misses left out, as ranks: one column per slot."""
    row = np.arange(shapes.rows[index])
    table = np.full(len(row), index)
    whole = lake._near_miss_slot(shapes, table, row) < 0
    tuples = tuples_of(shapes, table[whole], row[whole])
    domain = shapes.domain[index : index + 1]
    kinds = TEMPLATES[lake._template(domain)[0], slots]
    salts = stream(lake._domain_key(domain), slots)
    sizes = lake._size(kinds, np.ones(len(slots), np.bool_), salts)
    return lake._rank(unit_of(stream(salts, tuples[:, None])), sizes)
