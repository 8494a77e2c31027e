"""A lake made of arithmetic: any number of tables, none of them stored.

Every table is a pure function of the lake's settings and of its number, every cell of its table, column and
row, by way of a counter-based hash (splitmix64). So a task makes the tables it is asked for and nothing else,
and neither the split over tasks nor the size of a chunk shows in the text. A larger lake begins with the
tables of a smaller one.

What the lake has in common with published tables:

- Values follow a power law over a large vocabulary: names, places, words, dates, numbers, codes, amounts.
- Widths are log-normal, heights follow a power law: many small tables, a few very tall ones.
- Some tables belong to a *domain*: an endless list of key tuples such as (first name, last name, city). They
  hold the first tuples of that list, in two to four columns at any place, and so join on the composite key.
- Among these rows are *near misses*: one value of a key tuple beside other, frequent values. A look-up in one
  column finds them, the composite key does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from itertools import islice, pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa

from mate.corpus.synthetic import values
from mate.corpus.synthetic.values import ColumnBatch, Numbers, Units, starts_of, unit_of
from mate.corpus.table import Chunk, Limits, Table
from mate.errors import CorpusError, did_you_mean
from mate.values.splitmix import Hashes, mixed, stream

SCHEME = "synthetic:"

_TABLES_PER_DOMAIN = 20
"""A lake of n tables has about one domain for so many of its joinable tables."""
_HEIGHT_TAIL = 1.2
_TALLEST = 1_000.0
_HEIGHT_SCALE = 0.259787
"""Gives heights the mean 1: a Lomax distribution with that tail, cut off at `_TALLEST` times the mean."""
_WIDTH_SPREAD = 0.9
_WIDEST = 1_000
_BLOCK = 4_096
_HEIGHT_CUT = 1 - (1 + _TALLEST / _HEIGHT_SCALE) ** -_HEIGHT_TAIL

# Places in a table's, a column's or a domain's own stream; columns, choices and slots take the places after.
HEIGHT, WIDTH, WIDTH_ANGLE, MEMBER, DOMAIN, NEAR, STEP, START, REACH = range(9)
KIND, CHOICES, CATEGORICAL, MAGNITUDE = (1 << 40) + np.arange(4)
COLUMN, SLOT, CHOICE, DOMAINS = (np.arange(4) + 2) << 40

_BOUNDS: dict[str, tuple[float, float]] = {
    "tables": (1, 10**7),
    "seed": (0, 2**63 - 1),
    "rows": (1, 10_000),
    "columns": (2, 100),
    "vocabulary": (1_000, 20_000_000),
    "skew": (0, 3),
    "joinable": (0, 1),
    "near_misses": (0, 1),
}


class TableBatch(NamedTuple):
    """Tables, one an entry, before any cell is made."""

    number: Numbers
    key: Hashes
    columns: Numbers
    rows: Numbers
    domain: Numbers

    def take(self, which: Numbers) -> TableBatch:
        """Return some of them."""
        return TableBatch._make(entries[which] for entries in self)


@dataclass(frozen=True)
class SyntheticLake:
    """The settings of a lake, and the lake itself."""

    tables: int = 1_000
    seed: int = 1
    rows: int = 1_000
    """Mean height of a table, at most 10,000; the median is a fifth of it, the tallest a thousand times it."""
    columns: int = 9
    """Mean width of a table."""
    vocabulary: int = 200_000
    """Distinct names, places, words and phrases; dates, numbers and codes come on top."""
    skew: float = 1.0
    """Exponent of the power law of value frequencies; 0 makes all values equally frequent."""
    joinable: float = 0.3
    """Share of the tables that belong to a domain."""
    near_misses: float = 0.5
    """Share of such a table's rows that share only one value with a key tuple."""

    def __post_init__(self) -> None:
        for name, (least, most) in _BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise CorpusError(f"{SCHEME}{name} must be from {least:,} to {most:,}, not {value:,}")

    @classmethod
    def parse(cls, address: str) -> Self:
        """Return the lake of an address such as ``synthetic:tables=1000,seed=7``; what is left out is default."""
        scheme, _, assignments = address.partition(":")
        if scheme != SCHEME[:-1]:
            raise CorpusError(f'not a synthetic lake: "{address}"; expected something like {cls().address}')
        settings: dict[str, Any] = {}
        for assignment in filter(None, assignments.split(",")):
            name, _, value = (part.strip() for part in assignment.partition("="))
            if name not in _BOUNDS:
                raise CorpusError(f'{SCHEME} has no setting "{name}"; {did_you_mean(name, _BOUNDS)}')
            if name in settings:
                raise CorpusError(f'{SCHEME}{name} is set twice in "{address}"')
            whole = isinstance(getattr(cls, name), int)
            try:
                settings[name] = int(value) if whole else float(value)
            except ValueError:
                what = "whole number" if whole else "number"
                raise CorpusError(f"{SCHEME}{name} takes a {what}, not {value!r}") from None
        return cls(**settings)

    @property
    def address(self) -> str:
        """The settings as text that `parse` reads: tables and seed always, others where they are not default."""
        shown = {name: getattr(self, name) for name in _BOUNDS}
        default = {field.name: field.default for field in fields(self) if field.name not in ("tables", "seed")}
        return SCHEME + ",".join(f"{name}={value}" for name, value in shown.items() if default.get(name) != value)

    @property
    def expected_cells(self) -> int:
        """Number of cells of the whole lake, from the tables' sizes alone (about 0.2 s for a million tables)."""
        return int(self._sizes().sum())

    def split(self, parts: int) -> list[range]:
        """Cut the lake into at most ``parts`` ranges of table numbers of about the same number of cells."""
        cells = self._sizes()
        after = np.cumsum(cells)
        goals = after[-1] * np.arange(1, parts) / parts
        cuts = np.unique(np.searchsorted(after - cells / 2, goals)).tolist()
        bounds = [0, *(cut for cut in cuts if 0 < cut < self.tables), self.tables]
        return [range(first, stop) for first, stop in pairwise(bounds)]

    def read(self, first: int, stop: int, limits: Limits | None = None) -> Iterator[Chunk]:
        """Yield the tables ``first`` to ``stop - 1`` in chunks.

        Of the limits only ``chunk_cells`` applies: no table is larger than the others' defaults allow.
        """
        size = (limits or Limits()).chunk_cells
        for shapes in self._blocks(first, stop):
            for pieces in pieces_of(shapes, size):
                yield from self._chunks(shapes, pieces)

    # --- shapes: what is decided before any cell ---

    def _root(self) -> Hashes:
        return mixed(np.array([self.seed], np.uint64))

    def _shapes(self, numbers: Numbers) -> TableBatch:
        key = stream(self._root(), numbers)
        domain = self._domain(numbers, key)
        radius = np.sqrt(-2 * np.log(1 - unit_of(stream(key, WIDTH))))
        normal = radius * np.cos(2 * np.pi * unit_of(stream(key, WIDTH_ANGLE)))
        width = self.columns * np.exp(_WIDTH_SPREAD * normal - _WIDTH_SPREAD**2 / 2)
        columns = np.clip(np.rint(width), 2, _WIDEST).astype(np.int64)
        height = (1 - unit_of(stream(key, HEIGHT)) * _HEIGHT_CUT) ** (-1 / _HEIGHT_TAIL) - 1
        rows = 1 + (height * _HEIGHT_SCALE * (self.rows - 0.5)).astype(np.int64)
        arity = np.where(domain < 0, 0, values.ARITY[self._template(domain)])
        return TableBatch(numbers, key, np.maximum(columns, arity), rows, domain)

    def _domain(self, numbers: Numbers, key: Hashes) -> Numbers:
        """Return each table's domain, -1 for none; later tables know more domains, so that lakes can grow."""
        known = 1 + (numbers * self.joinable / _TABLES_PER_DOMAIN).astype(np.int64)
        chosen = (unit_of(stream(key, DOMAIN)) * known).astype(np.int64)
        return np.where(unit_of(stream(key, MEMBER)) < self.joinable, chosen, -1)

    def _template(self, domain: Numbers) -> Numbers:
        """Return each domain's kind of key tuple, in turn, so that a small lake has them all."""
        first = int(stream(self._root(), DOMAINS)[0] % np.uint64(len(values.TEMPLATES)))
        return (domain + first) % len(values.TEMPLATES)

    def _blocks(self, first: int, stop: int) -> Iterator[TableBatch]:
        """Yield the shapes of tables, some thousands at a time."""
        for start in range(first, stop, _BLOCK):
            yield self._shapes(np.arange(start, min(start + _BLOCK, stop)))

    def _sizes(self) -> Numbers:
        return np.concatenate([shapes.rows * shapes.columns for shapes in self._blocks(0, self.tables)])

    # --- cells ---

    def _chunks(self, shapes: TableBatch, pieces: Numbers) -> Iterator[Chunk]:
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

    def _columns(self, batch: TableBatch) -> ColumnBatch:
        owner = np.repeat(np.arange(len(batch.key)), batch.columns)
        place = np.arange(len(owner)) - np.repeat(starts_of(batch.columns), batch.columns)
        key = stream(batch.key[owner], COLUMN + place)
        template = self._template(batch.domain)
        slot = np.empty(len(owner), np.int64)
        slot[np.lexsort((key, owner))] = place  # a random order of each table's columns
        slot = np.where((batch.domain >= 0)[owner] & (slot < values.ARITY[template][owner]), slot, -1)
        is_key = slot >= 0
        domain_key = stream(stream(self._root(), DOMAINS), batch.domain)
        free = np.searchsorted(values.WEIGHTS, unit_of(stream(key, KIND)), side="right")
        kind = np.where(is_key, values.TEMPLATES[template[owner], slot], free)
        salt = np.where(is_key, stream(domain_key[owner], slot), key)
        choices = (2 + 38 * unit_of(stream(key, CHOICES)) ** 2).astype(np.int64)
        magnitude = (unit_of(stream(key, MAGNITUDE)) * values.MAGNITUDES[kind]).astype(np.int64)
        numbers = 10 ** (values.LEAST_MAGNITUDE[kind] + np.where(is_key, 2, magnitude))
        size = np.where(values.TEXT[kind], values.vocabulary_of(self.vocabulary).sizes[kind], numbers)
        categorical = values.TEXT[kind] & ~is_key & (unit_of(stream(key, CATEGORICAL)) < 0.5)
        return ColumnBatch(owner, key, slot, kind, salt, size, np.where(categorical, choices, 0))

    def _cells(self, batch: TableBatch, columns: ColumnBatch, first: Numbers, count: Numbers) -> pa.StringArray:
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
        return values.cell_texts(columns, values.CellDraws(column, row, rank, unit, noise), self.vocabulary)

    def _choose_categories(self, unit: Units, columns: ColumnBatch, column: Numbers) -> None:
        cells = np.flatnonzero(columns.choices[column])
        column = column[cells]
        choice = (unit[cells] ** 2 * columns.choices[column]).astype(np.int64)
        unit[cells] = unit_of(stream(columns.key[column], CHOICE + choice))

    def _place_keys(self, unit: Units, batch: TableBatch, columns: ColumnBatch, column: Numbers, row: Numbers) -> None:
        """Let key columns hold their domain's tuples; a near miss keeps one of the values."""
        cells = np.flatnonzero((columns.slot >= 0)[column])
        column, row = column[cells], row[cells]
        table = columns.owner[column]
        draw = unit_of(stream(stream(batch.key, NEAR)[table], row))
        last = values.ARITY[self._template(batch.domain)][table] - 1
        only = np.minimum(draw / max(self.near_misses, 1e-300) * (last + 1), last)
        only = np.where(draw < self.near_misses, only, -1).astype(np.int64)
        stays = (only < 0) | (only == columns.slot[column])
        cells, column = cells[stays], column[stays]
        tuples = tuples_of(batch, table[stays], row[stays])
        unit[cells] = unit_of(stream(columns.salt[column], tuples))

    def _rank(self, unit: Units, size: Numbers) -> Numbers:
        """Turn uniform draws into ranks 0 to size - 1, where rank r has a probability of about (r + 1)**-skew."""
        rest = 1 - self.skew
        if abs(rest) < 1e-6:
            place = np.exp(unit * np.log(size + 1.0))
        else:
            place = (1 + ((size + 1.0) ** rest - 1) * unit) ** (1 / rest)
        rank: Numbers = np.clip(place.astype(np.int64) - 1, 0, size - 1)
        return rank


def pieces_of(shapes: TableBatch, chunk_cells: int) -> Iterator[Numbers]:
    """Yield (table, first row, rows) of pieces that together have a chunk's cells: small tables share a pass."""
    pieces: list[tuple[int, int, int]] = []
    room = chunk_cells
    for table, (width, height) in enumerate(zip(shapes.columns.tolist(), shapes.rows.tolist(), strict=True)):
        step = max(1, chunk_cells // width)
        for first in range(0, height, step):
            count = min(step, height - first)
            if pieces and count * width > room:
                yield np.array(pieces).T
                pieces, room = [], chunk_cells
            pieces.append((table, first, count))
            room -= count * width
    if pieces:
        yield np.array(pieces).T


def tuples_of(shapes: TableBatch, table: Numbers, row: Numbers) -> Numbers:
    """Return which tuple of its domain each row holds.

    A table holds its domain's first tuples, half to twice as many as it has rows, in an order of its own
    (an odd step, modulo a power of two). So any two tables of a domain share tuples, whatever their heights.
    """
    bits = np.frexp(shapes.rows - 1.0)[1] - 1 + (stream(shapes.key, REACH) % np.uint64(3)).astype(np.int64)
    mask = (np.int64(1) << np.maximum(bits, 0)).astype(np.uint64) - np.uint64(1)
    step, start = stream(shapes.key, STEP) | np.uint64(1), stream(shapes.key, START)
    tuples: Numbers = ((step[table] * row.astype(np.uint64) + start[table]) & mask[table]).astype(np.int64)
    return tuples


def headers_of(batch: TableBatch, columns: ColumnBatch) -> list[tuple[str, ...]]:
    """Return the names of each table's columns."""
    variants = zip(columns.kind.tolist(), stream(columns.key, SLOT).tolist(), strict=True)
    names = (values.HEADERS[kind][number % len(values.HEADERS[kind])] for kind, number in variants)
    return [_distinct(islice(names, width)) for width in batch.columns.tolist()]


def _distinct(names: Iterable[str]) -> tuple[str, ...]:
    """Number the names that come more than once."""
    seen: Counter[str] = Counter()
    result = []
    for name in names:
        seen[name] += 1
        result.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return tuple(result)
