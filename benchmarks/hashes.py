"""`python -m benchmarks hashes`: the hash laboratory. Every hash function at every size, on the same values and rows.

On a sample: speed, fill of super keys, false positives, near misses, by table width. With --lake also end to end:
precision and search time of Algorithm 1 on sampled queries, bytes of the index, all against the same search without a
filter in the same run. A hash function of yours takes part with --plugin. Records are kept in --results: what is there
is not measured again. One page shows them all, with what is best at any size, beside an ideal filter that spends the
same number of bits on every column.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import track

from benchmarks import sample
from benchmarks.hash_contestants import Contestant, contestants, load_plugin
from benchmarks.hash_lakes import Engine, LakeIndex, LakeRun, databases, draw_queries, open_lakes
from benchmarks.hash_records import METRICS, Store, differences
from benchmarks.hash_sample import draw_probes, measure
from benchmarks.sample import Sample
from experiments.definitions import ARRAYS, titled
from experiments.lakes import ENGINES
from mate.cli.terminal import console, table
from mate.errors import MateError
from mate.lake.folder import MANIFEST

if TYPE_CHECKING:
    from mate.cli import Commands

EPILOG = """\
examples:
  python -m benchmarks hashes                                   on a synthetic sample
  python -m benchmarks hashes --corpus DIR --lake DIR           on the tables of a folder, and end to end
  python -m benchmarks hashes --lake DIR                        the same: the sample is taken from the lake
  python -m benchmarks hashes --plugin my_hash.py --lake lake.mate --results mine
  python -m benchmarks hashes --values words.txt --only xash --only wide:20
  python -m benchmarks hashes --lake DIR --only bf:128 --only wide:20 --engine duckdb
  python -m benchmarks hashes --compare before after            two folders of results
"""


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser(
        "hashes",
        help="the hash laboratory: speed, filter quality, precision and search time of every hash function",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--values", type=Path, metavar="FILE", help="one value per line")
    source.add_argument("--corpus", type=Path, metavar="DIR", help="a folder of web tables, CSV, JSON or Parquet files")
    parser.add_argument("--cells", type=int, default=1_500_000, help="most cells of a corpus (default: 1,500,000)")
    parser.add_argument(
        "--lake", action="append", default=[], metavar="LAKE", help="search it: a folder of tables, or an index"
    )
    parser.add_argument("--queries", type=int, default=20, metavar="N", help="queries of each of three sets (20)")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE",
        help="a Python file or module with a hash, or an installed one",
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="only this hash, or NAME:BITS; may be repeated"
    )
    parser.add_argument("--engine", choices=ENGINES, default=ARRAYS, help="what holds the indexes (default: arrays)")
    parser.add_argument("--database", default="", metavar="ADDRESS", help="the server, for postgresql and vertica")
    parser.add_argument("--rounds", type=int, default=5, help="time the best of so many rounds (default: 5)")
    parser.add_argument("--seed", type=int, default=1, help="seed of what is drawn (default: 1)")
    parser.add_argument(
        "--results", type=Path, default=Path("results/hashes"), metavar="DIR", help="records (default: results/hashes)"
    )
    parser.add_argument(
        "--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="two folders of results; nothing is measured"
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Compare, print, write."""
    screen = console()
    if options.compare:
        header = ("where", "hash", "metric", "before", "after", "change")
        screen.print(table(header, list(differences(*options.compare))))
        return
    plugins = {name: source for where in options.plugin for name, source in load_plugin(where).items()}
    data = _sample(options)
    screen.print(
        f"[bold]{data.label}[/bold]: {len(data.distinct):,} distinct values of {sample.lengths(data.distinct):.1f} "
        f"characters, {sum(map(len, data.tables)):,} rows of {data.statistics.mean_columns:.1f} columns on average"
    )
    store = Store(options.results)
    shown = [_on_sample(_entered(data, options, plugins), data, store, options)]
    shown += [_on_lake(where, data, store, options, plugins) for where in options.lake]
    for records in shown:
        print_records(records, screen)
    from benchmarks.hash_page import write_page

    screen.print(f"page: {write_page(store.by_place(), options.results / 'index.html')}")


def _entered(data: Sample, options: argparse.Namespace, plugins: Mapping[str, str]) -> list[Contestant]:
    """Return everybody who takes part, with the parameters and the sizes for some tables."""
    widths = np.repeat([t.width for t in data.tables], [len(t) for t in data.tables])
    return list(contestants(data.statistics, widths, options.only, plugins))


def _on_sample(
    entered: Sequence[Contestant], data: Sample, store: Store, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Measure every contestant on the sample, unless it was."""
    probes = draw_probes(data, options.seed)
    settings = {"seed": options.seed, "values": len(data.distinct), "rounds": options.rounds}
    return [
        store.measured(own, data.label, settings, partial(measure, own.function(), data, probes, options.rounds))
        for own in track(entered, "hashing", console=console(stderr=True), transient=True)
    ]


def _on_lake(
    where: str, data: Sample, store: Store, options: argparse.Namespace, plugins: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Search a lake with every contestant that its indexes have, unless it was; sizes are fitted to its own tables."""
    if not _is_index(where) and Path(where) != _tables(options):
        data = sample.from_corpus(Path(where), options.cells)
    entered = _entered(data, options, plugins)
    if options.engine == ARRAYS:
        with open_lakes(where, entered, store.folder) as lakes:
            return _searched(lakes, f"lake {Path(where).stem}", store, options)
    if _is_index(where):
        raise MateError(f"{where} is an index; --engine builds its own from a folder of tables")
    indexes = databases(where, entered, store.folder, Engine(options.engine, options.database))
    return _searched(indexes, titled(f"lake {Path(where).stem}", options.engine), store, options)


def _searched(
    lakes: Iterable[LakeIndex], place: str, store: Store, options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Search indexes with the contestants that each has, unless it was done."""
    rounds, found = min(3, options.rounds), []
    for lake in lakes:
        runs = LakeRun(lake.index, draw_queries(lake.index, options.queries, options.seed), rounds)
        settings = {"seed": options.seed, "queries": options.queries, "rounds": rounds, "build": lake.lake}
        found += [
            store.measured(own, place, settings, partial(runs.measure, own))
            for own in track(lake.contestants, "searching", console=console(stderr=True), transient=True)
        ]
    return found


def _is_index(where: str) -> bool:
    return Path(where, MANIFEST).is_file()


def _tables(options: argparse.Namespace) -> Path | None:
    """Return the folder of tables that the sample is taken from: the corpus, else the first lake that is one."""
    lakes = (Path(where) for where in options.lake if not _is_index(where))
    return options.corpus or next(lakes, None)


def _sample(options: argparse.Namespace) -> Sample:
    if options.values:
        return sample.from_values(options.values, options.seed)
    folder = _tables(options)
    return sample.from_corpus(folder, options.cells) if folder else sample.synthetic(options.seed)


def print_records(records: Sequence[dict[str, Any]], screen: Any) -> None:
    """Print the metrics that some record has, one line per contestant."""
    if not records:
        return
    metrics = [metric for metric in METRICS if any(metric.of(record) is not None for record in records)]
    rows = []
    for record in records:
        found = [metric.of(record) for metric in metrics]
        told = " ".join(f"{key}={value}" for key, value in record["parameters"].items() if key != "rare_first")
        numbers = ["" if v is None else m.write(v) for m, v in zip(metrics, found, strict=True)]
        rows.append((f"{record['name']} {record['bits']}", told, *numbers))
    screen.print(f"[bold]{records[0]['place']}[/bold]")
    screen.print(table(("hash", "parameters", *(metric.name for metric in metrics)), rows))
