"""JSON records, one per line, in parts: together they are one table, whose columns are known when all were seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import BinaryIO

from mate.corpus import json_records
from mate.corpus.compression import compression_of
from mate.corpus.json_lines import numbered_lines
from mate.corpus.json_records import RecordKeys, is_record, line_record
from mate.corpus.parts.base import WHOLE, Cutting, Part, Parts, Span, with_rejects
from mate.corpus.parts.lines import line_spans, piece
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts


@dataclass(frozen=True, slots=True)
class JsonLook:
    """What a span has; lines count from 1, where the span begins."""

    span: Span
    lines: int
    keys: RecordKeys


@dataclass(frozen=True)
class JsonCutting(Cutting):
    """A file of JSON records that is cut."""

    header: tuple[str, ...] = ()
    """The columns, once they are known."""

    def look(self, stream: BinaryIO, span: Span) -> JsonLook:
        """Collect keys, count lines and records."""
        keys = RecordKeys(self.source, self.limits.columns)
        lines = 0
        for lines, line in numbered_lines(piece(stream, span)):
            if is_record(line):
                keys.add(lines, line_record(line))
        return JsonLook(span, lines, keys)

    def settle(self, looks: Sequence[JsonLook]) -> Parts:
        """Join the keys and number the rows."""
        header = tuple(dict.fromkeys(key for look in looks for key in look.keys.names))
        if not header or len(header) > self.limits.columns:
            return WHOLE
        cutting = JsonCutting(self.source, self.limits, (), header)
        bad = RejectCounts(self.source, "record")
        parts: list[Part] = []
        rows = beyond = lines = 0
        for look in looks:
            found = look.keys.rows(len(header), bad, lines)
            taken = min(found, self.limits.rows - rows)
            if taken:
                parts.append(cutting.part(look.span, first_row=rows, rows=taken))
            bad.merge(look.keys.bad, lines)
            rows, beyond, lines = rows + taken, beyond + found - taken, lines + look.lines
        rejects = (*json_records.rows_beyond(self.source, self.limits, beyond), *bad.rejects())
        return with_rejects(parts, rejects, 1, rows)

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        records = json_records.line_records(numbered_lines(piece(stream, part.span)))
        rows = islice(json_records.rows_of(records, self.header), part.rows)
        return json_records.chunks(self.source, self.header, rows, limits, part.first_row)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> JsonCutting | None:
    """Choose where to cut; None if the file is one array, or compressed, and is to be read whole."""
    head = stream.read(json_records.BLOCK)
    if compression_of(head) or json_records.is_array(head):
        return None
    return JsonCutting(source, limits, line_spans(stream, size))
