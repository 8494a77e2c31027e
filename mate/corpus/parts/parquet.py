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
from mate.corpus.parts.base import Cutting, Part, Parts, Span, changed
from mate.corpus.table import Chunk, Limits, Reject, rows_beyond
from mate.errors import CorpusError


@dataclass(frozen=True)
class ParquetCutting(Cutting):
    """A Parquet file that is cut."""

    rows: int
    """Rows that its metadata announce."""
    whole_columns: frozenset[int] = frozenset()
    """Places of the columns that are written as whole numbers or dates: the same in all parts."""

    def look(self, stream: BinaryIO, span: Span) -> tuple[Span, RowGroupCheck]:
        """Decode everything once, for damage and for how columns are written."""
        try:
            file, _ = parquet.open_file(self.source, stream, self.limits)
        except CorpusError:
            return span, RowGroupCheck(0, True, frozenset())
        return span, parquet.check(file, range(*span))

    def settle(self, looks: Sequence[tuple[Span, RowGroupCheck]]) -> Parts:
        """Number the rows up to the limit; a damaged file is read whole."""
        rows = sum(check.rows for _, check in looks)
        if rows != self.rows or any(check.damaged for _, check in looks):
            return Parts(())
        cutting = replace(self, whole_columns=frozenset.intersection(*(check.whole for _, check in looks)))
        parts, beyond = cutting.table_parts((span, check.rows) for span, check in looks)
        return Parts.of(parts, rows_beyond(self.source, self.limits, beyond))

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        row = part.first_row
        try:
            file, table = parquet.open_file(self.source, stream, limits)
            kinds = file.schema_arrow.types
            if not all(place < len(kinds) and may_be_whole(kinds[place]) for place in self.whole_columns):
                raise CorpusError(changed(self.source))
            for batch in parquet.batches(file, range(*part.span), limits):
                yield from parquet.chunks(table, row, batch, self.whole_columns)
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
        if ends - filled >= size or group == len(sizes) - 1:
            yield Span(start, group + 1)
            start, filled = group + 1, ends
