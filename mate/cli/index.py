"""`mate index`: from files to an index, in this process or on Spark."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mate.build.build import BuildSettings, Summary
    from mate.build.lake_target import LakeTarget
    from mate.cli import Commands
    from mate.sql.vertica_target import VerticaTarget

EPILOG = """\
examples:
  mate index tables/ --store lake.mate
  mate index dwtc-000.json.gz dwtc-001.json.gz --store web.mate --bits 512
  mate index lake/ --store lake.mate --hash xash --hash bf:128:hashes=6
  mate index synthetic:tables=1000,seed=7 --store synthetic.mate
  mate index s/ --store 'vertica://dbadmin@host:5433/VMart?schema=mate'   password: VERTICA_PASSWORD
  mate index s/ --store lake.mate --master spark://host:7077 --spark spark.executor.memory=4g

An index is a folder of segments. They are built inside it and published at the end in one step: an index that is
already there stays in use until then, and stays as it is if the build fails or is stopped.
"""


WORTH_COMPILING = 1_000_000
"""Cells from which on searches need compiled loops: they are compiled with the index, once per machine."""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.limits import Limits

    limits = Limits()
    parser = commands.add_parser(
        "index",
        help="build an index from folders of web tables, CSV, JSON or Parquet files",
        description="Read every table under the given paths, and build an index that can be searched. Encoding,\n"
        "delimiter, header and format are found for each file. What cannot be read is counted and listed with its\n"
        "reason (mate stats --rejects), and never stops the build unless --strict is given.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="files, folders, or synthetic:tables=N,seed=S")
    parser.add_argument(
        "--store", required=True, metavar="LAKE", help="where the index goes: a folder, or vertica://..."
    )
    parser.add_argument(
        "--format", default="auto", choices=("auto", "dwtc", "csv", "parquet", "json"), help="(default: auto)"
    )
    parser.add_argument(
        "--hash",
        action="append",
        default=[],
        metavar="NAME[:BITS[:PARAMETER=N]]",
        help="hash function of the super keys (default: xash); may be repeated, see: mate hashes",
    )
    parser.add_argument("--bits", type=int, default=128, help="size of super keys (default: 128)")
    parser.add_argument("--strict", action="store_true", help="publish nothing if anything at all was rejected")
    parser.add_argument("--null", action="append", metavar="TEXT", help="count TEXT as no value, besides the usual")
    parser.add_argument(
        "--layout-tables", action="store_true", help="take in web tables that only lay out a page (DWTC: LAYOUT)"
    )
    size = parser.add_argument_group("limits")
    for option, default, text in (
        ("--max-cell", limits.cell_characters, "characters of a cell; a longer one is kept but not indexed"),
        ("--max-columns", limits.columns, "a wider table is rejected"),
        ("--max-rows", limits.rows, "rows of a table beyond this are rejected"),
    ):
        size.add_argument(option, type=int, default=default, metavar="N", help=f"{text} (default: {default:,})")
    spark = parser.add_argument_group("where and how")
    spark.add_argument(
        "--master",
        default="auto",
        help="local[*], spark://host:7077, ...: on Spark; none: in this process; auto: by size (default)",
    )
    spark.add_argument("--spark", action="append", default=[], metavar="NAME=VALUE", help="a Spark setting")
    spark.add_argument(
        "--memory", default="2GB", metavar="SIZE", help="memory of a task that writes a segment (default: 2GB)"
    )
    spark.add_argument(
        "--segments", type=int, metavar="N", help="how many segments (default: as few as memory and cores allow)"
    )
    spark.add_argument("-v", "--verbose", action="store_true", help="show what Spark logs")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Build, publish, and say what was done."""
    from mate.build.build import build
    from mate.cli.terminal import console
    from mate.open import open_index
    from mate.search.warm_up import warm_up

    settings = _settings(options)
    settings.check()
    with _target(options) as target, Bar() as bar:
        summary = build(options.paths, target, settings, bar)
        if summary.manifest.counts.cells >= WORTH_COMPILING:
            bar.start("compile search", 1)
            with open_index(options.store) as index:
                warm_up(index)
    _print(summary, options.store, console())
    return 0


def _target(options: argparse.Namespace) -> LakeTarget | VerticaTarget:
    from mate.build.lake_target import LakeTarget
    from mate.open import is_database

    if not is_database(options.store):
        return LakeTarget(options.store)
    from mate.sql.vertica_target import VerticaTarget

    return VerticaTarget(options.store)


def _settings(options: argparse.Namespace) -> BuildSettings:
    from mate.build.build import BuildSettings, with_hashes
    from mate.errors import MateError
    from mate.limits import Limits
    from mate.values.text import NULL_SPELLINGS, token

    spark = dict(setting.partition("=")[::2] for setting in options.spark)
    if any(not name or "=" not in text for name, text in zip(spark, options.spark, strict=False)):
        raise MateError("--spark takes NAME=VALUE, such as spark.executor.memory=4g")
    if min(options.max_cell, options.max_columns, options.max_rows) < 1:
        raise MateError("--max-cell, --max-columns and --max-rows take whole numbers from 1 on")
    more = {token(text, nulls=frozenset()) or "" for text in options.null or ()}
    settings = BuildSettings(
        format={"auto": None, "csv": "delimited"}.get(options.format, options.format),
        nulls=NULL_SPELLINGS | more,
        limits=Limits(
            cell_characters=options.max_cell,
            columns=options.max_columns,
            rows=options.max_rows,
            layout_tables=options.layout_tables,
        ),
        strict=options.strict,
        master=options.master,
        spark=spark,
        memory=_bytes(options.memory),
        segments=options.segments,
        verbose=options.verbose,
    )
    return with_hashes(settings, options.hash or ["xash"], options.bits)


def _bytes(text: str) -> int:
    """Return a size that a person wrote, such as 2GB."""
    from mate.errors import MateError

    match = re.fullmatch(r"\s*(\d{1,12}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?\s*", text, re.IGNORECASE | re.ASCII)
    if not match:
        raise MateError(f"--memory takes a size such as 2GB, not {text!r}")
    return int(float(match[1]) * 1024 ** " kmgt".index(match[2].lower() or " "))


class Bar:
    """Progress on standard error: a bar on a terminal, nothing in a pipe."""

    def __init__(self, beginning: str = "begin") -> None:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from mate.cli.terminal import console

        self._beginning = beginning
        screen = console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description:18}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[counts]}"),
            TimeElapsedColumn(),
            console=screen,
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._task: Any = None
        self._waiting: Any = None

    def __enter__(self) -> Bar:
        self._progress.start()
        self._waiting = self._progress.add_task(self._beginning, total=None, counts="")
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def start(self, phase: str, total: int) -> None:
        """Begin a phase."""
        if self._waiting is not None:
            self._progress.remove_task(self._waiting)
            self._waiting = None
        self._task = self._progress.add_task(phase, total=total, counts="")
        self._began = self._progress.get_time()

    def update(self, done: int, **counts: int) -> None:
        """Show how far it is, and the rate."""
        seconds = max(self._progress.get_time() - self._began, 1e-3)
        text = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count)
        if counts.get("cells"):
            text += f" ({counts['cells'] / seconds / 1e3:,.0f} k/s)"
        self._progress.update(self._task, completed=done, counts=text)


def _print(summary: Summary, store: str, screen: Any) -> None:
    from mate.cli.stats import megabytes
    from mate.cli.terminal import table
    from mate.open import open_index

    manifest, counts = summary.manifest, summary.manifest.counts
    with open_index(store) as index:
        size = sum(index.sizes().values())
    seconds = sum(summary.seconds.values())
    rows = [
        ("tables", f"{counts.tables:,}"),
        ("rows", f"{counts.rows:,}"),
        ("cells indexed", f"{counts.cells:,}"),
        ("distinct tokens", f"{manifest.distinct_tokens:,}"),
        ("super keys", ", ".join(map(str, manifest.hashes)) or "none"),
        ("segments", f"{len(manifest.segments):,}"),
        ("size", f"{megabytes(size)} ({size / max(1, counts.cells):.1f} bytes per cell)"),
        ("rejects", f"{counts.rejects:,} in all, {summary.rejected_tables:,} whole files or tables"),
        ("time", f"{seconds:.1f} s ({counts.cells / seconds / 1e3:,.0f} k cells/s)"),
        *((f"  {phase}", f"{spent:.1f} s") for phase, spent in summary.seconds.items()),
        ("ran on", summary.engine),
    ]
    label = f" [{manifest.label}]" if manifest.label else ""
    screen.print(f"{store}{label}", markup=False, soft_wrap=True)
    screen.print(table(("", ""), rows))
    if counts.rejects:
        screen.print(
            f"What was not indexed, and why: mate stats --rejects --store {store}", markup=False, soft_wrap=True
        )
