"""A made-up lake written as files, to try things on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mate.errors import CorpusError, did_you_mean
from mate.files import replacing

if TYPE_CHECKING:
    import pyarrow as pa

    from mate.build.progress import Progress
    from mate.corpus import Chunk
    from mate.corpus.synthetic import SyntheticLake


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
    """Write a made-up lake, one file per table; the same settings always give the same files.

    Settings are those of a synthetic lake: tables, seed, rows, columns, vocabulary, skew, joinable, near_misses.
    `force` writes into a folder that holds files.

    >>> import mate
    >>> mate.write_synthetic("made-up", tables=3, rows=10, seed=7).tables
    3
    """
    from mate.build.progress import Silent
    from mate.corpus.synthetic import SyntheticLake

    if format not in ("csv", "parquet"):
        raise CorpusError(f'a made-up lake is written as csv or parquet, not "{format}"')
    known = [name for name in SyntheticLake.__dataclass_fields__ if not name.startswith("_")]
    for name, value in settings.items():
        if name not in known:
            raise CorpusError(f'a made-up lake has no setting "{name}"; {did_you_mean(name, known)}')
        whole = isinstance(getattr(SyntheticLake, name), int)
        if isinstance(value, bool) or not isinstance(value, int if whole else int | float):
            raise CorpusError(f"{name} of a made-up lake is a {'whole ' if whole else ''}number, not {value!r}")
    lake = SyntheticLake(**settings)  # type: ignore[arg-type]
    target = Path(folder)
    try:
        _prepare(target, force=force)
        cells = _write(lake, target, format, progress or Silent())
    except OSError as error:
        raise CorpusError(f"{error.filename or target}: {error.strerror or error}") from error
    return WrittenLake(lake.tables, cells)


def _prepare(folder: Path, *, force: bool) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if not force and any(folder.iterdir()):
        raise CorpusError(f"{folder} is not empty; name another folder, or add --force to write into it")


def _write(lake: SyntheticLake, folder: Path, format: str, progress: Progress) -> int:
    """Write one file per table, each under its final name only when complete; return the number of cells."""
    written = 0
    progress.start("write tables", lake.tables)
    for number, chunks in enumerate(_tables(lake.read(0, lake.tables)), start=1):
        first = next(chunks)
        path = folder / f"synthetic-{first.table.position:06d}.{format}"
        batch = _record_batch(first)
        written += len(first.cells)
        with replacing(path) as stream, _writer(stream, batch.schema, format) as writer:
            writer.write_batch(batch)
            for chunk in chunks:
                writer.write_batch(_record_batch(chunk))
                written += len(chunk.cells)
        progress.update(number, cells=written)
    return written


def _tables(chunks: Iterable[Chunk]) -> Iterator[Iterator[Chunk]]:
    for _, group in groupby(chunks, key=lambda chunk: chunk.table.position):
        yield group


def _record_batch(chunk: Chunk) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    header = chunk.table.header
    places = np.arange(chunk.rows) * len(header)
    columns = [chunk.cells.take(pa.array(places + column)) for column in range(len(header))]
    return pa.record_batch(columns, names=list(header))


def _writer(stream: Any, schema: pa.Schema, format: str) -> Any:
    if format == "parquet":
        from pyarrow.parquet import ParquetWriter

        return ParquetWriter(stream, schema)
    from pyarrow.csv import CSVWriter

    return CSVWriter(stream, schema)
