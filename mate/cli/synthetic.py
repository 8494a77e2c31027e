"""`mate synthetic`: write a synthetic lake as files, to try things on."""

from __future__ import annotations

import argparse
from pathlib import Path

import mate
from mate.cli import Commands
from mate.cli.terminal import ProgressBar, say

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
        help="write a synthetic lake of tables as files",
        description="Write a synthetic lake, one file per table: values follow a power law, some tables join on\n"
        "composite keys, and many rows match such a key on one column only. The same settings give the same files.",
        epilog=EPILOG,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write; created if it does not exist")
    for name, kind, metavar, text in SETTINGS:
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="file format (default: csv)")
    text = "write into a folder that contains files; those of the same name are replaced"
    parser.add_argument("--force", action="store_true", help=text)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the files, and print how many."""
    values = {name: getattr(options, name) for name in (name.replace("-", "_") for name, *_ in SETTINGS)}
    chosen = {name: value for name, value in values.items() if value is not None}
    with ProgressBar("write tables") as bar:
        written = mate.write_synthetic(options.folder, options.format, force=options.force, progress=bar, **chosen)
    say(f"{written.tables:,} tables, {written.cells:,} cells in {options.folder}")
    return 0
