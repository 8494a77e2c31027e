"""Files of one JSON record per line in parts: shards of web tables, whose tables are numbered, and rows of one table.

A look at a span has the span, its number of lines, and what was seen in them; lines count from 1, where it begins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO, TypeAlias

from mate.corpus import json_records
from mate.corpus.compression import compression_of
from mate.corpus.dwtc import ShardReader
from mate.corpus.json_lines import numbered_lines
from mate.corpus.json_records import RecordKeys, line_records
from mate.corpus.parts.base import Cutting, Part, Parts, Span
from mate.corpus.parts.lines import line_spans, piece
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, rows_beyond

ShardLook: TypeAlias = tuple[Span, int, ShardReader]
JsonLook: TypeAlias = tuple[Span, int, RecordKeys]


class ShardCutting(Cutting):
    """A shard of web tables that is cut."""

    def look(self, stream: BinaryIO, span: Span) -> ShardLook:
        """Count lines, records and tables."""
        reader = ShardReader(self.source, self.limits)
        number = 0
        for number, line in numbered_lines(piece(stream, *span)):
            for _ in reader.record(number, line):
                pass
        return span, number, reader

    def settle(self, looks: Sequence[ShardLook]) -> Parts:
        """Number lines and tables."""
        layout_tables = RejectCounts(self.source, "record")
        parts: list[Part] = []
        lines = tables = 0
        for span, line_count, reader in looks:
            parts.append(self.part(span, lines_before=lines, tables_before=tables))
            layout_tables.merge(reader.layout_tables, lines)
            lines += line_count
            tables += reader.tables
        has_records = any(reader.records for _, _, reader in looks)
        return Parts.of(parts if has_records else [], layout_tables.rejects(), tables)

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the tables, and a reject for each record that is none."""
        reader = ShardReader(self.source, limits, part.tables_before)
        for number, line in numbered_lines(piece(stream, *part.span), part.lines_before):
            yield from reader.record(number, line)


@dataclass(frozen=True)
class JsonCutting(Cutting):
    """A file of JSON records that is cut: one table, whose columns are known when all records were seen."""

    header: tuple[str, ...] = ()

    def look(self, stream: BinaryIO, span: Span) -> JsonLook:
        """Collect keys, count lines and records."""
        keys = RecordKeys(self.source, self.limits.columns)
        number = 0
        for number, record in line_records(piece(stream, *span)):
            keys.add(number, record)
        return span, number, keys

    def settle(self, looks: Sequence[JsonLook]) -> Parts:
        """Join the keys and number the rows."""
        header = tuple(dict.fromkeys(name for _, _, keys in looks for name in keys.names))
        if not header or len(header) > self.limits.columns:
            return Parts(())
        bad = RejectCounts(self.source, "record")
        counts: list[tuple[Span, int]] = []
        lines = 0
        for span, line_count, keys in looks:
            counts.append((span, keys.rows(len(header), bad, lines)))
            bad.merge(keys.bad, lines)
            lines += line_count
        parts, beyond = replace(self, header=header).table_parts(counts)
        return Parts.of(parts, [*rows_beyond(self.source, self.limits, beyond), *bad.rejects()])

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        records = line_records(piece(stream, *part.span))
        rows = islice(json_records.rows_of(records, self.header), limits.rows)
        return json_records.chunks(self.source, self.header, rows, limits, part.first_row)


def cut_shard(source: str, stream: BinaryIO, limits: Limits, size: int) -> ShardCutting | None:
    """Choose where to cut; None if the shard is compressed."""
    return None if compression_of(stream.read(10)) else ShardCutting(source, limits, line_spans(stream, size))


def cut_json(source: str, stream: BinaryIO, limits: Limits, size: int) -> JsonCutting | None:
    """Choose where to cut; None if the file is one array, or compressed."""
    head = stream.read(json_records.BLOCK)
    if compression_of(head) or json_records.is_array(head):
        return None
    return JsonCutting(source, limits, line_spans(stream, size))
