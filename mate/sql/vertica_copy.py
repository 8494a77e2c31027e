"""Arrow columns to the text that COPY FROM STDIN reads.

One record a line, fields separated by ``|``, texts in single quotes with backslash, quote, bar and newline escaped:
the form that vertica-python itself writes (`Cursor.executemany`) and whose integration tests send every ASCII
character through. An empty field is NULL; an empty text is written as one, too, because the documentation does not
say how an empty quoted field is read. Readers turn it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.hashing import Keys
from mate.hashing.superkey import to_bytes

DELIMITER, QUOTE = "|", "'"
_RECORDS = 50_000
"""Records that are made into text at a time."""


def lines(columns: list[pa.Array]) -> Iterator[bytes]:
    """Yield the records in pieces of bounded size."""
    for start in range(0, len(columns[0]), _RECORDS):
        parts = [_field(column.slice(start, _RECORDS)) for column in columns]
        joined = pc.binary_join_element_wise(*parts, _text(DELIMITER))
        yield _bytes(pc.binary_join_element_wise(joined, _text(""), _text("\n")))


def _field(column: pa.Array) -> pa.LargeStringArray:
    texts = column.cast(pa.large_string())
    if pa.types.is_large_string(column.type) or pa.types.is_string(column.type):
        for special in ("\\", QUOTE, DELIMITER, "\n"):
            texts = pc.replace_substring(texts, special, "\\" + special)
        empty = pc.equal(pc.binary_length(texts), 0)
        texts = pc.if_else(empty, texts, pc.binary_join_element_wise(_text(QUOTE), texts, _text(QUOTE), _text("")))
    return texts.fill_null("")


def _text(value: str) -> pa.LargeStringScalar:
    return pa.scalar(value, pa.large_string())


def _bytes(texts: pa.LargeStringArray) -> bytes:
    """Return the texts one after the other: what their buffer holds already."""
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return bytes(data[int(ends[0]) : int(ends[-1])]) if len(texts) else b""


def hexadecimal(keys: Keys) -> pa.Array:
    """Return super keys as hexadecimal digits; as binary values they are not put in quotes."""
    text = to_bytes(keys).hex().encode()
    width = keys.shape[1] * 16
    return pa.Array.from_buffers(pa.binary(width), len(keys), [None, pa.py_buffer(text)])


class Stream:
    """Pieces of bytes as the object with a ``read`` that `Cursor.copy` takes; an empty piece does not end it."""

    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = iter(pieces)

    def read(self, _size: int = -1) -> bytes:
        """Return the next piece that has anything in it, and nothing at the end."""
        return next(filter(None, self._pieces), b"")
