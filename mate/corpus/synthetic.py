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

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.arrow import strings_from_buffers
from mate.corpus.table import Chunk, Limits, Table
from mate.errors import CorpusError, did_you_mean

SCHEME = "synthetic:"
TABLES_PER_DOMAIN = 20
"""A lake of n tables has about one domain for so many of its joinable tables."""

Hashes: TypeAlias = npt.NDArray[np.uint64]
Numbers: TypeAlias = npt.NDArray[np.int64]
Units: TypeAlias = npt.NDArray[np.float64]

_HEIGHT_TAIL = 1.2
_TALLEST = 1_000.0
_HEIGHT_SCALE = 0.259787
"""Gives heights the mean 1: a Lomax distribution with that tail, cut off at `_TALLEST` times the mean."""
_WIDTH_SPREAD = 0.9
_WIDEST = 1_000
_BLOCK = 4_096

_IN_2048_MISSING, _IN_2048_UPPER, _IN_2048_SPACED = 40, 20, 20
"""Cells in 2,048 that hold no value, or text that only normalisation makes equal to its token."""


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
    def parse(cls, address: str) -> SyntheticLake:
        """Return the lake of an address such as ``synthetic:tables=1000,seed=7``; what is left out is default."""
        scheme, _, settings = address.partition(":")
        if scheme != SCHEME[:-1]:
            raise CorpusError(f'not a synthetic lake: "{address}"; expected something like {cls().address}')
        values: dict[str, Any] = {}
        for setting in filter(None, settings.split(",")):
            name, _, value = (part.strip() for part in setting.partition("="))
            if name not in _BOUNDS:
                raise CorpusError(f'{SCHEME} has no setting "{name}"; {did_you_mean(name, _BOUNDS)}')
            if name in values:
                raise CorpusError(f'{SCHEME}{name} is set twice in "{address}"')
            values[name] = _number(name, value)
        return cls(**values)

    @property
    def address(self) -> str:
        """The settings as text that `parse` reads: tables and seed always, others where they are not default."""
        shown = {name: getattr(self, name) for name in _BOUNDS}
        default = {field.name: field.default for field in fields(self) if field.name not in ("tables", "seed")}
        return SCHEME + ",".join(f"{name}={value}" for name, value in shown.items() if default.get(name) != value)

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
            for pieces in _batches(shapes, size):
                yield from self._chunks(shapes, pieces)

    def queries(self, count: int, seed: int, key_columns: int = 2, rows: int = 100) -> Iterator[SyntheticQuery]:
        """Yield query tables of ``rows`` rows, each known to join at least two tables of the lake."""
        if not 1 <= key_columns <= _MOST_KEY_COLUMNS:
            raise CorpusError(f"a query has 1 to {_MOST_KEY_COLUMNS} key columns, not {key_columns}")
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

    # --- shapes: what is decided before any cell -------------------------------------------------------------

    def _root(self) -> Hashes:
        return _mix(np.array([self.seed], np.uint64))

    def _shapes(self, numbers: Numbers) -> _Shapes:
        key = _stream(self._root(), numbers)
        domain = self._domain(numbers, key)
        columns = np.clip(np.rint(self._width(key)), 2, _WIDEST).astype(np.int64)
        height = (1 - _unit(_stream(key, _HEIGHT)) * _HEIGHT_CUT) ** (-1 / _HEIGHT_TAIL) - 1
        rows = 1 + (height * _HEIGHT_SCALE * (self.rows - 0.5)).astype(np.int64)
        arity = np.where(domain < 0, 0, _ARITY[self._template(domain)])
        near = np.full(len(numbers), self.near_misses)
        return _Shapes(numbers, key, np.maximum(columns, arity), rows, domain, near)

    def _width(self, key: Hashes) -> Units:
        radius = np.sqrt(-2 * np.log(1 - _unit(_stream(key, _WIDTH))))
        normal = radius * np.cos(2 * np.pi * _unit(_stream(key, _WIDTH_ANGLE)))
        result: Units = self.columns * np.exp(_WIDTH_SPREAD * normal - _WIDTH_SPREAD**2 / 2)
        return result

    def _domain(self, numbers: Numbers, key: Hashes) -> Numbers:
        """Return each table's domain, -1 for none; later tables know more domains, so that lakes can grow."""
        known = 1 + (numbers * self.joinable / TABLES_PER_DOMAIN).astype(np.int64)
        chosen = (_unit(_stream(key, _DOMAIN)) * known).astype(np.int64)
        return np.where(_unit(_stream(key, _MEMBER)) < self.joinable, chosen, -1)

    def _domain_key(self, domain: Numbers) -> Hashes:
        return _stream(_stream(self._root(), _DOMAINS), domain)

    def _template(self, domain: Numbers) -> Numbers:
        """Return each domain's kind of key tuple; they take turns, so that a small lake has them all."""
        turn = int(_stream(self._root(), _DOMAINS)[0] % np.uint64(len(_TEMPLATES)))
        return (domain + turn) % len(_TEMPLATES)

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

    # --- cells -----------------------------------------------------------------------------------------------

    def _chunks(self, shapes: _Shapes, pieces: Numbers) -> Iterator[Chunk]:
        which, first, count = pieces
        batch = shapes.take(which)
        columns = self._columns(batch)
        cells = self._cells(batch, columns, first, count)
        headers = _headers(batch, columns)
        end, source = 0, self.address
        for number, row, header, rows in zip(
            batch.number.tolist(), first.tolist(), headers, count.tolist(), strict=True
        ):
            start, end = end, end + rows * len(header)
            table = Table(source, number, number + 1, f"synthetic {number:06d}", header)
            # A copy: a slice would keep, and when pickled carry, the text of the whole batch.
            yield Chunk(table, row, pa.concat_arrays([cells.slice(start, end - start)]))

    def _columns(self, batch: _Shapes) -> _Columns:
        owner = np.repeat(np.arange(len(batch.key)), batch.columns)
        place = np.arange(len(owner)) - np.repeat(_starts(batch.columns), batch.columns)
        key = _stream(batch.key[owner], _COLUMN + place)
        template = self._template(batch.domain)
        slot = _order_within(owner, key, batch.columns)
        slot = np.where((batch.domain >= 0)[owner] & (slot < _ARITY[template][owner]), slot, -1)
        is_key = slot >= 0
        free = np.searchsorted(_WEIGHTS, _unit(_stream(key, _KIND)), side="right")
        kind = np.where(is_key, _TEMPLATES[template[owner], slot], free)
        salt = np.where(is_key, _stream(self._domain_key(batch.domain)[owner], slot), key)
        choices = (2 + 38 * _unit(_stream(key, _CHOICES)) ** 2).astype(np.int64)
        categorical = _TEXT[kind] & ~is_key & (_unit(_stream(key, _CATEGORICAL)) < 0.5)
        return _Columns(owner, key, slot, kind, salt, self._size(kind, is_key, key), np.where(categorical, choices, 0))

    def _size(self, kind: Numbers, is_key: npt.NDArray[np.bool_], key: Hashes) -> Numbers:
        """Return how many values a column draws from: a vocabulary's size, or a power of ten for numbers."""
        pools = np.array(_pool_sizes(self.vocabulary))[kind]
        extra = (_unit(_stream(key, _MAGNITUDE)) * _MAGNITUDES[kind]).astype(np.int64)
        power = 10 ** (_LEAST_MAGNITUDE[kind] + np.where(is_key, 2, extra))
        return np.where(_TEXT[kind], pools, power)

    def _cells(self, batch: _Shapes, columns: _Columns, first: Numbers, count: Numbers) -> pa.StringArray:
        """Return the cells of all pieces, one piece after the other, each row-major."""
        size = count * batch.columns
        piece = np.repeat(np.arange(len(size)), size)
        offset = np.arange(len(piece)) - _starts(size)[piece]
        width = batch.columns[piece]
        row = offset // width
        column = offset - row * width + _starts(batch.columns)[piece]
        row += first[piece]
        own = _stream(columns.key[column], row)
        unit = _unit(own)
        self._choose_categories(unit, columns, column)
        self._place_keys(unit, batch, columns, column, row)
        rank = self._rank(unit, columns.size[column])
        return self._text(columns, column, row, rank, unit, (own & np.uint64(2047)).astype(np.int64))

    def _choose_categories(self, unit: Units, columns: _Columns, column: Numbers) -> None:
        cells = np.flatnonzero(columns.choices[column])
        column = column[cells]
        choice = (unit[cells] ** 2 * columns.choices[column]).astype(np.int64)
        unit[cells] = _unit(_stream(columns.key[column], _CHOICE + choice))

    def _place_keys(self, unit: Units, batch: _Shapes, columns: _Columns, column: Numbers, row: Numbers) -> None:
        """Let key columns hold their domain's tuples; a near miss keeps one of the values."""
        cells = np.flatnonzero((columns.slot >= 0)[column])
        column, row = column[cells], row[cells]
        table = columns.owner[column]
        kept = self._kept_slot(batch, table, row)
        stays = (kept < 0) | (kept == columns.slot[column])
        cells, column = cells[stays], column[stays]
        tuples = _tuples(batch, table[stays], row[stays])
        unit[cells] = _unit(_stream(columns.salt[column], tuples))

    def _kept_slot(self, batch: _Shapes, table: Numbers, row: Numbers) -> Numbers:
        """Return for each row the one slot that a near miss keeps, -1 where the whole key tuple stands."""
        draw = _unit(_stream(_stream(batch.key, _NEAR)[table], row))
        near = batch.near[table]
        arity = _ARITY[self._template(batch.domain)][table]
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

    def _text(
        self, columns: _Columns, column: Numbers, row: Numbers, rank: Numbers, unit: Units, noise: Numbers
    ) -> pa.StringArray:
        kind = columns.kind[column]
        form = _FORM[kind]
        missing = (noise < _IN_2048_MISSING) & (columns.slot[column] < 0) & (form != _SERIAL)
        words = _vocabulary(self.vocabulary)
        entry = np.where(missing, noise % len(_MISSING), words.starts[kind] + rank)
        form[missing] = _WORDS
        dirty = np.where((form == _WORDS) & ~missing, noise - _IN_2048_MISSING, -1)
        upper = (dirty >= 0) & (dirty < _IN_2048_UPPER)
        spaced = (dirty >= _IN_2048_UPPER) & (dirty < _IN_2048_UPPER + _IN_2048_SPACED)
        form[upper], form[spaced] = _UPPER, _SPACED
        groups = [np.flatnonzero(form == number) for number in range(_FORMS)]
        plain, shouted, wide, integer, amount, code, identifier, serial = groups
        texts = [
            words.text.take(pa.array(entry[plain])),
            pc.utf8_upper(words.text.take(pa.array(entry[shouted]))),
            _spaced_out(words.text.take(pa.array(entry[wide]))),
            pa.array(rank[integer]).cast(pa.string()),
            _amounts(rank[amount]),
            _codes(columns.salt[column[code]], rank[code]),
            _identifiers(unit[identifier]),
            pa.array(row[serial] + 1).cast(pa.string()),
        ]
        back = np.empty(len(form), np.int64)
        back[np.concatenate(groups)] = np.arange(len(form))
        return pa.concat_arrays(texts).take(pa.array(back))

    # --- queries ---------------------------------------------------------------------------------------------

    def _members(self, key_columns: int) -> Numbers:
        """Return (domain, table) of the tables in domains of at least so many key columns and two tables."""
        found = []
        for start in range(0, self.tables, 1 << 20):
            numbers = np.arange(start, min(start + (1 << 20), self.tables))
            domain = self._domain(numbers, _stream(self._root(), numbers))
            usable = (domain >= 0) & (_ARITY[self._template(domain)] >= key_columns)
            found.append(np.stack([domain[usable], numbers[usable]], axis=1))
        members = np.concatenate(found)
        _, inverse, count = np.unique(members[:, 0], return_inverse=True, return_counts=True)
        return members[count[inverse] > 1]

    def _query(self, members: Numbers, seed: int, attempt: int, key_columns: int, rows: int) -> SyntheticQuery:
        key = _stream(_stream(_stream(self._root(), _QUERIES), seed), attempt)
        domain = members[int(_stream(key, _DOMAIN)[0] % np.uint64(len(members))), :1]
        arity = int(_ARITY[self._template(domain)][0])
        shape = _Shapes(np.array([attempt]), key, np.array([arity + 2]), np.array([rows]), domain, np.zeros(1))
        columns = self._columns(shape)
        cells = self._cells(shape, columns, np.zeros(1, np.int64), shape.rows)
        (header,) = _headers(shape, columns)
        slots = np.argsort(_stream(key, _SLOT + np.arange(arity)))[:key_columns]
        names = tuple(header[int(np.flatnonzero(columns.slot == slot)[0])] for slot in slots)
        table = Table(f"{self.address}#queries={seed}", attempt, attempt + 1, f"query {attempt:06d}", header)
        return SyntheticQuery(Chunk(table, 0, cells), names, self._joins(shape, slots, members))

    def _joins(self, query: _Shapes, slots: Numbers, members: Numbers) -> dict[int, int]:
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

    def _key_tuples(self, shapes: _Shapes, index: int, slots: Numbers) -> Numbers:
        """Return the key tuples of a table, near misses left out, as ranks: one column a slot."""
        row = np.arange(shapes.rows[index])
        table = np.full(len(row), index)
        whole = self._kept_slot(shapes, table, row) < 0
        tuples = _tuples(shapes, table[whole], row[whole])
        domain = shapes.domain[index : index + 1]
        kinds = _TEMPLATES[self._template(domain)[0], slots]
        salts = _stream(self._domain_key(domain), slots)
        sizes = self._size(kinds, np.ones(len(slots), np.bool_), salts)
        return self._rank(_unit(_stream(salts, tuples[:, None])), sizes)


_BOUNDS: dict[str, tuple[float, float]] = {
    "tables": (1, 10**9),
    "seed": (0, 2**63 - 1),
    "rows": (1, 10_000),
    "columns": (2, 100),
    "vocabulary": (1_000, 20_000_000),
    "skew": (0, 3),
    "joinable": (0, 1),
    "near_misses": (0, 1),
}


def _number(name: str, value: str) -> float:
    whole = isinstance(getattr(SyntheticLake, name), int)
    try:
        return int(value) if whole else float(value)
    except ValueError:
        raise CorpusError(f"{SCHEME}{name} takes a {'whole ' if whole else ''}number, not {value!r}") from None


# --- hashing: a stream of draws for every key, each at its place -------------------------------------------------

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)

# Places in a table's, a column's or a domain's own stream; columns, choices and slots take the places after.
_HEIGHT, _WIDTH, _WIDTH_ANGLE, _MEMBER, _DOMAIN, _NEAR, _STEP, _START, _REACH = range(9)
_KIND, _CHOICES, _CATEGORICAL, _MAGNITUDE = (1 << 40) + np.arange(4)
_COLUMN, _SLOT, _CHOICE, _DOMAINS, _QUERIES = (np.arange(5) + 2) << 40


def _mix(x: Hashes) -> Hashes:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _stream(key: Hashes, place: Any) -> Hashes:
    """Return the hash at a place of a key's stream."""
    return _mix(key + (np.atleast_1d(place).astype(np.uint64) + np.uint64(1)) * _GOLDEN)


def _unit(hashes: Hashes) -> Units:
    """Return numbers from 0 to just below 1, from the upper 53 bits."""
    return (hashes >> np.uint64(11)).astype(np.float64) * 2.0**-53


# --- tables and columns of a batch -------------------------------------------------------------------------------


class _Shapes(NamedTuple):
    """Tables, one an entry, before any cell is made."""

    number: Numbers
    key: Hashes
    columns: Numbers
    rows: Numbers
    domain: Numbers
    near: Units

    def take(self, which: Numbers) -> _Shapes:
        number, key, columns, rows, domain, near = self
        return _Shapes(number[which], key[which], columns[which], rows[which], domain[which], near[which])


class _Columns(NamedTuple):
    """Columns of a batch of tables, one table's after the other's."""

    owner: Numbers
    key: Hashes
    slot: Numbers
    """Place in the domain's key tuple, -1 for a column outside the key."""
    kind: Numbers
    salt: Hashes
    """The column's key, for key columns that of the domain's slot: what its values depend on."""
    size: Numbers
    choices: Numbers
    """Distinct values of a categorical column, else 0."""


_HEIGHT_CUT = 1 - (1 + _TALLEST / _HEIGHT_SCALE) ** -_HEIGHT_TAIL


def _starts(sizes: Numbers) -> Numbers:
    return np.cumsum(sizes) - sizes


def _batches(shapes: _Shapes, chunk_cells: int) -> Iterator[Numbers]:
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


def _order_within(owner: Numbers, key: Hashes, sizes: Numbers) -> Numbers:
    """Return a random order of each table's columns: the place of each column in it."""
    order = np.lexsort((key, owner))
    result = np.empty(len(owner), np.int64)
    result[order] = np.arange(len(owner)) - np.repeat(_starts(sizes), sizes)
    return result


def _tuples(shapes: _Shapes, table: Numbers, row: Numbers) -> Numbers:
    """Return which tuple of its domain each row holds.

    A table holds its domain's first tuples, half to twice as many as it has rows, in an order of its own
    (an odd step, modulo a power of two). So any two tables of a domain share tuples, whatever their heights.
    """
    bits = np.frexp(shapes.rows - 1.0)[1] - 1 + (_stream(shapes.key, _REACH) % np.uint64(3)).astype(np.int64)
    mask = (np.int64(1) << np.maximum(bits, 0)).astype(np.uint64) - np.uint64(1)
    step, start = _stream(shapes.key, _STEP) | np.uint64(1), _stream(shapes.key, _START)
    tuples: Numbers = ((step[table] * row.astype(np.uint64) + start[table]) & mask[table]).astype(np.int64)
    return tuples


def _headers(batch: _Shapes, columns: _Columns) -> list[tuple[str, ...]]:
    variant = _stream(columns.key, _SLOT) % _HEADER_COUNTS[columns.kind]
    names: list[str] = _HEADERS[columns.kind, variant.astype(np.int64)].tolist()
    ends = np.cumsum(batch.columns).tolist()
    return [_distinct(names[end - width : end]) for end, width in zip(ends, batch.columns.tolist(), strict=True)]


def _distinct(names: list[str]) -> tuple[str, ...]:
    if len(set(names)) == len(names):
        return tuple(names)
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name} {seen[name]}")
    return tuple(result)


# --- text --------------------------------------------------------------------------------------------------------


def _spaced_out(text: pa.StringArray) -> pa.StringArray:
    return pc.binary_join_element_wise(" ", pc.replace_substring(text, " ", "  "), " ", "")


def _amounts(cents: Numbers) -> pa.StringArray:
    whole = pa.array(cents // 100).cast(pa.string())
    return pc.binary_join_element_wise(whole, _TWO_DIGITS.take(pa.array(cents % 100)), ".")


def _codes(salt: Hashes, rank: Numbers) -> pa.StringArray:
    """Return codes such as ``KX-004120``, the letters the column's or the domain's own."""
    data = np.empty((len(rank), 9), np.uint8)
    data[:, 0] = 65 + salt % np.uint64(26)
    data[:, 1] = 65 + (salt >> np.uint64(8)) % np.uint64(26)
    data[:, 2] = ord("-")
    for place in range(6):
        data[:, 8 - place] = 48 + rank // 10**place % 10
    return _fixed_width(data)


def _identifiers(unit: Units) -> pa.StringArray:
    value = (unit * 2.0**40).astype(np.int64)
    digits = (value[:, None] >> np.arange(36, -4, -4)) & 15
    return _fixed_width(_HEXADECIMAL[digits])


def _fixed_width(data: npt.NDArray[np.uint8]) -> pa.StringArray:
    return strings_from_buffers(data.ravel(), np.arange(len(data) + 1) * data.shape[1])


_TWO_DIGITS = pa.array([f"{number:02d}" for number in range(100)])
_HEXADECIMAL = np.frombuffer(b"0123456789abcdef", np.uint8)

_FORMS = 8
_WORDS, _UPPER, _SPACED, _INTEGER, _AMOUNT, _CODE, _IDENTIFIER, _SERIAL = range(_FORMS)


class _Kind(NamedTuple):
    """A kind of column: how its cells are written, how often it occurs, what it is called."""

    form: int
    weight: float
    headers: tuple[str, ...]
    share: float = 0.0
    """Share of the vocabulary."""
    magnitudes: tuple[int, int] = (0, 1)
    """Numbers: the least power of ten that a column reaches, and how many there are."""


_KINDS = {
    "given": _Kind(_WORDS, 5, ("first name", "given_name", "Vorname", "FirstName", "prénom"), 0.04),
    "family": _Kind(_WORDS, 6, ("last name", "surname", "Nachname", "LastName", "nom"), 0.20),
    "place": _Kind(_WORDS, 9, ("city", "Ort", "town", "location", "municipality", "Gemeinde"), 0.15),
    "country": _Kind(_WORDS, 5, ("country", "Land", "nation", "pays", "Country or area")),
    "organisation": _Kind(_WORDS, 5, ("organisation", "store", "company", "Träger", "operator"), 0.11),
    "word": _Kind(_WORDS, 14, ("category", "type", "Art", "label", "status", "title", "group", "Thema"), 0.35),
    "phrase": _Kind(_WORDS, 5, ("description", "notes", "Bezeichnung", "remarks"), 0.15),
    "year": _Kind(_WORDS, 6, ("year", "Jahr", "season", "reporting year")),
    "date": _Kind(_WORDS, 5, ("date", "Datum", "day", "reported on")),
    "german date": _Kind(_WORDS, 2, ("Stand", "Stichtag", "Datum")),
    "american date": _Kind(_WORDS, 2, ("updated", "date", "Date of record")),
    "integer": _Kind(_INTEGER, 18, ("count", "Anzahl", "total", "population", "points", "rank"), 0.0, (1, 6)),
    "amount": _Kind(_AMOUNT, 8, ("amount", "Betrag", "price", "value", "share", "average"), 0.0, (3, 5)),
    "code": _Kind(_CODE, 4, ("code", "Kennziffer", "product", "SKU", "reference"), 0.0, (2, 4)),
    "identifier": _Kind(_IDENTIFIER, 1, ("key", "hash", "uid")),
    "serial": _Kind(_SERIAL, 5, ("id", "no.", "Nr.", "lfd. Nr.", "index")),
}
_KEYS = (
    ("given", "family", "place"),
    ("place", "date"),
    ("country", "year"),
    ("code", "organisation"),
    ("given", "family", "date", "place"),
    ("country", "place", "year"),
    ("code", "place", "date"),
    ("word", "country", "year"),
)
"""The key tuples that domains are made of."""

_MOST_KEY_COLUMNS = max(map(len, _KEYS))
_NAMES = list(_KINDS)
_ARITY = np.array([len(key) for key in _KEYS])
_TEMPLATES = np.array([[*map(_NAMES.index, key), *[0] * (_MOST_KEY_COLUMNS - len(key))] for key in _KEYS])
_FORM = np.array([kind.form for kind in _KINDS.values()])
_TEXT = _FORM == _WORDS
_WEIGHTS = np.cumsum([kind.weight for kind in _KINDS.values()]) / sum(kind.weight for kind in _KINDS.values())
_LEAST_MAGNITUDE, _MAGNITUDES = np.array([kind.magnitudes for kind in _KINDS.values()]).T
_HEADER_COUNTS = np.array([len(kind.headers) for kind in _KINDS.values()], np.uint64)
_HEADERS = np.array([[*kind.headers, *[""] * (8 - len(kind.headers))] for kind in _KINDS.values()], object)


# --- vocabulary --------------------------------------------------------------------------------------------------


class _Vocabulary(NamedTuple):
    text: pa.StringArray
    starts: Numbers
    """Where each kind's values begin."""


_MISSING = (None, "", "-", "n/a", "NULL", "NaN")
_DAYS = np.arange(np.datetime64("1990-01-01"), np.datetime64("2030-01-01"))
_YEARS = [str(year) for year in [*range(2024, 1899, -1), *range(2025, 2031)]]


@lru_cache(maxsize=8)
def _pool_sizes(vocabulary: int) -> tuple[int, ...]:
    fixed = {"country": len(_COUNTRIES), "year": len(_YEARS)} | dict.fromkeys(_DATES, len(_DAYS))
    return tuple(fixed.get(name, round(kind.share * vocabulary)) for name, kind in _KINDS.items())


@lru_cache(maxsize=2)
def _vocabulary(size: int) -> _Vocabulary:
    """Return the values of all kinds, each kind's most frequent first; about 1 s a million, once a process."""
    sizes = _pool_sizes(size)
    wanted = dict(zip(_NAMES, sizes, strict=True))
    family = _composed(_FAMILY, wanted["family"], _HEADS, _MIDDLES, _FAMILY_ENDS)
    words = _composed(_COMMON, wanted["word"], [head.lower() for head in _HEADS], _MIDDLES, _WORD_ENDS)
    days = {name: _dates(style) for name, style in _DATES.items()}
    pools = {
        "given": _composed(_GIVEN, wanted["given"], _HEADS, _MIDDLES, _GIVEN_ENDS),
        "family": family,
        "place": _composed(_PLACES, wanted["place"], _HEADS, _MIDDLES, _PLACE_ENDS),
        "country": pa.array(_COUNTRIES),
        "organisation": _organisations(family, wanted["organisation"]),
        "word": words,
        "phrase": _phrases(words, wanted["phrase"]),
        "year": pa.array(_YEARS),
        **days,
    }
    parts = [pools.get(name, pa.array([], pa.string())) for name in _NAMES]
    assert [len(part) for part in parts] == list(sizes)
    starts = len(_MISSING) + _starts(np.array(sizes))
    return _Vocabulary(pa.concat_arrays([pa.array(_MISSING, pa.string()), *parts]), starts)


def _composed(known: list[str], count: int, heads: list[str], middles: list[str], ends: list[str]) -> pa.StringArray:
    """Return known names, then made-up ones: the rarer, the longer."""
    parts = [pa.array(known, pa.string())]
    have, length = 0, 0
    while have < count:
        lists = [heads, *[middles] * length, ends]
        capacity = int(np.prod([len(syllables) for syllables in lists], dtype=np.float64))
        rank = np.arange(min(capacity, 2 * count)) * 1_000_003 % capacity  # a prime: no name twice
        syllables = []
        for choices in reversed(lists):
            syllables.append(pa.array(choices).take(pa.array(rank % len(choices))))
            rank = rank // len(choices)
        parts.append(pc.binary_join_element_wise(*reversed(syllables), ""))
        names = pc.unique(pa.concat_arrays(parts))
        have, length = len(names), length + 1
    return names.slice(0, count)


def _organisations(family: pa.StringArray, count: int) -> pa.StringArray:
    """Return names that take turns in their ending, so that no two are the same."""
    turn, name = np.divmod(np.arange(count), len(family))
    ending = pa.array(_COMPANIES).take(pa.array((turn + name) % len(_COMPANIES)))
    return pc.binary_join_element_wise(family.take(pa.array(name)), ending, " ")


def _phrases(words: pa.StringArray, count: int) -> pa.StringArray:
    """Return three to six words each; the first two never come twice, so that no two phrases are the same."""
    base = 1 + int(np.sqrt(count))
    number = np.arange(count) * 1_000_003 % base**2
    key = _stream(_mix(np.zeros(1, np.uint64)), number)
    chosen = [number % base, number // base]
    chosen += [(_unit(_stream(key, place)) ** 3 * len(words)).astype(np.int64) for place in range(4)]
    length = 3 + (_stream(key, 4) % np.uint64(4)).astype(np.int64)
    shown = [
        pc.if_else(pa.array(length > place), words.take(pa.array(word)), pa.scalar(None, pa.string()))
        for place, word in enumerate(chosen)
    ]
    return pc.binary_join_element_wise(*shown, " ", null_handling="skip")


def _dates(style: str) -> pa.StringArray:
    """Return all days in a mixed order."""
    mixed = _DAYS[np.argsort(_stream(_mix(np.zeros(1, np.uint64)), np.arange(len(_DAYS))))]
    return pc.strftime(pa.array(mixed), style)


_DATES = {"date": "%Y-%m-%d", "german date": "%d.%m.%Y", "american date": "%m/%d/%Y"}


def _words_of(text: str) -> list[str]:
    return text.split()


def _phrases_of(text: str) -> list[str]:
    return [phrase.strip() for phrase in text.split(";")]


_GIVEN = _words_of(
    """
    James Mary Muhammad Anna John Maria Robert Fatima Michael Elena David Olga William Sofia Thomas Ingrid
    Peter Laura José Zoë François Chloé Jürgen Käthe Søren Åsa Łukasz Małgorzata Ahmed Aisha Wei Yuki Ivan
    Natália Giovanni Giulia Hans Ursula Carlos Lucía Pierre Amélie Andreas Petra Daniel Sarah Joseph Emma
    Charles Olivia Christopher Mia Paul Hannah Mark Lena Steven Ella George Nina Kenneth Ida Lee Kim Brian
    Ruth Kevin Eva Γιώργος Ελένη Владимир Наталья 健太 さくら
    """
)
_FAMILY = _words_of(
    """
    Smith Müller Nguyen García Johnson Schmidt Lee Martin Williams Schneider Kim Rossi Brown Fischer Singh
    Silva Jones Weber Chen López Miller Meyer Wang Dubois Davis Wagner Khan Novák Wilson Becker Ali Kowalski
    Anderson Schulz Yilmaz Andersson Taylor Hoffmann Tanaka Hansen Thomas Schäfer Ivanov Jensen Moore Koch
    Popescu Nagy Jackson Bauer Petrov Horvat White Richter Öztürk Peeters Harris Klein Papadopoulos Virtanen
    O'Brien Strauß Gonçalves Dvořák Παπαδόπουλος Иванов 田中 Clark Wolf Lewis Schröder Walker Neumann Hall
    Schwarz Young Zimmermann King Braun Wright Krüger Hill Hofmann
    """
)
_PLACES = _phrases_of(
    """
    London; Berlin; New York; Paris; Hamburg; Madrid; München; Roma; Springfield; Köln; Wien; Frankfurt am Main;
    Zürich; Warszawa; Bonn; Ulm; Los Angeles; Chicago; Stuttgart; Düsseldorf; Leipzig; Dresden; Hannover; Bremen;
    Nürnberg; São Paulo; Rio de Janeiro; Łódź; Malmö; San Francisco; Boston; Seattle; Houston; Sydney; Melbourne;
    Toronto; Montréal; Kraków; Praha; Budapest; Oslo; København; Helsinki; Göteborg; Lisboa; Porto; Sevilla; Málaga;
    Lyon; Marseille; Milano; Torino; Athens; Cairo; Lagos; Nairobi; Delhi; Mumbai; Beijing; Tokyo; 東京; Москва;
    Αθήνα; القاهرة; Saint-Étienne; Baden-Baden; Halle (Saale); Weißenburg; Gießen; Bad Homburg; Stratford-upon-Avon
    """
)
_COUNTRIES = _phrases_of(
    """
    United States; Germany; France; United Kingdom; Spain; Italy; China; India; Brazil; Canada; Japan; Australia;
    Netherlands; Poland; Sweden; Austria; Switzerland; Belgium; Denmark; Norway; Finland; Ireland; Portugal; Greece;
    Czechia; Hungary; Romania; Bulgaria; Croatia; Serbia; Slovakia; Slovenia; Estonia; Latvia; Lithuania; Ukraine;
    Russia; Turkey; Israel; Egypt; Morocco; Tunisia; Algeria; Nigeria; Kenya; Ghana; Ethiopia; South Africa;
    Tanzania; Uganda; Mexico; Argentina; Chile; Peru; Colombia; Venezuela; Ecuador; Bolivia; Uruguay; Paraguay;
    Cuba; South Korea; Vietnam; Thailand; Indonesia; Malaysia; Philippines; Singapore; Pakistan; Bangladesh; Iran;
    Iraq; Saudi Arabia; Qatar; New Zealand; Iceland; Luxembourg; Malta; Cyprus; Côte d'Ivoire; Curaçao; Åland;
    Österreich; España; Ελλάδα; Россия; 日本; Papua New Guinea; Bosnia and Herzegovina; Trinidad and Tobago;
    Dominican Republic; Saint Kitts and Nevis; Central African Republic; Oman; Fiji; Eswatini
    """
)
_COMMON = _words_of(
    """
    total yes no other open closed male female active private public school road water building station park
    health service north south east west food market energy transport education housing culture sport music
    film book album single game team win loss draw final round red blue green white black primary secondary
    high low medium new old street bridge river forest bus rail bicycle tree bench light waste noise air
    soil property permit licence budget contract straße größe übrige café
    """
)
_HEADS = _words_of(
    """
    Ba Be Bro Ca Che Cla Da De Do Dra El Fa Fer Fi Fre Ga Gre Ha Hel Ho Il Ja Jo Ka Kel Kir Kra La Le Lin Lo
    Lu Ma Mar Mi Mo Mü Na Ne Nor Ol Pa Pe Pra Qua Ra Re Ro Sa Schwa Se Sta Ste Ta Tho Tri Ul Va Ve Wal We
    Wil Xa Yo Za Zim Ö Ål É Šte Świ Ñu
    """
)
_MIDDLES = _words_of(
    """
    ba bel ca chi da den di do fa fen ga gi ha ja ka kel la len li lo lu ma men mi mo na nd ne ni no pa per
    po ra ren ri ro ru sa sch se si so sta ta ter ti to tra tu va ver vi wa xi ya za ze zo ü é ño łu žé
    """
)
_FAMILY_ENDS = _words_of("mann son ski sen ez er ov ova ini ić berg ström meier y ton bach ell qvist ard opoulos")
_GIVEN_ENDS = _words_of("a us ina ert o ette iel ara mir ie án ko")
_PLACE_ENDS = _words_of("burg dorf ville ton stadt heim field ford by hausen bach au ow grad minster ó")
_PLACE_ENDS += [" Beach", " am See", "-sur-Mer", " Springs"]
_WORD_ENDS = _words_of("ung tion e er ing al ik ment ar ness um ist el ation os ität")
_COMPANIES = ["GmbH", "Ltd", "Inc.", "AG", "& Co.", "S.A.", "Group", "e.V.", "Stores", "und Söhne"]
