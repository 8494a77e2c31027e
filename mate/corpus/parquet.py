"""Parquet files: tables that bring their column names and types with them."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from mate.corpus.arrow_text import as_text, as_whole, may_be_whole
from mate.corpus.compression import unpacked_name
from mate.corpus.lines import Span
from mate.corpus.parts import Cutting, Look, Part, Parts
from mate.corpus.rows import CHARACTERS
from mate.corpus.table import Chunk, Limits, Reject, RejectCounts, Table, check_width, rows_beyond
from mate.display import visible
from mate.errors import CorpusError

LISTED_VALUES = 5_000_000
LISTED_PER_BYTE = 20
"""Values in lists that a Parquet file may have in any case, and how many more for each of its bytes."""


class CorruptError(Exception):
    """Data of a Parquet file that cannot be decoded."""


def read(source: str, stream: BinaryIO, limits: Limits) -> Iterator[Chunk | Reject]:
    """Yield the table of a Parquet file, a batch of a row group at a time."""
    file, table = open_file(source, stream, limits)
    groups, announced, rows = range(file.num_row_groups), file.metadata.num_rows, 0
    whole = check(file, groups)[1] if any(map(may_be_whole, file.schema_arrow.types)) else frozenset()
    try:
        for chunk in chunks(file, table, groups, limits, whole):
            yield chunk
            rows += chunk.rows
        if rows == limits.rows:
            yield from rows_beyond(source, limits, announced - rows)
        elif rows != announced:
            raise CorruptError(f"there should be {announced}")
    except CorruptError as error:
        raise CorpusError(f"corrupt Parquet data after {rows} rows: {error}") from error


def open_file(source: str, stream: BinaryIO, limits: Limits) -> tuple[pq.ParquetFile, Table]:
    """Return a Parquet file and its table, if it has one that can be read without ending the process."""
    try:
        file = pq.ParquetFile(stream)
        names = file.schema_arrow.names
        for kind in file.schema_arrow.types:
            _read_time_zones(kind)
        if not names or not file.metadata.num_rows:
            raise CorpusError("no data rows" if names else "no columns")
        check_width(len(names), limits)
        listed = _columns_with_lists(file.metadata)
        for group in range(file.metadata.num_row_groups) if listed else ():
            # Reading a row fails if the metadata of lists contradict the schema; to ask for them ends the process.
            next(file.reader.iter_batches(0, [group], listed), None)
    except UnicodeDecodeError as error:
        raise CorpusError("not a readable Parquet file: the name of a column or time zone is not UTF-8") from error
    except MemoryError:  # Arrow's own is one of its errors as well, and says nothing of the file
        raise
    except (pa.ArrowException, OSError) as error:
        raise CorpusError(f"not a readable Parquet file: {_first_line(error)}") from error
    values, size = _listed_values(file.metadata), stream.seek(0, io.SEEK_END)
    if values > LISTED_VALUES + LISTED_PER_BYTE * size:
        raise CorpusError(f"{values:,} values in lists, too many for a file of {size:,} bytes")
    return file, Table(source, 0, 1, unpacked_name(source).stem, tuple(names))


def _read_time_zones(kind: pa.DataType) -> None:
    """Read the time zones of a type and of those inside it, here, where it may fail."""
    if pa.types.is_timestamp(kind):
        kind.tz  # noqa: B018
    elif pa.types.is_dictionary(kind):
        _read_time_zones(kind.value_type)
    for place in range(kind.num_fields):
        _read_time_zones(kind.field(place).type)


def _listed_values(metadata: pq.FileMetaData) -> int:
    """Count the values that are in lists; a list of a million equal ones takes some bytes."""
    listed = _columns_with_lists(metadata)
    return sum(metadata.row_group(n).column(p).num_values for n in range(metadata.num_row_groups) for p in listed)


def _columns_with_lists(metadata: pq.FileMetaData) -> list[int]:
    return [place for place in range(metadata.num_columns) if metadata.schema.column(place).max_repetition_level]


def batches(file: pq.ParquetFile, groups: Sequence[int], limits: Limits) -> Iterator[pa.RecordBatch]:
    """Yield row groups, so many rows at a time, up to the limit of rows.

    A batch ends where its row group does, so that what is read before damaged data is the same whichever row groups
    are read together.
    """
    values = max(len(file.schema_arrow), _listed_values(file.metadata) // max(1, file.metadata.num_rows))
    size = max(1, limits.chunk_cells // values)
    left = limits.rows
    try:
        for group in groups:
            for batch in file.iter_batches(size, [group]):
                yield batch.slice(0, left)
                left -= len(batch)
                if left <= 0:
                    return
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise CorruptError(_first_line(error)) from error


def check(file: pq.ParquetFile, groups: Sequence[int]) -> tuple[int, frozenset[int], bool]:
    """Decode row groups once, since all values decide how a column is written, and damage in one ends the table.

    Return the rows that can be read, the places of the columns of whole numbers or dates, and whether there is damage.
    """
    rows, damaged = 0, False
    whole = frozenset(place for place, kind in enumerate(file.schema_arrow.types) if may_be_whole(kind))
    try:
        for batch in batches(file, groups, Limits(rows=sys.maxsize)):
            whole = frozenset(place for place in whole if as_whole(batch.column(place)) is not None)
            rows += len(batch)
    except CorruptError:
        damaged = True
    return rows, whole, damaged


def chunks(
    file: pq.ParquetFile, table: Table, groups: Sequence[int], limits: Limits, whole: Set[int], first_row: int = 0
) -> Iterator[Chunk]:
    """Yield row groups as text, row by row, some columns as whole values."""
    for batch in batches(file, groups, limits):
        for rows in _pieces(batch):
            columns = [as_whole(column) if place in whole else column for place, column in enumerate(rows.columns)]
            row_major = np.arange(len(rows) * len(columns)).reshape(len(columns), len(rows)).T.ravel()
            yield Chunk(table, first_row, pa.concat_arrays(map(as_text, columns)).take(pa.array(row_major)))
            first_row += len(rows)


def _pieces(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Halve a batch until its text is not too long."""
    if len(batch) > 1 and sum(map(_text_bytes, batch.columns)) > CHARACTERS:
        yield from _pieces(batch.slice(0, len(batch) // 2))
        yield from _pieces(batch.slice(len(batch) // 2))
    elif len(batch):
        yield batch


def _text_bytes(column: pa.Array) -> int:
    """Estimate the text of a column: numbers are short, the rest is as long as it is in memory.

    A value of a dictionary is in the text as often as it is referred to.
    """
    kind = column.type
    if isinstance(column, pa.ExtensionArray):
        return _text_bytes(column.storage)
    if pa.types.is_dictionary(kind):
        words = column.dictionary
        if kind.value_type in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary()):
            lengths = pc.binary_length(words).cast(pa.int64())
            return int(pc.sum(lengths.take(column.indices)).as_py() or 0)
        return int(column.indices.nbytes) + len(column) * int(words.nbytes) // max(1, len(words))
    if pa.types.is_struct(kind):
        return sum(map(_text_bytes, column.flatten()))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return int(column.nbytes) + _text_bytes(column.flatten())
    return int(column.nbytes)


def _first_line(error: Exception) -> str:
    return visible(str(error).strip().splitlines()[0].rstrip("."))


@dataclass(frozen=True)
class ParquetCutting(Cutting):
    """A Parquet file that is cut into parts of whole row groups."""

    rows: int
    """Rows that its metadata announce."""
    whole: frozenset[int] = frozenset()
    """Places of the columns that are written as whole numbers or dates: the same in all parts."""

    def look(self, stream: BinaryIO, span: Span) -> Look:
        """Decode everything once, for damage and for how columns are written."""
        file, _ = open_file(self.source, stream, self.limits)
        rows, whole, damaged = check(file, range(*span))
        return Look(span, RejectCounts(self.source, "row"), rows=rows, more=None if damaged else whole)

    def settle(self, looks: Sequence[Look]) -> Parts:
        """Number the rows up to the limit; a damaged file is read whole."""
        if any(look.more is None for look in looks) or sum(look.rows or 0 for look in looks) != self.rows:
            return Parts(())
        cutting = replace(self, whole=frozenset.intersection(*(look.more for look in looks)))
        return cutting.parts(looks, RejectCounts(self.source, "row"))

    def read(self, stream: BinaryIO, part: Part, limits: Limits) -> Iterator[Chunk | Reject]:
        """Yield the rows."""
        file, table = open_file(self.source, stream, limits)
        return chunks(file, table, range(*part.span), limits, self.whole, part.first_row)


def cut(source: str, stream: BinaryIO, limits: Limits, size: int) -> ParquetCutting:
    """Group row groups to parts of about `size` bytes.

    The file is taken to be packed evenly. The packed sizes of its columns would be exact, but to ask for them ends the
    process if they contradict the schema.
    """
    file, _ = open_file(source, stream, limits)
    metadata = file.metadata
    ends = list(accumulate(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)))
    size = size * ends[-1] // max(1, stream.seek(0, io.SEEK_END))  # these are sizes of unpacked data
    spans: list[Span] = []
    start, filled = 0, 0
    for group, end in enumerate(ends, start=1):
        if end - filled >= size or group == len(ends):
            spans.append(Span(start, group))
            start, filled = group, end
    return ParquetCutting(source, limits, tuple(spans), metadata.num_rows)
