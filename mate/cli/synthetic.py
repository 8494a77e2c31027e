"""`mate synthetic`: write a made-up lake as files, to try things on."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from mate.cli import Commands
    from mate.corpus import Chunk
    from mate.corpus.synthetic import SyntheticLake

EPILOG = """\
examples:
  mate synthetic lake                               1,000 CSV files in the folder lake
  mate synthetic lake --tables 50 --rows 100 --seed 7
  mate synthetic lake --tables 5000 --format parquet --skew 1.2 --near-misses 0.8
"""

SETTINGS = (
    ("tables", int, "N", "number of tables (default: 1000)"),
    ("seed", int, "S", "another seed gives other tables (default: 1)"),
    ("rows", int, "N", "mean rows of a table (default: 1000)"),
    ("columns", int, "N", "mean columns of a table (default: 9)"),
    ("vocabulary", int, "N", "distinct names, places, words and phrases (default: 200000)"),
    ("skew", float, "X", "exponent of the power law of value frequencies (default: 1.0)"),
    ("joinable", float, "X", "share of tables with a composite key that others have too (default: 0.3)"),
    ("near-misses", float, "X", "share of their rows that match on one key column only (default: 0.5)"),
)


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "synthetic",
        help="write a made-up lake of tables as files",
        description="Write a made-up lake, one file a table: values follow a power law, some tables join on composite\n"
        "keys, and many rows match such a key on one column only. The same settings always give the same files.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write; made if it does not exist")
    for name, kind, metavar, text in SETTINGS:
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="file format (default: csv)")
    parser.add_argument(
        "--force", action="store_true", help="write into a folder that holds files; those of the same name are replaced"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, then say how many."""
    from mate.cli.terminal import console
    from mate.corpus.synthetic import SyntheticLake
    from mate.errors import CorpusError

    given = {name.replace("-", "_"): getattr(options, name.replace("-", "_")) for name, *_ in SETTINGS}
    lake = SyntheticLake(**{name: value for name, value in given.items() if value is not None})
    try:
        _prepare(options.folder, options.force)
        cells = _write(lake, options.folder, options.format)
    except OSError as error:
        raise CorpusError(f"{error.filename or options.folder}: {error.strerror or error}") from error
    console().print(f"{lake.tables:,} tables, {cells:,} cells in {options.folder}", markup=False, soft_wrap=True)
    return 0


def _prepare(folder: Path, force: bool) -> None:
    from mate.errors import CorpusError

    folder.mkdir(parents=True, exist_ok=True)
    if not force and any(folder.iterdir()):
        raise CorpusError(f"{folder} is not empty; name another folder, or add --force to write into it")


def _write(lake: SyntheticLake, folder: Path, format: str) -> int:
    """Write one file a table, each under its final name only when complete; return the number of cells."""
    written = 0
    for chunks in _tables(_with_progress(lake)):
        first = next(chunks)
        path = folder / f"synthetic-{first.table.position:06d}.{format}"
        part = folder / f".{path.name}.part"
        batch = _record_batch(first)
        written += len(first.cells)
        with part.open("wb") as stream, _writer(stream, batch.schema, format) as writer:
            writer.write_batch(batch)
            for chunk in chunks:
                writer.write_batch(_record_batch(chunk))
                written += len(chunk.cells)
        part.replace(path)
    return written


def _tables(chunks: Iterable[Chunk]) -> Iterator[Iterator[Chunk]]:
    from itertools import groupby

    for _, group in groupby(chunks, key=lambda chunk: chunk.table.position):
        yield group


def _with_progress(lake: SyntheticLake) -> Iterator[Chunk]:
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    from mate.cli.terminal import console

    screen = console(stderr=True)
    layout = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn()
    with Progress(*layout, console=screen, transient=True, disable=not screen.is_terminal) as progress:
        task = progress.add_task("writing tables", total=lake.expected_cells)
        for chunk in lake.read(0, lake.tables):
            yield chunk
            progress.advance(task, len(chunk.cells))


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
