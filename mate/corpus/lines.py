"""Pieces of a file, and its lines by their place in bytes where a line ends with one byte that means nothing else."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence
from itertools import accumulate, islice, pairwise, takewhile
from typing import BinaryIO, NamedTuple, cast

_BLOCK = 1 << 18


class Span(NamedTuple):
    """A piece of a file: bytes from `start` to `stop`, or row groups of a Parquet file."""

    start: int
    stop: int


def even_cuts(start: int, stop: int, size: int) -> list[int]:
    """Return places that cut a length into equal pieces of at least `size`."""
    pieces = max(1, (stop - start) // size)
    return [start + (stop - start) * number // pieces for number in range(1, pieces)]


def spans_between(places: Sequence[int]) -> tuple[Span, ...]:
    """Return the spans between places, without empty ones."""
    return tuple(Span(start, stop) for start, stop in pairwise(accumulate(places, max)) if start < stop)


def line_spans(stream: BinaryIO, size: int) -> tuple[Span, ...]:
    """Cut a file behind line feeds into spans of about `size` bytes."""
    end = stream.seek(0, io.SEEK_END)
    places = [0]
    for at in even_cuts(0, end, size):
        if at > places[-1]:
            places.append(after_line_feed(stream, at))
    return spans_between([*places, end])


def after_line_feed(stream: BinaryIO, at: int) -> int:
    """Return where the first line at `at` or later begins, lines ending with line feeds only."""
    stream.seek(max(0, at - 1))
    while at and (block := stream.readline(_BLOCK)) and not block.endswith(b"\n"):
        pass
    return stream.tell()


def line_start(stream: BinaryIO, at: int) -> int:
    """Return where the first line at `at` or later begins; the end of the file if there is none."""
    if at == 0:
        return 0
    return next((place for place in _line_ends(stream, at - 1) if place >= at), at)


def after_lines(stream: BinaryIO, at: int, lines: int) -> int:
    """Return where so many more lines end."""
    return next(islice(_line_ends(stream, at), lines, None), stream.seek(0, io.SEEK_END))


def count_lines(stream: BinaryIO, start: int, stop: int) -> int:
    """Count the lines that begin from `start`, where one does, to before `stop`."""
    return sum(1 for _ in takewhile(lambda place: place < stop, _line_ends(stream, start)))


def _line_ends(stream: BinaryIO, at: int) -> Iterator[int]:
    """Yield `at` and where the lines from there on end, by whatever characters: in Latin-1, each byte is one."""
    text = io.TextIOWrapper(piece(stream, at), "latin-1", newline="")
    return accumulate(map(len, text), initial=at)


def piece(stream: BinaryIO, start: int, stop: int = sys.maxsize) -> BinaryIO:
    """Return some bytes of a file as a stream; others may be read in between."""
    return cast(BinaryIO, io.BufferedReader(_Piece(stream, start, stop), _BLOCK))


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
