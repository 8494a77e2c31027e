"""A synthetic lake as files, to try things on."""

from __future__ import annotations

from itertools import chain, groupby
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from pyarrow.csv import CSVWriter
from pyarrow.parquet import ParquetWriter

from mate.build.engine import NoProgress, Progress
from mate.corpus import Chunk
from mate.corpus.synthetic import SyntheticLake
from mate.errors import CorpusError
from mate.files import replacing

WRITERS = {"csv": CSVWriter, "parquet": ParquetWriter}


class WrittenLake(NamedTuple):
    """How much was written."""

    tables: int
    cells: int


def write_synthetic(
    folder: str | PathLike[str],
    format: str = "csv",
    *,
    force: bool = False,
    progress: Progress | None = None,
    **settings: float,
) -> WrittenLake:
    """Write a synthetic lake, one file per table; the same settings always give the same files.

    The settings are tables, seed, rows, columns, vocabulary, skew, joinable, near_misses. `force` writes into a folder
    that holds files.

    >>> mate.write_synthetic("made-up", tables=3, rows=10, seed=7).tables
    3
    """
    if format not in WRITERS:
        raise CorpusError(f'a made-up lake is written as csv or parquet, not "{format}"')
    lake = SyntheticLake(**settings)  # type: ignore[arg-type]
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        if not force and any(target.iterdir()):
            raise CorpusError(f"{target} is not empty; name another folder, or add --force to write into it")
        return WrittenLake(lake.tables, _write(lake, target, format, progress or NoProgress()))
    except OSError as error:
        raise CorpusError(f"{error.filename or target}: {error.strerror or error}") from error


def _write(lake: SyntheticLake, folder: Path, format: str, progress: Progress) -> int:
    """Write one file per table, each under its name only when it is complete; return the number of cells."""
    cells = 0
    progress.start("write tables", lake.tables)
    tables = groupby(lake.read(0, lake.tables), key=lambda chunk: chunk.table.position)
    for number, (position, chunks) in enumerate(tables, start=1):
        batches = map(_record_batch, chunks)
        first = next(batches)
        path = folder / f"synthetic-{position:06d}.{format}"
        with replacing(path) as stream, WRITERS[format](stream, first.schema) as writer:
            for batch in chain([first], batches):
                writer.write_batch(batch)
                cells += batch.num_rows * batch.num_columns
        progress.update(number, cells=cells)
    return cells


def _record_batch(chunk: Chunk) -> pa.RecordBatch:
    header = list(chunk.table.header)
    return pa.record_batch([chunk.cells[column :: len(header)] for column in range(len(header))], names=header)
