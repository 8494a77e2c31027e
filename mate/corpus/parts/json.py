"""JSON records, one per line, in parts: together they are one table, whose columns are known when all were seen."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import BinaryIO

from mate.corpus.compression import compression_of
from mate.corpus.dwtc import numbered_lines
from mate.corpus.parts.base import WHOLE, Parts, Span, changed, even_cuts, spans_between
from mate.corpus.parts.lines import line_start, piece
from mate.corpus.records import (
    BLOCK,
    Widths,
    beyond_limit,
    full_rows,
    is_array,
    json_chunks,
    json_rows,
    json_table,
    line_objects,
    union_of_keys,
)
from mate.corpus.table import Chunk, Limits, Reject, Table
from mate.corpus.tally import Tally
from mate.errors import CorpusError


@dataclass(frozen=True, slots=True)
class JsonLook:
    """What a span holds; lines count from 1, where the span begins."""

    span: Span
    lines: int
    widths: Widths
    keys: tuple[str, ...]
    bad: Tally


@dataclass(frozen=True, slots=True)
class JsonPart:
    """Rows of a file of JSON records."""

    table: Table
    span: Span
    first_row: int
    rows: int
    rejects: tuple[Reject, ...] = ()
    """Those of the whole file, which its last part reports."""

    @property
    def continues(self) -> bool:
        """Whether rows stand before."""
        return self.first_row > 0

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows that were counted."""
        lines = numbered_lines(piece(stream, self.span.start, self.span.stop))
        rows = islice(json_rows(line_objects(lines), self.table.header), self.rows)
        given = 0
        for chunk in json_chunks(self.table, rows, limits, self.first_row):
            yield chunk
            given += chunk.rows
        if given < self.rows:
            raise CorpusError(changed(self.table.source))
        yield from self.rejects


@dataclass(frozen=True, slots=True)
class JsonCutting:
    """A file of JSON records that is cut."""

    source: str
    limits: Limits
    spans: tuple[Span, ...]

    def look(self, stream: BinaryIO, span: Span) -> JsonLook:
        """Collect keys, count lines and records."""
        bad = Tally(self.source, "record")
        count = _Count()
        widths: Widths = {}
        lines = numbered_lines(piece(stream, span.start, span.stop))
        keys = union_of_keys(line_objects(count.lines_of(lines)), bad, widths)
        few = islice(keys, self.limits.columns + 1)  # one more than allowed says as much as all of them
        return JsonLook(span, count.lines, widths, tuple(few), bad)

    def settle(self, looks: Sequence[JsonLook]) -> Parts:
        """Join the keys and number the rows."""
        header = tuple(dict.fromkeys(key for look in looks for key in look.keys))
        if not header or len(header) > self.limits.columns:
            return WHOLE
        table = json_table(self.source, header)
        bad = Tally(self.source, "record")
        parts: list[JsonPart] = []
        given = beyond = lines = 0
        for look in looks:
            rows = full_rows(look.widths, len(header), bad, lines)
            taken = min(rows, self.limits.rows - given)
            if taken:
                parts.append(JsonPart(table, look.span, given, taken))
            bad.merge(look.bad, lines)
            given, beyond, lines = given + taken, beyond + rows - taken, lines + look.lines
        if not parts:
            return WHOLE
        rejects = (*beyond_limit(self.source, self.limits, beyond), *bad.rejects())
        parts[-1] = replace(parts[-1], rejects=rejects)
        return Parts(parts, tables=1, rows=given)


class _Count:
    """Counts the lines that go by."""

    def __init__(self) -> None:
        self.lines = 0

    def lines_of(self, lines: Iterator[tuple[int, bytes | None]]) -> Iterator[tuple[int, bytes | None]]:
        for self.lines, line in lines:
            yield self.lines, line


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> JsonCutting | None:
    """Choose where to cut; None if the file is one array, or compressed, and is to be read whole."""
    head = stream.read(BLOCK)
    if compression_of(head) or is_array(head):
        return None
    end = stream.seek(0, io.SEEK_END)
    places = [0, *(line_start(stream, at) for at in even_cuts(0, end, size)), end]
    return JsonCutting(source, limits, tuple(spans_between(places)))
