"""The lake: its settings, its tables, and queries that are known to join some of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.corpus.synthetic import shapes as places
from mate.corpus.synthetic.kinds import ARITY, LEAST_MAGNITUDE, MAGNITUDES, MOST_KEY_COLUMNS, TEMPLATES, TEXT, WEIGHTS
from mate.corpus.synthetic.settings import LakeSettings
from mate.corpus.synthetic.shapes import Columns, Shapes, batches, headers_of, order_within, starts_of, tuples_of
from mate.corpus.synthetic.splitmix import Hashes, Numbers, Units, mix, stream, unit_of
from mate.corpus.synthetic.text import Drawn, written
from mate.corpus.synthetic.vocabulary import pool_sizes
from mate.corpus.table import Chunk, Limits, Table
from mate.errors import CorpusError

TABLES_PER_DOMAIN = 20
"""A lake of n tables has about one domain for so many of its joinable tables."""

_HEIGHT_TAIL = 1.2
_TALLEST = 1_000.0
_HEIGHT_SCALE = 0.259787
"""Gives heights the mean 1: a Lomax distribution with that tail, cut off at `_TALLEST` times the mean."""
_WIDTH_SPREAD = 0.9
_WIDEST = 1_000
_BLOCK = 4_096
_HEIGHT_CUT = 1 - (1 + _TALLEST / _HEIGHT_SCALE) ** -_HEIGHT_TAIL


@dataclass(frozen=True, slots=True)
class SyntheticQuery:
    """A query table with what is known about it by construction."""

    chunk: Chunk
    """The whole query table."""
    key: tuple[str, ...]
    """Names of its key columns."""
    joins: dict[int, int]
    """Table number to key tuples: so many distinct ones, or more, are found in that table under one mapping."""


@dataclass(frozen=True)
class SyntheticLake(LakeSettings):
    """The settings of a lake, and the lake itself."""

    @property
    def expected_cells(self) -> int:
        """Number of cells of the whole lake, from the tables' sizes alone (about 0.2 s for a million tables)."""
        return int(self._sizes()[1].sum())

    def split(self, parts: int) -> list[range]:
        """Cut the lake into at most ``parts`` ranges of table numbers of about the same number of cells."""
        if parts < 1:
            raise CorpusError(f"a lake is split into at least 1 part, not {parts}")
        grain, cells = self._sizes()
        after = np.cumsum(cells)
        goals = after[-1] * np.arange(1, parts) / parts
        cuts = np.unique(np.searchsorted(after - cells / 2, goals)) * grain
        bounds = [0, *(cut for cut in cuts.tolist() if 0 < cut < self.tables), self.tables]
        return [range(first, stop) for first, stop in pairwise(bounds)]

    def read(self, first: int, stop: int, limits: Limits | None = None) -> Iterator[Chunk]:
        """Yield the tables ``first`` to ``stop - 1`` in chunks.

        Of the limits only ``chunk_cells`` applies: no table is larger than the others' defaults allow.
        """
        if not 0 <= first <= stop <= self.tables:
            raise CorpusError(f"tables {first} to {stop} are not within a lake of {self.tables:,} tables")
        size = (limits or Limits()).chunk_cells
        for start in range(first, stop, _BLOCK):
            shapes = self._shapes(np.arange(start, min(start + _BLOCK, stop)))
            for pieces in batches(shapes, size):
                yield from self._chunks(shapes, pieces)

    def queries(self, count: int, seed: int, key_columns: int = 2, rows: int = 100) -> Iterator[SyntheticQuery]:
        """Yield query tables of ``rows`` rows, each known to join at least two tables of the lake."""
        if not 1 <= key_columns <= MOST_KEY_COLUMNS:
            raise CorpusError(f"a query has 1 to {MOST_KEY_COLUMNS} key columns, not {key_columns}")
        if rows < 1:
            raise CorpusError(f"a query has at least 1 row, not {rows}")
        members = self._members(key_columns)
        made = 0
        for attempt in range(20 * count + 20):
            if made == count or not len(members):
                break
            query = self._query(members, seed, attempt, key_columns, rows)
            if len(query.joins) > 1:
                made += 1
                yield query
        if made < count:
            raise CorpusError(
                f"{self.address} has no more tables that join on {key_columns} columns;"
                " ask for more tables or a larger joinable="
            )

    # --- shapes: what is decided before any cell ---

    def _root(self) -> Hashes:
        return mix(np.array([self.seed], np.uint64))

    def _shapes(self, numbers: Numbers) -> Shapes:
        key = stream(self._root(), numbers)
        domain = self._domain(numbers, key)
        columns = np.clip(np.rint(self._width(key)), 2, _WIDEST).astype(np.int64)
        height = (1 - unit_of(stream(key, places.HEIGHT)) * _HEIGHT_CUT) ** (-1 / _HEIGHT_TAIL) - 1
        rows = 1 + (height * _HEIGHT_SCALE * (self.rows - 0.5)).astype(np.int64)
        arity = np.where(domain < 0, 0, ARITY[self._template(domain)])
        near = np.full(len(numbers), self.near_misses)
        return Shapes(numbers, key, np.maximum(columns, arity), rows, domain, near)

    def _width(self, key: Hashes) -> Units:
        radius = np.sqrt(-2 * np.log(1 - unit_of(stream(key, places.WIDTH))))
        normal = radius * np.cos(2 * np.pi * unit_of(stream(key, places.WIDTH_ANGLE)))
        result: Units = self.columns * np.exp(_WIDTH_SPREAD * normal - _WIDTH_SPREAD**2 / 2)
        return result

    def _domain(self, numbers: Numbers, key: Hashes) -> Numbers:
        """Return each table's domain, -1 for none; later tables know more domains, so that lakes can grow."""
        known = 1 + (numbers * self.joinable / TABLES_PER_DOMAIN).astype(np.int64)
        chosen = (unit_of(stream(key, places.DOMAIN)) * known).astype(np.int64)
        return np.where(unit_of(stream(key, places.MEMBER)) < self.joinable, chosen, -1)

    def _domain_key(self, domain: Numbers) -> Hashes:
        return stream(stream(self._root(), places.DOMAINS), domain)

    def _template(self, domain: Numbers) -> Numbers:
        """Return each domain's kind of key tuple, in turn, so that a small lake has them all."""
        turn = int(stream(self._root(), places.DOMAINS)[0] % np.uint64(len(TEMPLATES)))
        return (domain + turn) % len(TEMPLATES)

    def _sizes(self) -> tuple[int, Numbers]:
        """Return the cells of every ``grain`` tables, however large the lake about a million numbers."""
        grain = 1 + (self.tables >> 20)
        step = _BLOCK * grain
        parts = []
        for start in range(0, self.tables, step):
            shapes = self._shapes(np.arange(start, min(start + step, self.tables)))
            cells = shapes.rows * shapes.columns
            parts.append(np.add.reduceat(cells, np.arange(0, len(cells), grain)))
        return grain, np.concatenate(parts)

    # --- cells ---

    def _chunks(self, shapes: Shapes, pieces: Numbers) -> Iterator[Chunk]:
        which, first, count = pieces
        batch = shapes.take(which)
        columns = self._columns(batch)
        cells = self._cells(batch, columns, first, count)
        headers = headers_of(batch, columns)
        end, source = 0, self.address
        for number, row, header, rows in zip(
            batch.number.tolist(), first.tolist(), headers, count.tolist(), strict=True
        ):
            start, end = end, end + rows * len(header)
            table = Table(source, number, number + 1, f"synthetic {number:06d}", header)
            # A copy: a slice would keep, and when pickled carry, the text of the whole batch.
            yield Chunk(table, row, pa.concat_arrays([cells.slice(start, end - start)]))

    def _columns(self, batch: Shapes) -> Columns:
        owner = np.repeat(np.arange(len(batch.key)), batch.columns)
        place = np.arange(len(owner)) - np.repeat(starts_of(batch.columns), batch.columns)
        key = stream(batch.key[owner], places.COLUMN + place)
        template = self._template(batch.domain)
        slot = order_within(owner, key, batch.columns)
        slot = np.where((batch.domain >= 0)[owner] & (slot < ARITY[template][owner]), slot, -1)
        is_key = slot >= 0
        free = np.searchsorted(WEIGHTS, unit_of(stream(key, places.KIND)), side="right")
        kind = np.where(is_key, TEMPLATES[template[owner], slot], free)
        salt = np.where(is_key, stream(self._domain_key(batch.domain)[owner], slot), key)
        choices = (2 + 38 * unit_of(stream(key, places.CHOICES)) ** 2).astype(np.int64)
        categorical = TEXT[kind] & ~is_key & (unit_of(stream(key, places.CATEGORICAL)) < 0.5)
        return Columns(owner, key, slot, kind, salt, self._size(kind, is_key, key), np.where(categorical, choices, 0))

    def _size(self, kind: Numbers, is_key: npt.NDArray[np.bool_], key: Hashes) -> Numbers:
        """Return how many values a column draws from: a vocabulary's size, or a power of ten for numbers."""
        pools = np.array(pool_sizes(self.vocabulary))[kind]
        extra = (unit_of(stream(key, places.MAGNITUDE)) * MAGNITUDES[kind]).astype(np.int64)
        power = 10 ** (LEAST_MAGNITUDE[kind] + np.where(is_key, 2, extra))
        return np.where(TEXT[kind], pools, power)

    def _cells(self, batch: Shapes, columns: Columns, first: Numbers, count: Numbers) -> pa.StringArray:
        """Return the cells of all pieces, one piece after the other, each row-major."""
        size = count * batch.columns
        piece = np.repeat(np.arange(len(size)), size)
        offset = np.arange(len(piece)) - starts_of(size)[piece]
        width = batch.columns[piece]
        row = offset // width
        column = offset - row * width + starts_of(batch.columns)[piece]
        row += first[piece]
        own = stream(columns.key[column], row)
        unit = unit_of(own)
        self._choose_categories(unit, columns, column)
        self._place_keys(unit, batch, columns, column, row)
        rank = self._rank(unit, columns.size[column])
        noise = (own & np.uint64(2047)).astype(np.int64)
        return written(columns, Drawn(column, row, rank, unit, noise), self.vocabulary)

    def _choose_categories(self, unit: Units, columns: Columns, column: Numbers) -> None:
        cells = np.flatnonzero(columns.choices[column])
        column = column[cells]
        choice = (unit[cells] ** 2 * columns.choices[column]).astype(np.int64)
        unit[cells] = unit_of(stream(columns.key[column], places.CHOICE + choice))

    def _place_keys(self, unit: Units, batch: Shapes, columns: Columns, column: Numbers, row: Numbers) -> None:
        """Let key columns hold their domain's tuples; a near miss keeps one of the values."""
        cells = np.flatnonzero((columns.slot >= 0)[column])
        column, row = column[cells], row[cells]
        table = columns.owner[column]
        kept = self._near_miss_slot(batch, table, row)
        stays = (kept < 0) | (kept == columns.slot[column])
        cells, column = cells[stays], column[stays]
        tuples = tuples_of(batch, table[stays], row[stays])
        unit[cells] = unit_of(stream(columns.salt[column], tuples))

    def _near_miss_slot(self, batch: Shapes, table: Numbers, row: Numbers) -> Numbers:
        """Return the one slot of each row that a near miss keeps, -1 for a row with the whole key tuple."""
        draw = unit_of(stream(stream(batch.key, places.NEAR)[table], row))
        near = batch.near[table]
        arity = ARITY[self._template(batch.domain)][table]
        kept = draw / np.maximum(near, 1e-300) * arity
        return np.where(draw < near, np.minimum(kept, arity - 1), -1).astype(np.int64)

    def _rank(self, unit: Units, size: Numbers) -> Numbers:
        """Turn uniform draws into ranks 0 to size - 1, where rank r has a probability of about (r + 1)**-skew."""
        rest = 1 - self.skew
        if abs(rest) < 1e-6:
            place = np.exp(unit * np.log(size + 1.0))
        else:
            place = (1 + ((size + 1.0) ** rest - 1) * unit) ** (1 / rest)
        rank: Numbers = np.clip(place.astype(np.int64) - 1, 0, size - 1)
        return rank

    # --- queries ---

    def _members(self, key_columns: int) -> Numbers:
        """Return (domain, table) of the tables in domains of at least so many key columns and two tables."""
        found = []
        for start in range(0, self.tables, 1 << 20):
            numbers = np.arange(start, min(start + (1 << 20), self.tables))
            domain = self._domain(numbers, stream(self._root(), numbers))
            usable = (domain >= 0) & (ARITY[self._template(domain)] >= key_columns)
            found.append(np.stack([domain[usable], numbers[usable]], axis=1))
        members = np.concatenate(found)
        _, inverse, count = np.unique(members[:, 0], return_inverse=True, return_counts=True)
        return members[count[inverse] > 1]

    def _query(self, members: Numbers, seed: int, attempt: int, key_columns: int, rows: int) -> SyntheticQuery:
        key = stream(stream(stream(self._root(), places.QUERIES), seed), attempt)
        domain = members[int(stream(key, places.DOMAIN)[0] % np.uint64(len(members))), :1]
        arity = int(ARITY[self._template(domain)][0])
        shape = Shapes(np.array([attempt]), key, np.array([arity + 2]), np.array([rows]), domain, np.zeros(1))
        columns = self._columns(shape)
        cells = self._cells(shape, columns, np.zeros(1, np.int64), shape.rows)
        (header,) = headers_of(shape, columns)
        slots = np.argsort(stream(key, places.SLOT + np.arange(arity)))[:key_columns]
        names = tuple(header[int(np.flatnonzero(columns.slot == slot)[0])] for slot in slots)
        table = Table(f"{self.address}#queries={seed}", attempt, attempt + 1, f"query {attempt:06d}", header)
        return SyntheticQuery(Chunk(table, 0, cells), names, self._joins(shape, slots, members))

    def _joins(self, query: Shapes, slots: Numbers, members: Numbers) -> dict[int, int]:
        wanted = np.unique(self._key_tuples(query, 0, slots), axis=0)
        tables = self._shapes(members[members[:, 0] == query.domain[0], 1])
        joins = {}
        for index, number in enumerate(tables.number.tolist()):
            held = self._key_tuples(tables, index, slots)
            for slot in range(len(slots)):
                held = held[np.isin(held[:, slot], wanted[:, slot])]
            both = np.concatenate([wanted, np.unique(held, axis=0)])
            common = len(both) - len(np.unique(both, axis=0))
            if common:
                joins[number] = common
        return joins

    def _key_tuples(self, shapes: Shapes, index: int, slots: Numbers) -> Numbers:
        """Return the key tuples of a table, near misses left out, as ranks: one column a slot."""
        row = np.arange(shapes.rows[index])
        table = np.full(len(row), index)
        whole = self._near_miss_slot(shapes, table, row) < 0
        tuples = tuples_of(shapes, table[whole], row[whole])
        domain = shapes.domain[index : index + 1]
        kinds = TEMPLATES[self._template(domain)[0], slots]
        salts = stream(self._domain_key(domain), slots)
        sizes = self._size(kinds, np.ones(len(slots), np.bool_), salts)
        return self._rank(unit_of(stream(salts, tuples[:, None])), sizes)
