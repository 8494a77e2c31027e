"""`mate index`: from files to an index; `synthetic`: files to try it with; `hashes` and `hash`: its hash functions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import mate
from mate.cli import Commands
from mate.cli.options import add_shared, add_spark, add_whole, chosen, whole
from mate.cli.stats import contents, show_overview
from mate.cli.terminal import ProgressBar, say, show, table

INDEX = """\
examples:
  mate index tables/ --store lake.mate
  mate index dwtc-000.json.gz dwtc-001.json.gz --store web.mate --bits 512
  mate index lake/ --store lake.mate --hash xash --hash bf:128:hashes=6
  mate index synthetic:tables=1000,seed=7 --store synthetic.mate
  mate index s3://bucket/tables --store s3://bucket/lake.mate     keys: AWS_ACCESS_KEY_ID, or a role
  mate index s/ --store 'vertica://dbadmin@host:5433/VMart?schema=mate'   password: VERTICA_PASSWORD
  mate index s/ --store lake.mate --master spark://host:7077 --spark spark.executor.memory=4g

An index is a folder of segments. They are built inside it and published at the end in one step: an index that already
exists is used until then, and stays as it is if the build fails or is stopped.
"""

SYNTHETIC = """\
examples:
  mate synthetic lake                               1,000 CSV files in the folder lake
  mate synthetic lake --tables 50 --rows 100 --seed 7
  mate synthetic lake --tables 5000 --format parquet --skew 1.2 --near-misses 0.8
"""

HASH = """\
examples:
  mate hash muhammad lee us                 three values and the super key of a row that holds them
  mate hash --hash bf:128:hashes=6 "new york"
  mate hash --hash xash:512:alpha=4 "new york"
  mate hash --hash fingerprint:16 muhammad lee us
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

MOST_SIZES = 7
"""A hash with more sizes than these has them by the width of the table."""


def add(commands: Commands) -> None:
    """Declare the commands."""
    parser = commands.add_parser(
        "index",
        help="build an index from folders of web tables, CSV, JSON or Parquet files",
        description="Read every table under the given paths, and build an index that can be searched. Encoding,\n"
        "delimiter, header and format of each file are detected. What cannot be read is counted and listed with its\n"
        "reason (mate stats --rejects). It never stops the build unless you give --strict.",
        epilog=INDEX,
    )
    text = "files, folders, s3://..., or synthetic:tables=N,seed=S"
    parser.add_argument("paths", nargs="+", metavar="PATH", help=text)
    add_shared(parser, "--store", help="where the index goes: a folder, s3://..., or the address of a database")
    add_shared(parser, "--format")
    parser.add_argument(
        "--hash",
        dest="hashes",
        action="append",
        metavar="NAME[:BITS[:PARAMETER=N]]",
        help="hash function of the super keys (default: xash; PostgreSQL and DuckDB: fingerprint:16); may be repeated, "
        "see: mate hashes",
    )
    parser.add_argument("--bits", type=whole("--bits"), help="size of super keys (default: 128)")
    text = "encoding of all delimited files, such as cp1251 (default: detected for each)"
    parser.add_argument("--encoding", metavar="NAME", help=text)
    parser.add_argument("--strict", action="store_true", help="publish nothing if anything at all was rejected")
    text = "a text that counts as no value, besides the usual ones; may be repeated"
    parser.add_argument("--null", dest="nulls", action="append", metavar="TEXT", help=text)
    text = "include web tables that only lay out a page (DWTC: LAYOUT)"
    parser.add_argument("--layout-tables", action="store_true", help=text)
    limits = mate.Limits()
    group = parser.add_argument_group("limits")
    text = "characters of a cell; a longer one is kept but not indexed"
    add_whole(group, "--max-cell", text, limits.cell_characters, dest="cell_characters")
    add_whole(group, "--max-columns", "a wider table is rejected", limits.columns, dest="columns")
    add_whole(group, "--max-rows", "further rows of a table are rejected", limits.rows, most=2**31 - 1, dest="rows")
    group = add_spark(parser, "auto", "--memory")
    text = "how many segments (default: as few as memory and cores allow)"
    group.add_argument("--segments", type=whole("--segments"), metavar="N", help=text)
    parser.set_defaults(run=_run_index)

    parser = commands.add_parser(
        "synthetic",
        help="write a synthetic lake of tables as files",
        description="Write a synthetic lake, one file per table: values follow a power law, some tables join on\n"
        "composite keys, and many rows match such a key on one column only. The same settings give the same files.",
        epilog=SYNTHETIC,
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="where to write; created if it does not exist")
    for name, kind, metavar, text in SETTINGS:
        parser.add_argument(f"--{name}", type=kind, metavar=metavar, help=text)
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv", help="file format (default: csv)")
    text = "write into a folder that contains files; those of the same name are replaced"
    parser.add_argument("--force", action="store_true", help=text)
    parser.set_defaults(run=_run_synthetic)

    parser = commands.add_parser("hashes", help="list the hash functions that can build super keys")
    parser.set_defaults(run=_run_hashes)

    parser = commands.add_parser(
        "hash",
        help="show the bits that a hash function sets for some values",
        description="Show the bits that a hash function sets for each value, and their OR: the super key of a row\n"
        "that holds them. Fingerprints are concatenated instead, in the order of the columns.\n"
        "Bits are numbered from the left, from 1, as in the paper's figures.",
        epilog=HASH,
    )
    parser.add_argument("values", nargs="+", metavar="VALUE", help="cell values; they are normalised to tokens first")
    text = "hash function (default: xash)"
    parser.add_argument("--hash", default="xash", metavar="NAME[:BITS[:PARAMETER=N]]", help=text)
    parser.set_defaults(run=_run_hash)


def _run_index(options: argparse.Namespace) -> int:
    limits = mate.Limits(**chosen(options, mate.Limits))
    with ProgressBar() as bar:
        settings = chosen(options, mate.IndexOptions, limits=limits, progress=bar)
        lake = mate.index(options.paths, options.store, **settings)
    with lake:
        stats, summary = lake.stats(), lake.build_summary
    assert summary is not None
    seconds = sum(summary.seconds.values())
    phases = ", ".join(f"{phase} {spent:.1f}" for phase, spent in summary.seconds.items())
    rows = [
        *contents(stats),
        ("rejected whole", f"{summary.rejected_tables:,} files or tables"),
        ("time", f"{seconds:.1f} s ({stats.cells / seconds / 1e3:,.0f} k cells/s): {phases}"),
        ("ran on", summary.engine),
    ]
    show_overview(stats, rows)
    if stats.rejects:
        say(f"What was not indexed, and why: mate stats --rejects --store {lake.address}")
    return 0


def _run_synthetic(options: argparse.Namespace) -> int:
    names = [name.replace("-", "_") for name, *_ in SETTINGS]
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    with ProgressBar("write tables") as bar:
        written = mate.write_synthetic(options.folder, options.format, force=options.force, progress=bar, **given)
    say(f"{written.tables:,} tables, {written.cells:,} cells in {options.folder}")
    return 0


def _run_hashes(_: argparse.Namespace) -> int:
    rows = [(one.name, _sizes(one.bits), one.summary) for one in mate.hash_functions()]
    show(table(("name", "bits", "what it is"), rows))
    return 0


def _sizes(bits: Sequence[int]) -> str:
    """Return the sizes of a hash; one with many sizes depends on the width of the table: bits per column."""
    return ", ".join(map(str, bits)) if len(bits) <= MOST_SIZES else f"{bits[0]} to {bits[-1]} per column"


def _run_hash(options: argparse.Namespace) -> int:
    """Print the bits of each value and of their super key."""
    hashed = mate.hash_values(options.values, options.hash)
    names = ["(no value)" if token is None else token for token in hashed.tokens]
    if hashed.by_column:
        prints = [f"{key[0]:x}" for key in hashed.keys]
        rows = [*zip(names, prints, strict=True), ("super key", " ".join(prints))]
        show(table(("token", "fingerprint"), rows, title=hashed.function))
        return 0
    keys = [*zip(names, hashed.keys, strict=True), ("super key", hashed.super_key)]
    bits = [(name, _bits(key), "".join(f"{word:016x}" for word in key)) for name, key in keys]
    show(table(("token", "bits set", "key"), bits, title=hashed.function))
    return 0


def _bits(words: list[int]) -> str:
    bits = "".join(f"{word:064b}" for word in words)
    return " ".join(str(place) for place, bit in enumerate(bits, start=1) if bit == "1")
