"""What a format must offer to be read in parts: a cutting, which is looked at span by span, and then its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, BinaryIO, Protocol

from mate.corpus.table import Chunk, Limits, Reject


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a file: bytes from `start` to `stop`, or row groups of a Parquet file."""

    start: int
    stop: int
    room: int | None = None
    """How many rows may be taken, where rows before have used up some of the limit."""


class Part(Protocol):
    """A piece of a file that is read on its own and gives exactly what the whole file would give there."""

    @property
    def span(self) -> Span:
        """Where it is."""

    @property
    def continues(self) -> bool:
        """Whether its first rows belong to the table that the part before ends with."""

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield its chunks and rejects."""


@dataclass(frozen=True, slots=True)
class Again:
    """The looks from `first` to `stop` (excluded) do not fit the others: one look at this span replaces them."""

    first: int
    stop: int
    span: Span


@dataclass(frozen=True, slots=True)
class Parts:
    """A file, cut."""

    parts: Sequence[Part]
    """In their order; none if the file is better read whole."""
    tables: int
    """Tables in all parts."""
    rows: int | None = None
    """Rows of the table, where all parts are of one."""


WHOLE = Parts((), 0)
"""The answer where a file is to be read whole after all: its reader says what is the matter."""


class Cutting(Protocol):
    """A large file that is cut. It travels to the tasks, and what `look` returns travels back to the driver."""

    @property
    def spans(self) -> Sequence[Span]:
        """Where to cut, as far as can be told without reading everything."""

    def look(self, stream: BinaryIO, span: Span) -> Any:
        """Go through a span and return what the others must know of it: how many lines, rows and rejects."""

    def settle(self, looks: Sequence[Any]) -> Parts | Again:
        """Return the parts, or what must be looked at once more."""


def even_cuts(start: int, stop: int, size: int) -> list[int]:
    """Return places that cut a length into equal pieces of at least `size`."""
    pieces = max(1, (stop - start) // size)
    return [start + (stop - start) * number // pieces for number in range(1, pieces)]


def spans_between(places: Sequence[int]) -> list[Span]:
    """Return the spans between places, leaving out those of no length."""
    return [Span(start, stop) for start, stop in pairwise(accumulate(places, max)) if start < stop]


def changed(source: str) -> str:
    """Say that a file is no longer what it was when it was looked at."""
    return f"{source} was changed while it was read: run the command again"
