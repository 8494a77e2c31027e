"""A shard of web tables in parts: records do not depend on each other, only their numbers do."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

from mate.corpus.compression import compression_of
from mate.corpus.dwtc import Reading, numbered_lines
from mate.corpus.parts.base import WHOLE, Parts, Span, even_cuts, spans_between
from mate.corpus.parts.lines import line_start, piece
from mate.corpus.table import Chunk, Limits, Reject
from mate.corpus.tally import Tally


@dataclass(frozen=True, slots=True)
class DwtcLook:
    """What a span holds; lines count from 1, where the span begins."""

    span: Span
    lines: int
    records: int
    tables: int
    left_out: Tally


@dataclass(frozen=True, slots=True)
class DwtcPart:
    """Records of a shard."""

    source: str
    span: Span
    lines_before: int
    tables_before: int
    rejects: tuple[Reject, ...] = ()
    """Those of the whole file, which its last part reports."""
    continues: bool = False

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the tables, and records that are none."""
        reading = Reading(self.source, limits, self.tables_before)
        for line, record in numbered_lines(piece(stream, self.span.start, self.span.stop), self.lines_before):
            yield from reading.record(line, record)
        yield from self.rejects


@dataclass(frozen=True, slots=True)
class DwtcCutting:
    """A shard that is cut."""

    source: str
    limits: Limits
    spans: tuple[Span, ...]

    def look(self, stream: BinaryIO, span: Span) -> DwtcLook:
        """Count lines and tables."""
        reading = Reading(self.source, self.limits)
        line = 0
        for line, record in numbered_lines(piece(stream, span.start, span.stop)):
            for _ in reading.record(line, record):
                pass
        return DwtcLook(span, line, reading.records, reading.tables, reading.left_out)

    def settle(self, looks: Sequence[DwtcLook]) -> Parts:
        """Number lines and tables."""
        parts: list[DwtcPart] = []
        left_out = Tally(self.source, "record")
        lines = tables = 0
        for look in looks:
            parts.append(DwtcPart(self.source, look.span, lines, tables))
            left_out.merge(look.left_out, lines)
            lines += look.lines
            tables += look.tables
        if not any(look.records for look in looks):
            return WHOLE
        parts[-1] = replace(parts[-1], rejects=tuple(left_out.rejects()))
        return Parts(parts, tables)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> DwtcCutting | None:
    """Choose where to cut; None if the shard is to be read whole."""
    if compression_of(stream.read(10)):
        return None
    end = stream.seek(0, io.SEEK_END)
    places = [0, *(line_start(stream, at) for at in even_cuts(0, end, size)), end]
    return DwtcCutting(source, limits, tuple(spans_between(places)))
