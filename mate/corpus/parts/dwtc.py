"""A shard of web tables in parts: records are independent of each other, only their numbers are not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from mate.corpus.compression import compression_of
from mate.corpus.dwtc import ShardReader
from mate.corpus.json_lines import numbered_lines
from mate.corpus.parts.base import WHOLE, Cutting, Part, Parts, Span, with_rejects
from mate.corpus.parts.lines import line_spans, piece
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts


@dataclass(frozen=True, slots=True)
class DwtcLook:
    """What a span has; lines count from 1, where the span begins."""

    span: Span
    lines: int
    records: int
    tables: int
    layout_tables: RejectCounts


class DwtcCutting(Cutting):
    """A shard that is cut."""

    def look(self, stream: BinaryIO, span: Span) -> DwtcLook:
        """Count lines, records and tables."""
        reader = ShardReader(self.source, self.limits)
        line = 0
        for line, record in numbered_lines(piece(stream, span)):
            for _ in reader.record(line, record):
                pass
        return DwtcLook(span, line, reader.records, reader.tables, reader.layout_tables)

    def settle(self, looks: Sequence[DwtcLook]) -> Parts:
        """Number lines and tables."""
        layout_tables = RejectCounts(self.source, "record")
        parts: list[Part] = []
        lines = tables = 0
        for look in looks:
            parts.append(self.part(look.span, lines_before=lines, tables_before=tables))
            layout_tables.merge(look.layout_tables, lines)
            lines += look.lines
            tables += look.tables
        if not any(look.records for look in looks):
            return WHOLE
        return with_rejects(parts, list(layout_tables.rejects()), tables)

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the tables, and a reject for each record that is none."""
        reader = ShardReader(self.source, limits, part.tables_before)
        for line, record in numbered_lines(piece(stream, part.span), part.lines_before):
            yield from reader.record(line, record)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> DwtcCutting | None:
    """Choose where to cut; None if the shard is to be read whole."""
    if compression_of(stream.read(10)):
        return None
    return DwtcCutting(source, limits, line_spans(stream, size))
