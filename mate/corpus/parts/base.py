"""What every format has in common when a large file is read in parts: cuttings, spans and parts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, BinaryIO, NamedTuple

from mate.corpus.table import Chunk, Limits, Reject
from mate.errors import CorpusError


class Span(NamedTuple):
    """A piece of a file: bytes from `start` to `stop`, or row groups of a Parquet file."""

    start: int
    stop: int


class Correction(NamedTuple):
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
    def settle(self, looks: Sequence[Any]) -> Parts | Correction:
        """Return the parts, or what must be looked at again."""

    @abstractmethod
    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the chunks of a part, and rejects that only a record can tell."""

    def part(self, span: Span, **place: Any) -> Part:
        """Return a part of the file. It carries no spans but its own: a file of many parts has many spans."""
        return Part(replace(self, spans=()), span, **place)

    def table_parts(self, counts: Iterable[tuple[Span, int]]) -> tuple[list[Part], int]:
        """Number the rows of spans that hold one table: return its parts, and how many rows are beyond the limit."""
        parts: list[Part] = []
        rows = 0
        for span, count in counts:
            taken = max(0, min(count, self.limits.rows - rows))
            if taken:
                parts.append(self.part(span, first_row=rows, rows=taken))
            rows += count
        return parts, max(0, rows - self.limits.rows)


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
    rejects: tuple[Reject, ...] = ()
    """Those of the whole file, which its last part reports."""

    @property
    def continues(self) -> bool:
        """Whether its first rows belong to the table that the part before ends with."""
        return self.first_row > 0

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows that were counted, and the rejects."""
        limits = limits if self.rows is None else replace(limits, rows=self.rows)
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
    """In their order; none if the file is better read whole: its reader says what is wrong."""
    tables: int = 1
    """Tables in all parts."""

    @classmethod
    def of(cls, parts: Sequence[Part], rejects: Iterable[Reject], tables: int = 1) -> Parts:
        """Return the parts, of which the last one reports the rejects."""
        return cls([*parts[:-1], *(replace(part, rejects=tuple(rejects)) for part in parts[-1:])], tables)

    @property
    def rows(self) -> int | None:
        """Rows of the table, if the whole file is one table."""
        last = self.parts[-1]
        return None if last.rows is None else last.first_row + last.rows


def even_cuts(start: int, stop: int, size: int) -> list[int]:
    """Return places that cut a length into equal pieces of at least `size`."""
    pieces = max(1, (stop - start) // size)
    return [start + (stop - start) * number // pieces for number in range(1, pieces)]


def spans_between(places: Sequence[int]) -> tuple[Span, ...]:
    """Return the spans between places, without empty ones."""
    return tuple(Span(start, stop) for start, stop in pairwise(accumulate(places, max)) if start < stop)


def changed(source: str) -> str:
    """Say that a file is no longer what it was at the first look."""
    return f"{source} was changed while it was read: run the command again"
