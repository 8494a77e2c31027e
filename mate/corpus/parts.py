"""Large files read in parts, so that one file is the work of many tasks; what is read is the same as from the whole.

A file goes through three steps. It is *cut* roughly. Each span is then *looked at* by itself, for what the others
must know of it: how many lines and rows it has, which columns, what is rejected. From that the parts are *settled*:
each knows its place in the file, and is read without the others.

Compressed files are not cut, since they unpack from their start only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, NamedTuple

from mate.corpus.lines import Span
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, rows_beyond
from mate.errors import CorpusError


@dataclass(frozen=True, slots=True)
class Look:
    """What a span has; lines count from 1, where it begins."""

    span: Span
    rejects: RejectCounts
    lines: int = 0
    rows: int | None = None
    """None if the file has a table per line."""
    tables: int = 0
    more: Any = None
    """What else its format must know of it."""


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
    def look(self, stream: BinaryIO, span: Span) -> Look:
        """Read a span and return what the others must know of it."""

    @abstractmethod
    def settle(self, looks: Sequence[Look]) -> Parts | Correction:
        """Return the parts, or what must be looked at again."""

    @abstractmethod
    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the chunks of a part, and rejects that only a record can tell."""

    def parts(self, looks: Iterable[Look], rejects: RejectCounts, lines: int = 0, more: Iterable[Reject] = ()) -> Parts:
        """Number the lines, rows and tables of spans that follow `lines` others; the last part has the rejects."""
        cutting = replace(self, spans=())  # a file of many parts has many spans
        parts: list[Part] = []
        rows = tables = 0
        for look in looks:
            rejects.merge(look.rejects, lines)
            taken = None if look.rows is None else max(0, min(look.rows, self.limits.rows - rows))
            if taken != 0:
                parts.append(Part(cutting, look.span, rows, taken, lines, tables))
            lines += look.lines
            rows += look.rows or 0
            tables += look.tables
        beyond = rows_beyond(self.source, self.limits, rows - self.limits.rows)
        if parts:
            parts[-1] = replace(parts[-1], rejects=(*rejects.rejects(), *beyond, *more))
        return Parts(parts, 1 if parts and parts[0].rows is not None else tables)


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


class Parts(NamedTuple):
    """A file, cut."""

    parts: Sequence[Part]
    """In their order; none if the file is better read whole: its reader says what is wrong."""
    tables: int = 1
    """Tables in all parts."""


def changed(source: str) -> str:
    """Say that a file is no longer what it was at the first look."""
    return f"{source} was changed while it was read: run the command again"
