"""Super keys in a database: how those of a hash function are stored, asked for, and read.

The row filter runs in the database, on one of three forms:

- *fixed*: bits of one size. A row must have all bits of the key tuple.
- *wide*: bits whose number follows the width of the table (``wide:20``). The key tuples have a key for every size.
- *prints*: a text with one character per column (``fingerprint:16``), a space for a cell without a token. A row must
  have the characters of all values but the initial one, which the posting has. No character is a part of another in
  UTF-8, so that a database finds one with a plain search for texts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from mate.errors import StoreError
from mate.hashing import Keys, SuperKeyHash
from mate.hashing.by_width import WORD, packed
from mate.hashing.superkey import to_bytes
from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.columns import ranges
from mate.lake.layout import SegmentArrays
from mate.lake.manifest import HashSpec
from mate.lake.segment import SearchSegment
from mate.lake.super_keys import by_function, key_offsets, key_words
from mate.sql.copy_text import key_array
from mate.sql.dialects.base import Dialect
from mate.sql.schema import Column, Content, key_column
from mate.sql.session import Session

QUERY_KEY = "query_key"
_OCTETS = 8
_FIRST, _SURROGATES, _SURROGATE_COUNT = 0x800, 0xD800, 0x800
"""The character of fingerprint 0 would be the first one of three octets; those that UTF-8 does not have are skipped."""
MOST_PRINT_BITS = 20
"""All fingerprints of so many bits have a character of their own."""

TupleHashes: TypeAlias = Callable[[SuperKeyHash], Keys]
"""From a hash function to the hashes of key tuples: ``uint64[tuples, key columns, words]``."""


class ReadKeys(NamedTuple):
    """Super keys of rows as the engine takes them."""

    keys: Keys
    """As many words per row as the largest has."""
    words: Ids
    """How many of them are the row's."""
    width: Ids
    """Number of columns that its table has, or may have, by the size of its key."""


class CandidateRows(NamedTuple):
    """Rows that may join, ascending by table, then by row."""

    table_id: Ids
    row_id: Ids
    keys: ReadKeys

    @classmethod
    def of(cls, table: Ids, row: Ids, keys: ReadKeys) -> CandidateRows:
        """Bring rows into order."""
        return cls(table, row, keys)._at(np.lexsort((row, table)))

    def without(self, tables: frozenset[int]) -> CandidateRows:
        """Return those of other tables."""
        return self._at(np.flatnonzero(~np.isin(self.table_id, list(tables))))

    def _at(self, places: Ids) -> CandidateRows:
        keys = ReadKeys(self.keys.keys[places], self.keys.words[places], self.keys.width[places])
        return CandidateRows(self.table_id[places], self.row_id[places], keys)


class KeyProbes(NamedTuple):
    """What is known of key tuples: one record, or one per size of key, for each."""

    tuple_id: Ids
    records: list[pa.Array]


@dataclass(frozen=True)
class KeyForm(ABC):
    """The super keys of one hash function in a database."""

    function: SuperKeyHash

    @abstractmethod
    def column(self, number: int) -> Column:
        """Return the column of the hash function with this number."""

    @abstractmethod
    def octets_for(self, columns: int) -> int:
        """Return the octets that the key of a row with so many columns takes at most."""

    @abstractmethod
    def stored(self, segment: SearchSegment, number: int, rows: Array) -> pa.Array:
        """Return the keys of rows, numbered through the segment, as they are loaded."""

    @abstractmethod
    def probe_columns(self, key_columns: int) -> list[Column]:
        """Return the columns that key tuples are filtered by."""

    @abstractmethod
    def probes(self, hashes: TupleHashes, widths: Callable[[], Ids]) -> KeyProbes:
        """Return the records of key tuples; `widths` are the numbers of columns that tables have."""

    @abstractmethod
    def condition(self, dialect: Dialect, key: str, rest: Sequence[int]) -> str:
        """SQL that a row, given by its key, may hold a key tuple; `rest` are the key columns beside the initial one."""

    def selected(self, dialect: Dialect, key: str) -> str:
        """SQL for a key as it is read."""
        return dialect.key_words(key)

    def candidates(self, session: Session, statement: str) -> CandidateRows:
        """Put a question for table, row and key."""
        records = session.execute(statement)
        table, row = (np.array([record[n] for record in records], np.int64) for n in range(2))
        return CandidateRows.of(table, row, self.read([record[2] for record in records]))

    @abstractmethod
    def read(self, values: Sequence[Any]) -> ReadKeys:
        """Make keys of values that were read."""

    def of_rows(self, keys: ReadKeys, place: Ids) -> Keys:
        """Return the keys of rows as a segment has them: words, one row after the other."""
        own = keys.keys[place]
        found: Keys = own[np.arange(own.shape[1]) < keys.words[place, None]]
        return found


class FixedKeys(KeyForm):
    """Bits of one size."""

    @property
    def octets(self) -> int:
        """Size of a key."""
        return self.function.bits // 8

    def column(self, number: int) -> Column:
        """Return a column of bits."""
        return Column(key_column(number), Content.KEY, self.octets)

    def octets_for(self, columns: int) -> int:
        """Return the size, whatever the columns."""
        return self.octets

    def stored(self, segment: SearchSegment, number: int, rows: Array) -> pa.Array:
        """Return keys of one size."""
        return key_array(segment.keys[number][rows])

    def probe_columns(self, key_columns: int) -> list[Column]:
        """Return the one column of the key."""
        return [Column(QUERY_KEY, Content.KEY, self.octets)]

    def probes(self, hashes: TupleHashes, widths: Callable[[], Ids]) -> KeyProbes:
        """Return one key per key tuple."""
        keys = np.bitwise_or.reduce(hashes(self.function), axis=1)
        return KeyProbes(np.arange(len(keys)), [key_array(keys)])

    def condition(self, dialect: Dialect, key: str, rest: Sequence[int]) -> str:
        """SQL that all bits are there."""
        return f"({key} & q.{QUERY_KEY}) = q.{QUERY_KEY}"

    def candidates(self, session: Session, statement: str) -> CandidateRows:
        """Put a question for table, row and key; all records have one size, which is read faster."""
        table, row, *words = session.numbers(statement, [_OCTETS, _OCTETS, self.octets])
        return CandidateRows.of(table, row, self.read(words))

    def read(self, values: Sequence[Any]) -> ReadKeys:
        """Take the words of keys, one array for each."""
        keys = np.stack(values, axis=1).view(np.uint64)
        return ReadKeys(keys, np.full(len(keys), keys.shape[1]), np.zeros(len(keys), np.int64))

    def of_rows(self, keys: ReadKeys, place: Ids) -> Keys:
        """Return the keys of rows, a row each."""
        found: Keys = keys.keys[place]
        return found


class WideKeys(KeyForm):
    """Bits whose number follows the width of the table."""

    def column(self, number: int) -> Column:
        """Return a column of bits of any number."""
        return Column(key_column(number), Content.WIDE_KEY)

    def octets_for(self, columns: int) -> int:
        """Return whole words."""
        return _OCTETS * self.function.row_words(columns)

    def stored(self, segment: SearchSegment, number: int, rows: Array) -> pa.Array:
        """Return keys of several sizes."""
        words, owner = _words_of(self.function, segment.arrays, rows)
        sizes = np.bincount(owner, minlength=len(rows))
        return _octets(segment.keys[number][words], sizes)

    def probe_columns(self, key_columns: int) -> list[Column]:
        """Return the one column of the key."""
        return [Column(QUERY_KEY, Content.WIDE_KEY)]

    def probes(self, hashes: TupleHashes, widths: Callable[[], Ids]) -> KeyProbes:
        """Return a key for every size that the tables of the index have."""
        functions, _ = by_function(self.function, widths())
        keys = [np.bitwise_or.reduce(hashes(sized), axis=1) for sized in functions]
        arrays = [_octets(own.reshape(-1), np.full(len(own), own.shape[1])) for own in keys]
        numbers = np.concatenate([np.empty(0, np.int64), *(np.arange(len(own)) for own in keys)])
        return KeyProbes(numbers, [pa.concat_arrays([pa.array([], pa.large_binary()), *arrays])])

    def condition(self, dialect: Dialect, key: str, rest: Sequence[int]) -> str:
        """SQL that all bits are there: those of a key of the same size, for no other can be compared."""
        same = f"OCTET_LENGTH({key}) = OCTET_LENGTH(q.{QUERY_KEY})"
        return f"CASE WHEN {same} THEN ({key} & q.{QUERY_KEY}) = q.{QUERY_KEY} ELSE FALSE END"

    def read(self, values: Sequence[Any]) -> ReadKeys:
        """Take bits, as bytes or as a text of zeros and ones."""
        data = [v if isinstance(v, bytes) else int(v, 2).to_bytes(len(v) // 8, "big") for v in values]
        words = np.array([len(own) // _OCTETS for own in data], np.int64)
        keys = _padded(np.frombuffer(b"".join(data), ">u8").astype(np.uint64), words)
        return ReadKeys(keys, words, WORD * words // self.function.bits)


class PrintKeys(KeyForm):
    """Texts of fingerprints."""

    def column(self, number: int) -> Column:
        """Return a column of texts."""
        return Column(key_column(number), Content.PRINTS)

    def octets_for(self, columns: int) -> int:
        """Return a character per column; fewer than 16 bits have one of three octets."""
        return (3 if self.function.bits < 16 else 4) * columns

    def stored(self, segment: SearchSegment, number: int, rows: Array) -> pa.Array:
        """Return the fingerprints of rows as texts."""
        arrays, bits = segment.arrays, self.function.bits
        table = np.searchsorted(arrays.table_row_first, rows, "right") - 1
        columns = np.diff(arrays.table_column_first)[table].astype(np.int64)
        place, owner = ranges(np.zeros(len(rows), np.int64), columns)
        first = _first_words(self.function, arrays, rows)[owner]
        word, shift = np.divmod(place * bits, WORD)
        keys, at, low = segment.keys[number], first + word, shift.astype(np.uint64)
        prints = keys[at] >> low
        over = np.flatnonzero(shift + bits > WORD)
        prints[over] |= keys[at[over] + 1] << (np.uint64(WORD) - low[over])
        return written(prints & np.uint64((1 << bits) - 1), columns)

    def probe_columns(self, key_columns: int) -> list[Column]:
        """Return a column per key column."""
        return [Column(f"print{n}", Content.PRINT) for n in range(key_columns)]

    def probes(self, hashes: TupleHashes, widths: Callable[[], Ids]) -> KeyProbes:
        """Return the characters of all values."""
        prints = hashes(self.function)[:, :, 0]
        return KeyProbes(np.arange(len(prints)), [written(own, np.ones(len(own), np.int64)) for own in prints.T])

    def condition(self, dialect: Dialect, key: str, rest: Sequence[int]) -> str:
        """SQL that the characters are there; a key of one column is never filtered."""
        return " AND ".join(dialect.contains(key, f"q.print{n}") for n in rest) or "TRUE"

    def selected(self, dialect: Dialect, key: str) -> str:
        """SQL for the text."""
        return key

    def read(self, values: Sequence[Any]) -> ReadKeys:
        """Make fingerprints of characters, and words of these."""
        bits, columns = self.function.bits, np.array([len(text) for text in values], np.int64)
        words = np.array([self.function.row_words(width) if width else 0 for width in columns.tolist()], np.int64)
        keys = np.zeros((len(values), int(words.max(initial=0))), np.uint64)
        prints = _padded(read_prints("".join(values)), columns)
        for width in np.unique(columns[columns > 0]).tolist():
            own = np.flatnonzero(columns == width)
            keys[own, : self.function.row_words(width)] = packed(prints[own, :width], bits)
        return ReadKeys(keys, words, columns)


def form_of(spec: HashSpec) -> KeyForm:
    """Return the form that the keys of a hash function have in a database."""
    return form_for(spec.function())


def form_for(function: SuperKeyHash) -> KeyForm:
    """Return the form that its keys have in a database."""
    if not function.by_width:
        return FixedKeys(function)
    return PrintKeys(function) if function.by_column else WideKeys(function)


def key_columns(hashes: Iterable[HashSpec]) -> tuple[Column, ...]:
    """Return the columns of super keys, by hash function."""
    return tuple(form_of(spec).column(number) for number, spec in enumerate(hashes))


def check_form(function: SuperKeyHash, columns: int, dialect: Dialect) -> None:
    """Refuse fingerprints that no character stands for, and keys of so many columns that a database cannot hold."""
    name = f"{function.name}:{function.bits}"
    if function.by_column and function.bits > MOST_PRINT_BITS:
        raise StoreError(
            f"{name} is for lakes in a folder: a database has fingerprints of up to {MOST_PRINT_BITS} bits"
        )
    octets = form_for(function).octets_for(columns)
    if dialect.most_octets is not None and octets > dialect.most_octets:
        raise StoreError(
            f"the keys of {name} for {columns:,} columns take {octets:,} octets, and a column has "
            f"{dialect.most_octets:,} at most: lower --max-columns"
        )


def written(prints: Keys, sizes: Ids) -> pa.LargeStringArray:
    """Return fingerprints as texts, so many each: a space for 0, a character of three or four octets for any other."""
    points = prints.astype(np.int64) + _FIRST
    points += np.where(points >= _SURROGATES, _SURROGATE_COUNT, 0)
    points[prints == 0] = ord(" ")
    data = points.astype("<u4").tobytes().decode("utf-32-le").encode()
    octets = np.where(points < _FIRST, 1, np.where(points < 0x10000, 3, 4))
    ends = np.concatenate([[0], np.cumsum(octets)])[np.concatenate([[0], np.cumsum(sizes)])]
    return pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(data))


def read_prints(text: str) -> Keys:
    """Return the fingerprints that the characters of a text stand for: the inverse of `written`."""
    points = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.int64)
    points -= np.where(points >= _SURROGATES, _SURROGATE_COUNT, 0)
    return np.maximum(points - _FIRST, 0).astype(np.uint64)


def _first_words(function: SuperKeyHash, arrays: SegmentArrays, rows: Array) -> Ids:
    """Return where the key of each row begins among the words of a segment's keys."""
    words = key_words(function, np.diff(arrays.table_column_first))
    first = key_offsets(words, np.diff(arrays.table_row_first))
    table = np.searchsorted(arrays.table_row_first, rows, "right") - 1
    found: Ids = first[table] + (rows - arrays.table_row_first[table]) * words[table]
    return found


def _words_of(function: SuperKeyHash, arrays: SegmentArrays, rows: Array) -> tuple[Ids, Ids]:
    """Return the places of all words of the keys of rows, and the row of each."""
    table = np.searchsorted(arrays.table_row_first, rows, "right") - 1
    words = key_words(function, np.diff(arrays.table_column_first))[table]
    first = _first_words(function, arrays, rows)
    return ranges(first, first + words)


def _octets(words: Keys, sizes: Ids) -> pa.LargeBinaryArray:
    """Return words as binary values, so many words each."""
    ends = np.concatenate([[0], np.cumsum(sizes * _OCTETS)]).astype(np.int64)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(to_bytes(words))]
    return pa.Array.from_buffers(pa.large_binary(), len(sizes), buffers)


def _padded(values: Keys, sizes: Ids) -> Keys:
    """Return values, so many per row, as a matrix with zeros at the end of short rows."""
    found = np.zeros((len(sizes), int(sizes.max(initial=0))), np.uint64)
    found[np.arange(found.shape[1]) < sizes[:, None]] = values
    return found
