"""Arrow columns as the text that COPY FROM STDIN reads: one record per line.

An empty field is NULL. An empty text is written as NULL, too, because Vertica's documentation does not say how an empty
quoted field is read. Readers turn it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from io import BytesIO
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.hashing import Keys
from mate.hashing.superkey import to_bytes
from mate.lake.base import Ids

_RECORDS = 50_000
"""Most records that are formatted at a time."""
_OCTETS = 1 << 23
"""Most octets of their texts, unless one record has more."""


class Style(NamedTuple):
    """The syntax of a record."""

    delimiter: str
    quote: str
    escapes: Sequence[tuple[str, str]]
    """Replaced inside a text, in this order."""
    key_prefix: str = ""
    """Stands in front of the hexadecimal digits of a super key."""


VERTICA = Style("|", "'", [(special, "\\" + special) for special in ("\\", "'", "|", "\n")])
"""The form that vertica-python itself writes, and whose integration tests send every ASCII character through."""

CSV = Style(",", '"', [('"', '""')], "x")
"""PostgreSQL's."""


def lines(columns: Sequence[pa.Array], style: Style) -> Iterator[bytes]:
    """Yield the records in pieces of bounded size."""
    for start, count in _portions(columns):
        parts = [_field(column.slice(start, count), style) for column in columns]
        joined = pc.binary_join_element_wise(*parts, _text(style.delimiter)) if len(parts) > 1 else parts[0]
        yield _values(pc.binary_join_element_wise(joined, _text(""), _text("\n")))[1]


def _portions(columns: Sequence[pa.Array]) -> Iterator[tuple[int, int]]:
    """Yield first record and size of portions."""
    texts = [c for c in columns if pa.types.is_string(c.type) or pa.types.is_large_string(c.type)]
    lengths = sum((pc.binary_length(c).fill_null(0).to_numpy().astype(np.int64) for c in texts), np.zeros(1, np.int64))
    ends = np.cumsum(np.broadcast_to(lengths, len(columns[0])))
    start = 0
    while start < len(ends):
        done = int(ends[start - 1]) if start else 0
        stop = int(np.searchsorted(ends, done + _OCTETS, "right"))
        stop = min(max(start + 1, stop), start + _RECORDS)
        yield start, stop - start
        start = stop


def _field(column: pa.Array, style: Style) -> pa.LargeStringArray:
    if pa.types.is_large_binary(column.type):
        texts = hexadecimal(column)
        return pc.binary_join_element_wise(_text(style.key_prefix), texts, _text("")) if style.key_prefix else texts
    texts = column.cast(pa.large_string())
    if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
        for special, escaped in style.escapes:
            texts = pc.replace_substring(texts, special, escaped)
        quote, empty = _text(style.quote), pc.equal(pc.binary_length(texts), 0)
        texts = pc.if_else(empty, texts, pc.binary_join_element_wise(quote, texts, quote, _text("")))
    return texts.fill_null("")


def _text(value: str) -> pa.LargeStringScalar:
    return pa.scalar(value, pa.large_string())


def _values(array: pa.LargeStringArray | pa.LargeBinaryArray) -> tuple[Ids, bytes]:
    """Return where values end, after a zero, and the values one after the other: what their buffers hold already."""
    if not len(array):
        return np.zeros(1, np.int64), b""
    _, offsets, data = array.buffers()
    ends = np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]
    return ends - ends[0], bytes(data[int(ends[0]) : int(ends[-1])])


def hexadecimal(keys: pa.LargeBinaryArray) -> pa.LargeStringArray:
    """Return super keys as hexadecimal digits."""
    ends, data = _values(keys)
    return pa.LargeStringArray.from_buffers(len(keys), pa.py_buffer(2 * ends), pa.py_buffer(data.hex().encode()))


def key_array(words: Keys, sizes: Ids | None = None) -> pa.LargeBinaryArray:
    """Return super keys as a column of records: rows of a matrix, or so many words each."""
    sizes = np.full(len(words), words.shape[1]) if sizes is None else sizes
    ends = np.concatenate([[0], np.cumsum(8 * sizes)]).astype(np.int64)
    return pa.Array.from_buffers(
        pa.large_binary(), len(sizes), [None, pa.py_buffer(ends), pa.py_buffer(to_bytes(words))]
    )


class Stream:
    """Pieces of bytes as the object with a ``read`` that vertica-python takes; an empty piece does not end it."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces, self._piece = iter(pieces), BytesIO()

    def read(self, size: int) -> bytes:
        """Return at most so many bytes, and nothing at the end."""
        while not (data := self._piece.read(size)):
            piece = next(self._pieces, None)
            if piece is None:
                break
            self._piece = BytesIO(piece)
        return data
