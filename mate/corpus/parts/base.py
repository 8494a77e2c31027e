"""What every format has in common when a large file is read in parts: cuttings, spans and parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, BinaryIO

from mate.corpus.table import Chunk, Limits, Reject
from mate.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Span:
    """A piece of a file: bytes from `start` to `stop`, or row groups of a Parquet file."""

    start: int
    stop: int
    most_rows: int | None = None
    """Rows that may be taken, if the spans before have used up some of the limit."""


@dataclass(frozen=True, slots=True)
class Again:
    """The looks from `first` to `stop` (excluded) do not fit the others: one look at this span replaces them."""

    first: int
    stop: int
    span: Span


@dataclass(frozen=True)
class Cutting(ABC):
    """A large file that is cut. It travels to the tasks, and what `look` returns travels back to the driver."""

    source: str
    limits: Limits
    spans: tuple[Span, ...]
    """Where to cut, as far as can be told without reading everything."""

    @abstractmethod
    def look(self, stream: BinaryIO, span: Span) -> Any:
        """Read a span and return what the others must know of it: how many lines, rows and rejects it has."""

    @abstractmethod
    def settle(self, looks: Sequence[Any]) -> Parts | Again:
        """Return the parts, or what must be looked at again."""

    @abstractmethod
    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the chunks of a part, and rejects that only a record can tell."""

    def part(self, span: Span, **place: Any) -> Part:
        """Return a part of the file. It carries no spans but its own: a file of many parts has many spans."""
        return Part(replace(self, spans=()), span, **place)


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a file that is read on its own and yields exactly what the whole file would yield there."""

    cutting: Cutting
    span: Span
    first_row: int = 0
    """Rows of the table before this part."""
    rows: int | None = None
    """Rows of the part, if the whole file is one table."""
    lines_before: int = 0
    tables_before: int = 0
    whole_columns: frozenset[int] = frozenset()
    """Places of the Parquet columns that are written as whole numbers or dates: the same in all parts."""
    rejects: tuple[Reject, ...] = ()
    """Those of the whole file, which its last part reports."""

    @property
    def continues(self) -> bool:
        """Whether its first rows belong to the table that the part before ends with."""
        return self.first_row > 0

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows that were counted, and the rejects."""
        rows = 0
        for item in self.cutting.read(stream, self, limits):
            yield item
            rows += item.rows if isinstance(item, Chunk) else 0
            if rows == self.rows:
                break
        if self.rows is not None and rows < self.rows:
            raise CorpusError(changed(self.cutting.source))
        yield from self.rejects


@dataclass(frozen=True, slots=True)
class Parts:
    """A file, cut."""

    parts: Sequence[Part]
    """In their order; none if the file is better read whole."""
    tables: int
    """Tables in all parts."""
    rows: int | None = None
    """Rows of the table, if the whole file is one table."""


WHOLE = Parts((), 0)
"""The answer if a file is to be read whole after all: its reader says what is wrong."""


def with_rejects(parts: list[Part], rejects: Sequence[Reject], tables: int, rows: int | None = None) -> Parts:
    """Return the parts, of which the last one reports the rejects; `WHOLE` if there is none."""
    if not parts:
        return WHOLE
    return Parts([*parts[:-1], replace(parts[-1], rejects=tuple(rejects))], tables, rows)


def even_cuts(start: int, stop: int, size: int) -> list[int]:
    """Return places that cut a length into equal pieces of at least `size`."""
    pieces = max(1, (stop - start) // size)
    return [start + (stop - start) * number // pieces for number in range(1, pieces)]


def spans_between(places: Sequence[int]) -> list[Span]:
    """Return the spans between places, without empty ones."""
    return [Span(start, stop) for start, stop in pairwise(accumulate(places, max)) if start < stop]


def changed(source: str) -> str:
    """Say that a file is no longer what it was at the first look."""
    return f"{source} was changed while it was read: run the command again"
