"""A Parquet file in parts of whole row groups."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import BinaryIO

import pyarrow.parquet as pq

from mate.corpus.parts.base import WHOLE, Parts, Span, changed
from mate.corpus.records import (
    CorruptError,
    Look,
    look_at,
    open_parquet,
    parquet_batches,
    parquet_chunks,
    rows_left_out,
)
from mate.corpus.table import Chunk, Limits, Reject
from mate.corpus.whole_values import may_be_whole
from mate.errors import CorpusError


@dataclass(frozen=True, slots=True)
class ParquetLook:
    """A span, and what a first look at it found."""

    span: Span
    found: Look


@dataclass(frozen=True, slots=True)
class ParquetPart:
    """Row groups of a Parquet file."""

    source: str
    span: Span
    first_row: int
    rows: int
    whole: frozenset[int] = frozenset()
    """Columns, by place, that are written as whole numbers or dates: the same ones in all parts."""
    rejects: tuple[Reject, ...] = ()
    """Those of the whole file, which its last part reports."""

    @property
    def continues(self) -> bool:
        """Whether rows stand before."""
        return self.first_row > 0

    def read(self, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows that were counted."""
        given = 0
        try:
            file, table = open_parquet(self.source, stream, limits)
            kinds = file.schema_arrow.types
            if not all(place < len(kinds) and may_be_whole(kinds[place]) for place in self.whole):
                raise CorpusError(changed(self.source))
            allowed = replace(limits, rows=self.rows)
            for batch in parquet_batches(file, range(self.span.start, self.span.stop), allowed):
                yield from parquet_chunks(table, self.first_row + given, batch, self.whole)
                given += len(batch)
        except (CorpusError, CorruptError) as error:
            raise CorpusError(changed(self.source)) from error
        if given < self.rows:
            raise CorpusError(changed(self.source))
        yield from self.rejects


@dataclass(frozen=True, slots=True)
class ParquetCutting:
    """A Parquet file that is cut."""

    source: str
    limits: Limits
    spans: tuple[Span, ...]
    rows: int
    """Rows that it says it has."""

    def look(self, stream: BinaryIO, span: Span) -> ParquetLook:
        """Decode everything once: damage in one row group ends the table there."""
        try:
            file, _ = open_parquet(self.source, stream, self.limits)
        except CorpusError as error:
            return ParquetLook(span, Look(0, str(error), {}))
        return ParquetLook(span, look_at(file, range(span.start, span.stop), self.limits))

    def settle(self, looks: Sequence[ParquetLook]) -> Parts:
        """Number the rows up to the limit or the first damage."""
        parts: list[ParquetPart] = []
        given = 0
        whole = frozenset(looks[0].found.fractions)
        rejects: tuple[Reject, ...] = ()
        for span, found in ((look.span, look.found) for look in looks):
            taken = min(found.rows, self.limits.rows - given)
            if taken:
                parts.append(ParquetPart(self.source, span, given, taken))
                whole &= {place for place, first in found.fractions.items() if first >= taken}
            given += taken
            if found.damage and given < self.limits.rows:
                reason = f"corrupt Parquet data after {given} rows: {found.damage}"
                rejects = (Reject(self.source, None, "file", reason),)
                break
        else:
            rejects = tuple(rows_left_out(self.source, self.limits, self.rows, given))
        if not parts:
            return WHOLE
        parts = [replace(part, whole=whole) for part in parts]
        parts[-1] = replace(parts[-1], rejects=rejects)
        return Parts(parts, tables=1, rows=given)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> ParquetCutting | None:
    """Put row groups together to parts of some size; None if there is no table in the file."""
    try:
        file, _ = open_parquet(source, stream, limits)
    except CorpusError:
        return None
    spans = _spans(file.metadata, stream.seek(0, io.SEEK_END), size)
    return ParquetCutting(source, limits, tuple(spans), file.metadata.num_rows)


def _spans(metadata: pq.FileMetaData, length: int, size: int) -> Iterator[Span]:
    """Yield row groups that take about as many bytes of a file of some length.

    The file is taken to be packed evenly: sizes of packed column chunks are not asked for, since that ends the process
    where they contradict the schema.
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
