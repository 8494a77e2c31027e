"""`python -m experiments run`: measure."""

from __future__ import annotations

import argparse
import fcntl
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from experiments.definitions import ARRAYS
from experiments.errors import ExperimentError
from experiments.execution import Run, carry_out
from experiments.lakes import ENGINES, SERVERS
from experiments.planning import Plan, finished, plans
from experiments.progress import RunProgress
from experiments.query_sets import path_of
from experiments.query_sets import read as read_queries
from experiments.registry import EXPERIMENTS, find
from experiments.scales import SCALES
from experiments.settings import RunSettings
from mate.cli.terminal import console, table
from mate.sql.schema import LAYOUTS

if TYPE_CHECKING:
    from mate.cli import Commands

DESCRIPTION = """\
Measure what the paper's tables and figures show, and keep raw records: one per search, in Parquet files below the
folder of results. A run that was stopped goes on where it was; what is finished is skipped.

With no corpus given, embedded lakes are used: a synthetic one, and one from openly licensed packages if they are
installed (pip install 'mate-discovery[lake]')."""

EPILOG = """\
examples:
  python -m experiments run --all --scale smoke                       does everything run? about a minute
  python -m experiments run table3 figure5 --lake synthetic
  python -m experiments run --all --scale full --webtables wt/ --opendata od/ --school school/ --kaggle queries/
  python -m experiments run table2 --lake mine=my-tables/ --queries 20
  python -m experiments run figure4 --store lake.mate --system my_package.search:search
  python -m experiments run --all --dry-run                           what would run, what is done

scales: {scales}

Timings: every search runs once uncounted, then as often as --repetitions says, up to 2 s in all.
All methods answer a query before the next one, in an order that changes, so that noise hits all alike. Exact
methods must agree on the answers, or the run says which query differs and fails.
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    scales = "; ".join(f"{s.name}: {s.queries} queries per set, {s.what}" for s in SCALES.values())
    parser = commands.add_parser(
        "run",
        help="measure",
        description=DESCRIPTION,
        epilog=EPILOG.format(scales=scales),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"experiments: {', '.join(EXPERIMENTS)}")
    parser.add_argument("--all", action="store_true", help="all experiments")
    add_results(parser)
    parser.add_argument("--scale", choices=tuple(SCALES), default="small", help="how much (default: small)")
    parser.add_argument(
        "--queries",
        type=_counts,
        metavar="N[,N...]",
        help="queries of each set, or of sampled ones by their size, the smallest first; the paper has 150",
    )
    parser.add_argument("--repetitions", type=int, metavar="N", help="counted runs of each search")
    parser.add_argument(
        "--timeout", type=float, default=60, metavar="S", help="stop a search after S seconds (default: 60)"
    )
    parser.add_argument("--seed", type=int, default=1, help="seed of the samples (default: 1)")
    parser.add_argument(
        "--jobs", type=int, default=1, metavar="N", help="query sets at a time; more than 1 spoils the timings"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would run, and what is done already")
    parser.add_argument("--redo", action="store_true", help="measure again what is there, damaged or not")
    where = parser.add_argument_group("where to search")
    where.add_argument(
        "--lake", action="append", default=[], metavar="LAKE", help="synthetic, pypi, or NAME=FOLDER; may be repeated"
    )
    where.add_argument("--webtables", type=Path, metavar="DIR", help="web tables (DWTC): query sets WT (10) to (1000)")
    where.add_argument("--opendata", type=Path, metavar="DIR", help="open data: query sets OD (100) to (10000)")
    where.add_argument("--school", type=Path, metavar="DIR", help="the School corpus, keys Program Type, School Name")
    where.add_argument("--kaggle", type=Path, metavar="DIR", help="query tables and a queries.csv with their keys")
    where.add_argument("--released", type=Path, metavar="DIR", help="the authors' query files: folders wt10 to od10000")
    where.add_argument("--tier", default="core", help="tier of a corpus whose manifest.csv has tiers, or all (core)")
    where.add_argument(
        "--store", action="append", default=[], metavar="STORE", help="an index that is there: nothing is built"
    )
    where.add_argument(
        "--system", action="append", default=[], metavar="SYSTEM", help="a further system for figure4: MODULE:FUNCTION"
    )
    where.add_argument("--master", help="where indexes are built: none, local[*], a Spark master (default: by size)")
    where.add_argument(
        "--engine", choices=ENGINES, default=ARRAYS, help="what holds the indexes (default: arrays, in a folder)"
    )
    where.add_argument(
        "--layout", choices=LAYOUTS, default=LAYOUTS[0], help="where a database has super keys (default: per_cell)"
    )
    where.add_argument(
        "--hashes",
        choices=("few", "all"),
        help="hash functions in a database: few, those that claims on runtime need, or all of tables 2 and 3 (default: "
        "all in vertica, whose searches read only the columns that they need, else few)",
    )
    where.add_argument("--clean", action="store_true", help="in the end, remove the indexes from the database")
    where.add_argument("--database", default="", metavar="ADDRESS", help="the server, for postgresql and vertica")
    parser.set_defaults(run=run)


def add_results(parser: argparse.ArgumentParser) -> None:
    """Declare the option that every command has."""
    parser.add_argument(
        "--results", type=Path, default=Path("results"), metavar="DIR", help="the folder of results (default: results)"
    )


def _counts(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no number, and no list such as 50,50,16") from None


def settings_of(options: argparse.Namespace) -> RunSettings:
    """Return what the command line asks for."""
    scale = SCALES[options.scale]
    queries = (scale.queries,) if options.queries is None else options.queries
    repetitions = scale.repetitions if options.repetitions is None else options.repetitions
    if min(queries) < 1 or repetitions < 1 or options.jobs < 1 or options.timeout <= 0:
        raise ExperimentError("--queries, --repetitions, --jobs and --timeout take numbers above 0")
    if (options.engine in SERVERS) != bool(options.database):
        raise ExperimentError(f"--database ADDRESS goes with --engine {' or '.join(SERVERS)}, and these need it")
    return RunSettings(
        results=options.results,
        scale=scale,
        queries=queries,
        repetitions=repetitions,
        timeout=options.timeout,
        seed=options.seed,
        lakes=tuple(options.lake),
        webtables=options.webtables,
        opendata=options.opendata,
        school=options.school,
        kaggle=options.kaggle,
        released=options.released,
        tier=options.tier,
        stores=tuple(options.store),
        systems=tuple(options.system),
        master=options.master,
        engine=options.engine,
        database=options.database,
        layout=options.layout,
        all_hashes=(options.hashes or ("all" if options.engine == "vertica" else "few")) == "all",
    )


def run(options: argparse.Namespace) -> int:
    """Plan, then measure or only show."""
    if bool(options.names) == options.all:
        raise ExperimentError(f"name experiments, or --all; there are: {', '.join(EXPERIMENTS)}")
    chosen = find(EXPERIMENTS if options.all else options.names)
    settings = settings_of(options)
    planned = plans(chosen, settings)
    if options.dry_run:
        console().print(
            table(("experiment", "lake", "query set", "queries", "methods", "done"), _shown(planned, settings))
        )
        for lake in dict.fromkeys(plan.lake for plan in planned if plan.lake.engine != ARRAYS and not plan.lake.given):
            statements = ";\n".join(lake.statements(settings.results))
            console().print(f"-- {lake.name} on {lake.where}\n{statements};", soft_wrap=True, markup=False)
        return 0
    command = shlex.join(["python", "-m", "experiments", *sys.argv[1:]])
    with _alone(settings.results), RunProgress() as progress:
        if options.redo:
            _forget(planned, settings)
        try:
            carry_out(planned, Run(settings, command, progress, options.jobs))
        except KeyboardInterrupt:
            progress.say(f"interrupted; go on with: {command}")
            return 130
        if options.clean:
            for lake in dict.fromkeys(plan.lake for plan in planned):
                lake.drop(settings.results)
    return 0


@contextmanager
def _alone(results: Path) -> Iterator[None]:
    """See to it that no other run works on the same results: each would spoil the other's timings and journals."""
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock = (results / ".lock").open("w")
    except OSError as error:
        raise ExperimentError(f"cannot write results to {results}: {error.strerror}") from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ExperimentError(
                f"another run is at work on {results}; wait until it is done, or give this one another --results"
            ) from None
        yield


def _shown(planned: list[Plan], settings: RunSettings) -> list[tuple[Any, ...]]:
    """Return what would run, for people."""
    rows: list[tuple[Any, ...]] = []
    for plan in planned:
        name, lake = plan.experiment.name, plan.lake.name
        for entry in plan.sets:
            stored = path_of(settings.results, plan.lake.folder, entry.spec)
            queries = str(len(read_queries(stored))) if stored.exists() else f"up to {entry.spec.count}"
            done = sum(finished(settings.results, d.path) is not None for d in entry.definitions)
            total = len(entry.definitions)
            rows.append((name, lake, entry.spec.name, queries, str(total), f"{done} of {total}"))
        if plan.parts:
            done = sum(finished(settings.results, entry.path) is not None for entry in plan.parts)
            rows.append((name, lake, "", "", "", f"{done} of {len(plan.parts)}"))
        rows += [(name, lake, note, "", "", "") for note in plan.notes]
    return rows


def _forget(planned: list[Plan], settings: RunSettings) -> None:
    """Delete the records and journals of what is asked for."""
    for path in {path for plan in planned for path in plan.files}:
        (settings.results / path).unlink(missing_ok=True)
    for plan in planned:
        folder = settings.results / "records" / plan.experiment.group
        for journal in folder.glob(".*.journal") if folder.is_dir() else ():
            journal.unlink()
