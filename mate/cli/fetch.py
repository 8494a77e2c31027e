"""`mate fetch`: the corpora of the paper, and how to get them here."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.progress import TaskID

    from mate.cli import Commands
    from mate.corpus.fetch import Fetched, Settings

DESCRIPTION = """\
List the corpora of the paper, and fetch those that have an address.

What has arrived is never fetched twice: interrupt it, run the same command again, and it goes on. Files that
are complete are checked against DIR/checksums.sha256 and kept."""

EPILOG = """\
examples:
  mate fetch list                                   the corpora, their sizes and licences
  mate fetch dwtc --shards 0-9,17 --to web          eleven shards of the Dresden Web Table Corpus
  mate fetch govdata --to open --limit 500          the first 500 CSV files that govdata.de lists
  mate fetch govdata --to open --query verkehr      all that have to do with traffic
  mate fetch school --from schools                  which of these files can stand in for the School corpus
  mate index web --store lake.duckdb                then index what has been fetched
"""
DWTC_EPILOG = """\
examples:
  mate fetch dwtc --shards 0 --to web               one shard, to begin with
  mate fetch dwtc --shards all --to web --test      everything, each shard unpacked once to see that it is sound
  mate fetch dwtc --shards 0-9 --to web --base-url http://mirror.example.org/dwtc

shards that you have already: put them into DIR, run `sha256sum dwtc-*.json.gz > checksums.sha256` there, and
they are kept
"""
GOVDATA_EPILOG = """\
examples:
  mate fetch govdata --to open --limit 500
  mate fetch govdata --to open --query "title:haushalt"
  mate fetch govdata --to open --base-url https://ckan.example.org     any other CKAN portal

DIR/sources.csv lists every file with its address, title, licence, dataset, checksum, size and what became of it;
some addresses of a large portal are always dead, which is no error as long as others work
"""


def add(commands: Commands) -> None:
    """Declare the command and its corpora."""
    fetch = _command(commands, "fetch", "list the paper's corpora, and fetch them", DESCRIPTION, EPILOG)
    fetch.add_argument("--list", action="store_true", help="the same as `mate fetch list`")
    fetch.set_defaults(run=run_list)
    corpora = fetch.add_subparsers(title="corpora", metavar="CORPUS")
    corpora.add_parser("list", help="what there is, how large it is, how to fetch and index it").set_defaults(
        run=run_list
    )
    _add_dwtc(corpora)
    _add_govdata(corpora)
    _add_school(corpora)


def _add_dwtc(corpora: Commands) -> None:
    dwtc = _command(corpora, "dwtc", "shards of the Dresden Web Table Corpus", None, DWTC_EPILOG)
    dwtc.add_argument("--shards", required=True, metavar="N-M,…", help="which of the shards 0 to 500, such as 0-9,17")
    dwtc.add_argument("--test", action="store_true", help="unpack each shard once to see that it is sound")
    _add_common(dwtc, "the address of the folder that holds the shards")
    dwtc.set_defaults(run=run_dwtc)


def _add_govdata(corpora: Commands) -> None:
    govdata = _command(
        corpora, "govdata", "CSV files that govdata.de, or another CKAN portal, lists", None, GOVDATA_EPILOG
    )
    govdata.add_argument("--limit", type=int, metavar="N", help="files at most (default: all)")
    govdata.add_argument("--query", default="", metavar="Q", help="what to search for, in CKAN's (Solr's) syntax")
    govdata.add_argument("--delay", type=float, default=0.5, help="seconds between two pages (default: 0.5)")
    govdata.add_argument("--strict", action="store_true", help="exit code 1 if any file failed, not only if all did")
    _add_common(govdata, "the address of the portal, or of its package_search")
    govdata.set_defaults(run=run_govdata)


def _add_school(corpora: Commands) -> None:
    school = _command(
        corpora,
        "school",
        "look at a folder of school tables; there is no address to fetch them from",
        "The paper's School corpus (335 tables, from the ARDA paper) has no public download address. This looks at a\n"
        "folder that you have and says which files hold the columns of the experiment, Program Type and School Name.",
        None,
    )
    school.add_argument("--from", dest="folder", type=Path, metavar="DIR", help="the folder to look at")
    school.set_defaults(run=run_school)


def _command(
    commands: Commands, name: str, summary: str, description: str | None, epilog: str | None
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=description or f"Fetch {summary}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_common(parser: argparse.ArgumentParser, base: str) -> None:
    parser.add_argument("--to", required=True, type=Path, metavar="DIR", help="folder to fetch into; made if missing")
    parser.add_argument("--base-url", metavar="URL", help=base)
    parser.add_argument("--checksums", type=Path, metavar="FILE", help="what sha256sum must say of the files")
    parser.add_argument("--parallel", type=int, default=2, metavar="N", help="downloads at a time (default: 2)")
    parser.add_argument("--tries", type=int, default=5, metavar="N", help="tries for each file (default: 5)")
    parser.add_argument(
        "--backoff",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds before the second try, then doubled (default: 1)",
    )
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds of silence (default: 60)")


def run_list(_: argparse.Namespace) -> int:
    """Print the catalogue."""
    from mate.cli.terminal import console, table
    from mate.corpus.catalogue import CATALOGUE

    screen = console()
    for corpus in CATALOGUE:
        counts = ((corpus.tables, "tables"), (corpus.columns, "columns"), (corpus.rows, "rows"))
        rows = [
            ("what", corpus.what),
            ("in the paper", ", ".join(f"{count:,} {name}" for count, name in counts if count)),
            ("size", corpus.size),
            ("licence", corpus.licence),
            ("fetch", corpus.fetch),
            ("index", corpus.index),
            ("note", corpus.note),
        ]
        screen.print(table((corpus.name, corpus.title), rows))
    return 0


def run_dwtc(options: argparse.Namespace) -> int:
    """Fetch shards; one that fails does not keep the others, but is an error in the end."""
    from mate.corpus.catalogue import DWTC_URL, dwtc_sources, parse_shards
    from mate.corpus.fetch import fetching
    from mate.errors import CorpusError

    shards = parse_shards(options.shards)
    sources = dwtc_sources(shards, options.base_url or DWTC_URL, _expected(options))
    with _Screen(len(sources)) as screen, fetching(sources, options.to, _settings(options), screen) as outcomes:
        done = screen.follow(outcomes)
    failed = [outcome for outcome in done if outcome.status == "failed"]
    _summary(done, "shards", options.to)
    if failed:
        first = min(failed, key=lambda outcome: outcome.source.name)
        raise CorpusError(f"{len(failed)} of {len(done)} shards failed, the first with {first.reason}")
    return 0


def run_govdata(options: argparse.Namespace) -> int:
    """Fetch what the portal lists; dead addresses are counted, and noted in sources.csv."""
    from mate.cli.terminal import console
    from mate.corpus.catalogue import GOVDATA_URL, SOURCES, Search, fetching_listed, search
    from mate.errors import CorpusError

    settings, expected = _settings(options), _expected(options)
    what = Search(options.base_url or GOVDATA_URL, options.query, options.limit, delay=options.delay)
    console(stderr=True).print(f"asking {what.address} …", markup=False)
    found = search(what, settings)
    with _Screen(len(found)) as screen, fetching_listed(found, options.to, settings, screen, expected) as outcomes:
        done = screen.follow(outcomes)
    failed = [outcome for outcome in done if outcome.status == "failed"]
    _summary(done, "files", options.to)
    if len(failed) == len(done):
        raise CorpusError(f"nothing was fetched, {options.to / SOURCES} says why; the first: {failed[0].reason}")
    return 1 if failed and options.strict else 0


def run_school(options: argparse.Namespace) -> int:
    """Print which files of a folder have the columns of the School experiment."""
    from mate.cli.terminal import console, table
    from mate.corpus.catalogue import SCHOOL_COLUMNS, school_tables
    from mate.errors import CorpusError

    if options.folder is None:
        raise CorpusError(
            "the School corpus (335 tables, from the ARDA paper) has no public download address; "
            "name a folder of school tables that you have: mate fetch school --from DIR"
        )
    tables = school_tables(options.folder)
    rows = [
        (
            found.path.relative_to(options.folder),
            found.columns,
            *("yes" * (key in found.keys) for key in SCHOOL_COLUMNS),
        )
        for found in tables
    ]
    complete = sum(found.complete for found in tables)
    screen = console()
    screen.print(table(("file", "columns", *SCHOOL_COLUMNS), rows))
    screen.print(f"{len(tables)} tables, {complete} with both {' and '.join(SCHOOL_COLUMNS)} (the paper's corpus: 335)")
    return 0 if complete else 1


def _settings(options: argparse.Namespace) -> Settings:
    from mate.corpus.fetch import Settings

    test = getattr(options, "test", False)
    return Settings(options.parallel, options.tries, options.backoff, options.timeout, test)


def _expected(options: argparse.Namespace) -> dict[str, str]:
    from mate.corpus.fetch import read_checksums

    return read_checksums(options.checksums) if options.checksums else {}


def _summary(done: list[Fetched], things: str, folder: Path) -> None:
    from rich.filesize import decimal

    from mate.cli.terminal import console

    count = Counter(outcome.status for outcome in done)
    size = decimal(sum(outcome.size for outcome in done if outcome.status == "fetched"))
    line = f"{count['fetched']} {things} fetched ({size}), {count['kept']} already there, {count['failed']} failed"
    console().print(f"{folder}: {line}", markup=False, soft_wrap=True)


class _Screen:
    """Progress on standard error: a bar for all files and one for each that is under way; failures as lines."""

    def __init__(self, files: int) -> None:
        from rich import progress

        from mate.cli.terminal import console

        screen = console(stderr=True)
        self._bars = progress.Progress(
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.DownloadColumn(),
            progress.TransferSpeedColumn(),
            progress.TimeRemainingColumn(),
            console=screen,
            transient=True,
            disable=not screen.is_terminal,
        )
        self._files = files
        self._done = 0
        self._sizes: dict[str, int] = {}
        self._tasks: dict[str, TaskID] = {}
        self._all = self._bars.add_task(self._standing(), total=None)

    def __enter__(self) -> _Screen:
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()

    def follow(self, outcomes: Iterable[Fetched]) -> list[Fetched]:
        """Collect the outcomes; say at once what failed."""
        done = []
        for outcome in outcomes:
            done.append(outcome)
            self._done += 1
            self._bars.update(self._all, description=self._standing())
            if outcome.status == "failed":
                line = f"{outcome.source.name}: {outcome.reason}"
                self._bars.console.print(line, markup=False, soft_wrap=True)
        return done

    def started(self, name: str, done: int, total: int | None) -> None:
        if name not in self._tasks:
            self._tasks[name] = self._bars.add_task(name, total=total)
        self._bars.reset(self._tasks[name], completed=done, total=total)
        if total is not None:
            self._sizes[name] = total
            sizes = list(self._sizes.values())
            self._bars.update(self._all, total=sum(sizes) / len(sizes) * self._files)  # a guess that gets better

    def received(self, name: str, size: int) -> None:
        self._bars.advance(self._tasks[name], size)
        self._bars.advance(self._all, size)

    def ended(self, name: str) -> None:
        if name in self._tasks:
            self._bars.remove_task(self._tasks.pop(name))

    def _standing(self) -> str:
        return f"{self._done} of {self._files} files"
