"""Super keys in a database: how those of a hash function are stored, asked for, and read.

The row filter runs in the database, on one of three forms:

- *fixed*: bits of one size. A row must have all bits of the key tuple.
- *wide*: bits whose number follows the width of the table (``wide:20``). The key tuples have a key for every size.
- *fingerprints*: a text with one character per column (``fingerprint:16``), a space for a cell without a token. A row
  must have the characters of all values but the initial one, which the posting has. In UTF-8 no character is a part of
  another, so that a database finds one with a plain search for texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.hashing import Keys, SuperKeyHash
from mate.hashing.by_width import WORD, packed
from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.columns import ranges
from mate.lake.layout import SegmentArrays
from mate.lake.segment import SearchSegment
from mate.lake.super_keys import by_function, key_offsets, key_words
from mate.sql.dialects.dialect import Dialect, key_array
from mate.sql.schema import PATH, SHORT_TEXT, Column, Content, key_column

QUERY_KEY = "query_key"
_FIRST, _SURROGATES, _SURROGATE_COUNT = 0x800, 0xD800, 0x800
"""The character of fingerprint 0 would be the first one of three octets; UTF-8 does not have the surrogates."""
MOST_FINGERPRINT_BITS = 20
"""All fingerprints of so many bits have a character of their own."""


@dataclass(frozen=True)
class KeyForm:
    """The super keys of one hash function in a database: bits, as many for all rows or as the width of a table asks."""

    function: SuperKeyHash

    def column(self, number: int) -> Column:
        """Return the column of the hash function with this number."""
        return Column(key_column(number), Content.KEY, 0 if self.function.by_width else self.function.bits // 8)

    def most_octets(self, columns: int) -> int:
        """Return the octets that the key of a row with so many columns takes at most."""
        return 8 * self.function.row_words(columns)

    def stored(self, segment: SearchSegment, number: int, rows: Array) -> pa.Array:
        """Return the keys of rows, numbered through the segment, as they are loaded."""
        first, sizes = _key_words(self.function, segment.arrays, rows)
        words, _ = ranges(first, first + sizes)
        return key_array(segment.keys[number].reshape(-1)[words], sizes)

    def probe_columns(self, key_columns: int) -> list[Column]:
        """Return the columns that key tuples are filtered by."""
        return [self.column(0)._replace(name=QUERY_KEY)]

    def probes(self, hashes: Callable[[SuperKeyHash], Keys], widths: Callable[[], Ids]) -> tuple[Ids, list[pa.Array]]:
        """Return numbers of key tuples, and a record for each, or one per size of key.

        `hashes` returns the hashes of their values, `widths` the numbers of columns that tables have.
        """
        functions = by_function(self.function, widths())[0] if self.function.by_width else [self.function]
        keys = [np.bitwise_or.reduce(hashes(sized), axis=1) for sized in functions]
        numbers = np.concatenate([np.empty(0, np.int64), *(np.arange(len(own)) for own in keys)])
        return numbers, [pa.concat_arrays([pa.array([], pa.large_binary()), *map(key_array, keys)])]

    def condition(self, dialect: Dialect, key: str, others: Sequence[int]) -> str:
        """SQL that a row, given by its key, may hold a key tuple; `others` are the key columns but the initial one."""
        has_bits = f"({key} & q.{QUERY_KEY}) = q.{QUERY_KEY}"
        if not self.function.by_width:
            return has_bits
        # Databases compare bits of equal size only.
        return f"CASE WHEN OCTET_LENGTH({key}) = OCTET_LENGTH(q.{QUERY_KEY}) THEN {has_bits} ELSE FALSE END"

    def selected(self, dialect: Dialect, key: str) -> str:
        """SQL for a key as it is read."""
        return dialect.key_value.format(column=key)

    def read(self, values: npt.NDArray[Any]) -> tuple[Ids, Keys]:
        """Return how many columns rows have by their keys, 0 if they do not tell, and the keys as in a segment."""
        # Values are bytes, or texts of zeros and ones.
        data = [v if isinstance(v, bytes) else int(v, 2).to_bytes(len(v) // 8, "big") for v in values]
        keys = np.frombuffer(b"".join(data), ">u8").astype(np.uint64)
        if not self.function.by_width:
            return np.zeros(len(values), np.int64), keys.reshape(len(values), -1)
        return np.array([8 * len(own) for own in data], np.int64) // self.function.bits, keys


class _FingerprintKeys(KeyForm):
    """Texts of fingerprints."""

    def column(self, number: int) -> Column:
        return Column(key_column(number), Content.TEXT, PATH)

    def most_octets(self, columns: int) -> int:
        return (3 if self.function.bits < 16 else 4) * columns

    def stored(self, segment: SearchSegment, number: int, rows: Array) -> pa.Array:
        arrays, bits = segment.arrays, self.function.bits
        table = np.searchsorted(arrays.table_row_first, rows, "right") - 1
        columns = np.diff(arrays.table_column_first)[table].astype(np.int64)
        place, owner = ranges(np.zeros(len(rows), np.int64), columns)
        first, _ = _key_words(self.function, arrays, rows)
        word, shift = np.divmod(place * bits, WORD)
        keys, at, low = segment.keys[number], first[owner] + word, shift.astype(np.uint64)
        fingerprints = keys[at] >> low
        split = np.flatnonzero(shift + bits > WORD)
        fingerprints[split] |= keys[at[split] + 1] << (np.uint64(WORD) - low[split])
        return fingerprint_texts(fingerprints & np.uint64((1 << bits) - 1), columns)

    def probe_columns(self, key_columns: int) -> list[Column]:
        return [Column(f"fingerprint{n}", Content.TEXT, SHORT_TEXT) for n in range(key_columns)]

    def probes(self, hashes: Callable[[SuperKeyHash], Keys], widths: Callable[[], Ids]) -> tuple[Ids, list[pa.Array]]:
        prints = hashes(self.function)[:, :, 0]
        return np.arange(len(prints)), [fingerprint_texts(own, np.ones(len(own), np.int64)) for own in prints.T]

    def condition(self, dialect: Dialect, key: str, others: Sequence[int]) -> str:
        # A key of one column is never filtered.
        return " AND ".join(dialect.contains.format(text=key, part=f"q.fingerprint{n}") for n in others) or "TRUE"

    def selected(self, dialect: Dialect, key: str) -> str:
        return key

    def read(self, values: npt.NDArray[Any]) -> tuple[Ids, Keys]:
        columns = np.array([len(text) for text in values], np.int64)
        words, prints = key_words(self.function, columns), read_fingerprints("".join(values))
        first_word, first_print = np.cumsum(words) - words, np.cumsum(columns) - columns
        keys = np.zeros(int(words.sum()), np.uint64)
        for width in np.unique(columns[columns > 0]).tolist():
            own = columns == width
            rows = packed(prints[first_print[own, None] + np.arange(width)], self.function.bits)
            keys[first_word[own, None] + np.arange(rows.shape[1])] = rows
        return columns, keys


def key_form(function: SuperKeyHash) -> KeyForm:
    """Return the form that the keys of a hash function have in a database."""
    return _FingerprintKeys(function) if function.by_column else KeyForm(function)


def fingerprint_texts(fingerprints: Keys, sizes: Ids) -> pa.LargeStringArray:
    """Return fingerprints as texts, so many each: a space for 0, a character of three or four octets for any other."""
    points = fingerprints.astype(np.int64) + _FIRST
    points += np.where(points >= _SURROGATES, _SURROGATE_COUNT, 0)
    points[fingerprints == 0] = ord(" ")
    data = points.astype("<u4").tobytes().decode("utf-32-le").encode()
    octets = np.where(points < _FIRST, 1, np.where(points < 0x10000, 3, 4))
    ends = np.concatenate([[0], np.cumsum(octets)])[np.concatenate([[0], np.cumsum(sizes)])]
    return pa.LargeStringArray.from_buffers(len(sizes), pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(data))


def read_fingerprints(text: str) -> Keys:
    """Return the fingerprints that the characters of a text stand for: the inverse of `fingerprint_texts`."""
    points = np.frombuffer(text.encode("utf-32-le"), "<u4").astype(np.int64)
    points -= np.where(points >= _SURROGATES, _SURROGATE_COUNT, 0)
    return np.maximum(points - _FIRST, 0).astype(np.uint64)


def _key_words(function: SuperKeyHash, arrays: SegmentArrays, rows: Array) -> tuple[Ids, Ids]:
    """Return where the key of each row begins among the words of a segment's keys, and how many it has."""
    words = key_words(function, np.diff(arrays.table_column_first))
    first = key_offsets(words, np.diff(arrays.table_row_first))
    table = np.searchsorted(arrays.table_row_first, rows, "right") - 1
    return first[table] + (rows - arrays.table_row_first[table]) * words[table], words[table]
