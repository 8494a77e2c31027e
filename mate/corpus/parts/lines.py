"""Lines of a file by their place in bytes; for encodings in which a line end is one byte that means nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain, islice, takewhile
from typing import BinaryIO, cast

from mate.corpus.parts.base import Span, even_cuts, spans_between

ANY_END = re.compile(rb"\r\n|\r|\n")
NEWLINE = re.compile(rb"\n")
_BLOCK = 1 << 16


def line_spans(stream: BinaryIO, size: int) -> tuple[Span, ...]:
    """Cut a file between lines into spans of about `size` bytes."""
    end = stream.seek(0, io.SEEK_END)
    return tuple(spans_between([0, *(line_start(stream, at) for at in even_cuts(0, end, size)), end]))


def line_start(stream: BinaryIO, at: int, ends: re.Pattern[bytes] = NEWLINE) -> int:
    """Return where the first line at `at` or later begins; the end of the file if there is none."""
    if at == 0:
        return 0
    return next(_line_ends(stream, at - 1, ends), stream.seek(0, io.SEEK_END))


def after_lines(stream: BinaryIO, at: int, lines: int) -> int:
    """Return where so many more lines end, of a text with any line ends."""
    if lines == 0:
        return at
    return next(islice(_line_ends(stream, at, ANY_END), lines - 1, None), stream.seek(0, io.SEEK_END))


def count_lines(stream: BinaryIO, start: int, stop: int) -> int:
    """Count the lines that begin from `start`, where one does, to before `stop`, in a text with any line ends."""
    starts = chain((start,), _line_ends(stream, start, ANY_END))
    return sum(1 for _ in takewhile(lambda place: place < stop, starts))


def _line_ends(stream: BinaryIO, at: int, ends: re.Pattern[bytes]) -> Iterator[int]:
    """Yield where lines end from `at` on."""
    rest = b""
    while True:
        stream.seek(at + len(rest))
        block = stream.read(_BLOCK)
        data = rest + block
        # The last byte waits: it may be the first half of a line end.
        certain = len(data) - 1 if block else len(data)
        used = 0
        for match in ends.finditer(data):
            if match.start() >= certain:
                break
            used = match.end()
            yield at + used
        if not block:
            return
        used = max(used, certain)
        at, rest = at + used, data[used:]


def piece(stream: BinaryIO, span: Span) -> BinaryIO:
    """Return the bytes of a span as a stream; others of the same file may be read in between."""
    return cast(BinaryIO, io.BufferedReader(_Piece(stream, span), 1 << 18))


class _Piece(io.RawIOBase):
    def __init__(self, stream: BinaryIO, span: Span) -> None:
        self._stream, self._at, self._stop = stream, span.start, span.stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._stream.seek(self._at)
        data = self._stream.read(min(len(buffer), self._stop - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
