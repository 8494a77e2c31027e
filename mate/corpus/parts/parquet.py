"""A Parquet file in parts of whole row groups."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import BinaryIO

import pyarrow.parquet as pq

from mate.corpus import parquet
from mate.corpus.arrow_text import may_be_whole
from mate.corpus.parquet import CorruptError, RowGroupCheck
from mate.corpus.parts.base import Cutting, Part, Parts, Span, changed, with_rejects
from mate.corpus.table import Chunk, Limits, Reject
from mate.errors import CorpusError


@dataclass(frozen=True)
class ParquetCutting(Cutting):
    """A Parquet file that is cut."""

    rows: int
    """Rows that its metadata announce."""

    def look(self, stream: BinaryIO, span: Span) -> tuple[Span, RowGroupCheck]:
        """Decode everything once: damage in one row group ends the table there."""
        try:
            file, _ = parquet.open_file(self.source, stream, self.limits)
        except CorpusError as error:
            return span, RowGroupCheck(0, str(error), {})
        return span, parquet.check(file, range(span.start, span.stop), self.limits)

    def settle(self, looks: Sequence[tuple[Span, RowGroupCheck]]) -> Parts:
        """Number the rows up to the limit or the first damage."""
        parts: list[Part] = []
        rows = 0
        whole = frozenset(looks[0][1].whole_until)
        for span, found in looks:
            taken = min(found.rows, self.limits.rows - rows)
            if taken:
                parts.append(self.part(span, first_row=rows, rows=taken))
                whole &= {place for place, row in found.whole_until.items() if row >= taken}
            rows += taken
            if found.damage and rows < self.limits.rows:
                rejects = [parquet.corrupt(self.source, rows, found.damage)]
                break
        else:
            rejects = list(parquet.missing_rows(self.source, self.limits, self.rows, rows))
        return with_rejects([replace(part, whole_columns=whole) for part in parts], rejects, 1, rows)

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        groups, row = range(part.span.start, part.span.stop), part.first_row
        try:
            file, table = parquet.open_file(self.source, stream, limits)
            kinds = file.schema_arrow.types
            if not all(place < len(kinds) and may_be_whole(kinds[place]) for place in part.whole_columns):
                raise CorpusError(changed(self.source))
            for batch in parquet.batches(file, groups, replace(limits, rows=part.rows or 0)):
                yield from parquet.chunks(table, row, batch, part.whole_columns)
                row += len(batch)
        except (CorpusError, CorruptError) as error:
            raise CorpusError(changed(self.source)) from error


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> ParquetCutting | None:
    """Group row groups to parts of about `size` bytes; None if there is no table in the file."""
    try:
        file, _ = parquet.open_file(source, stream, limits)
    except CorpusError:
        return None
    spans = _spans(file.metadata, stream.seek(0, io.SEEK_END), size)
    return ParquetCutting(source, limits, tuple(spans), file.metadata.num_rows)


def _spans(metadata: pq.FileMetaData, length: int, size: int) -> Iterator[Span]:
    """Yield groups of row groups that take about `size` bytes of a file of some length.

    The file is taken to be packed evenly. The packed sizes of its columns would be exact, but to ask for them ends the
    process if they contradict the schema.
    """
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    size = size * sum(sizes) // max(1, length)  # these are sizes of unpacked data
    start, filled = 0, 0
    for group, ends in enumerate(accumulate(sizes)):
        if ends - filled >= size:
            yield Span(start, group + 1)
            start, filled = group + 1, ends
    if start < len(sizes):
        yield Span(start, len(sizes))
