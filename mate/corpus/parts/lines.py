"""Lines of a file by their place in bytes; for encodings in which a line end is one byte that means nothing else."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import chain, islice, takewhile
from typing import BinaryIO, cast

ANY_END = re.compile(rb"\r\n|\r|\n")
NEWLINE = re.compile(rb"\n")
_BLOCK = 1 << 16


def line_start(stream: BinaryIO, at: int, ends: re.Pattern[bytes] = NEWLINE) -> int:
    """Return where the first line begins that does so at `at` or later; the end of the file without one."""
    if at == 0:
        return 0
    return next(_line_ends(stream, at - 1, ends), stream.seek(0, io.SEEK_END))


def after_lines(stream: BinaryIO, at: int, lines: int) -> int:
    """Return where so many more lines end, of a text with any line ends."""
    if lines == 0:
        return at
    return next(islice(_line_ends(stream, at, ANY_END), lines - 1, None), stream.seek(0, io.SEEK_END))


def count_lines(stream: BinaryIO, start: int, stop: int) -> int:
    """Return how many lines begin from `start`, where one does, to before `stop`, in a text with any line ends."""
    begun = chain((start,), _line_ends(stream, start, ANY_END))
    return sum(1 for _ in takewhile(lambda place: place < stop, begun))


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


def piece(stream: BinaryIO, start: int, stop: int) -> BinaryIO:
    """Return the bytes of a file from `start` to `stop` as a stream; others of the same file may be read meanwhile."""
    return cast(BinaryIO, io.BufferedReader(_Piece(stream, start, stop), 1 << 18))


class _Piece(io.RawIOBase):
    def __init__(self, stream: BinaryIO, start: int, stop: int) -> None:
        self._stream, self._at, self._stop = stream, start, stop

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        self._stream.seek(self._at)
        data = self._stream.read(min(len(buffer), self._stop - self._at))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)
