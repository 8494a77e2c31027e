"""`python -m experiments fetch`: list the paper's corpora, and download them."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from experiments.corpora.client import DownloadSettings
    from experiments.corpora.download import DownloadResult
    from mate.cli import Commands

DESCRIPTION = """\
List the paper's corpora, and download those that have an address.

Nothing is downloaded twice: after an interruption, the same command goes on where it was. Complete files are
checked against DIR/checksums.sha256 and kept."""

EPILOG = """\
examples:
  python -m experiments fetch list                                   the corpora, their sizes and licences
  python -m experiments fetch dwtc --shards 0-9,17 --to web          eleven shards of the Dresden Web Table Corpus
  python -m experiments fetch govdata --to open --limit 500          the first 500 CSV files that govdata.de lists
  python -m experiments fetch govdata --to open --query verkehr      all files about traffic
  python -m experiments fetch school --from schools                  which files can replace the School corpus
  mate index web --store lake.mate                                   then index what has been downloaded
"""
DWTC_EPILOG = """\
examples:
  python -m experiments fetch dwtc --shards 0 --to web               one shard, for a start
  python -m experiments fetch dwtc --shards all --to web --test      all shards, each unpacked once as a test
  python -m experiments fetch dwtc --shards 0-9 --to web --base-url http://mirror.example.org/dwtc

To keep shards that you have already, put them into DIR and run `sha256sum dwtc-*.json.gz > checksums.sha256` there.
"""
GOVDATA_EPILOG = """\
examples:
  python -m experiments fetch govdata --to open --limit 500
  python -m experiments fetch govdata --to open --query "title:haushalt"
  python -m experiments fetch govdata --to open --base-url https://ckan.example.org     any other CKAN portal

DIR/sources.csv lists every file with its address, title, licence, dataset, checksum, size and result. Some
addresses of a large portal are always dead; that is not an error as long as others work.
"""


def add(commands: Commands) -> None:
    """Declare the command and its corpora."""
    fetch = _command(commands, "fetch", "list the paper's corpora, and download them", DESCRIPTION, EPILOG)
    fetch.add_argument("--list", action="store_true", help="the same as `fetch list`")
    fetch.set_defaults(run=run_list)
    corpora = fetch.add_subparsers(title="corpora", metavar="CORPUS")
    corpora.add_parser("list", help="show the corpora, their sizes, and how to download and index them").set_defaults(
        run=run_list
    )
    _add_dwtc(corpora)
    _add_govdata(corpora)
    _add_school(corpora)


def _add_dwtc(corpora: Commands) -> None:
    dwtc = _command(corpora, "dwtc", "shards of the Dresden Web Table Corpus", None, DWTC_EPILOG)
    dwtc.add_argument("--shards", required=True, metavar="N-M,…", help="which of the shards 0 to 500, such as 0-9,17")
    dwtc.add_argument("--test", action="store_true", help="unpack each shard once to check that it is intact")
    _add_common(dwtc, "address of the folder that holds the shards")
    dwtc.set_defaults(run=run_dwtc)


def _add_govdata(corpora: Commands) -> None:
    govdata = _command(
        corpora, "govdata", "CSV files that govdata.de, or another CKAN portal, lists", None, GOVDATA_EPILOG
    )
    govdata.add_argument("--limit", type=int, metavar="N", help="files at most (default: all)")
    govdata.add_argument("--query", default="", metavar="Q", help="what to search for, in CKAN's (Solr's) syntax")
    govdata.add_argument("--delay", type=float, default=0.5, help="seconds between two pages (default: 0.5)")
    govdata.add_argument(
        "--strict", action="store_true", help="exit with code 1 if any file failed, not only if all did"
    )
    _add_common(govdata, "address of the portal, or of its package_search")
    govdata.set_defaults(run=run_govdata)


def _add_school(corpora: Commands) -> None:
    school = _command(
        corpora,
        "school",
        "check a folder of school tables; there is no address to download them from",
        "The paper's School corpus (335 tables, from the ARDA paper) has no public download address. This command\n"
        "checks a folder of yours and shows which files have the columns Program Type and School Name.",
        None,
    )
    school.add_argument("--from", dest="folder", type=Path, metavar="DIR", help="folder to check")
    school.set_defaults(run=run_school)


def _command(
    commands: Commands, name: str, summary: str, description: str | None, epilog: str | None
) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=summary,
        description=description or f"Download {summary}.",
        epilog=epilog,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _add_common(parser: argparse.ArgumentParser, base: str) -> None:
    parser.add_argument("--to", required=True, type=Path, metavar="DIR", help="target folder; made if missing")
    parser.add_argument("--base-url", metavar="URL", help=base)
    parser.add_argument("--checksums", type=Path, metavar="FILE", help="expected checksums, as sha256sum prints them")
    parser.add_argument("--parallel", type=int, default=2, metavar="N", help="downloads at a time (default: 2)")
    parser.add_argument("--tries", type=int, default=5, metavar="N", help="tries per file (default: 5)")
    parser.add_argument(
        "--backoff",
        type=float,
        default=1.0,
        metavar="S",
        help="seconds before the second try, doubled before each further one (default: 1)",
    )
    parser.add_argument(
        "--timeout", type=float, default=60.0, metavar="S", help="give up after S seconds of silence (default: 60)"
    )


def run_list(_: argparse.Namespace) -> int:
    """Print the catalogue."""
    from experiments.corpora.catalogue import CATALOGUE
    from mate.cli.terminal import console, table

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
    """Download shards; one that fails does not stop the others, but is an error in the end."""
    from experiments.corpora.bars import DownloadBars
    from experiments.corpora.download import downloading
    from experiments.corpora.shards import DWTC_URL, parse_shards, shard_files
    from mate.errors import CorpusError

    shards = parse_shards(options.shards)
    files = shard_files(shards, options.base_url or DWTC_URL, _expected(options))
    with DownloadBars(len(files)) as bars, downloading(files, options.to, _settings(options), bars) as results:
        done = bars.follow(results)
    failed = [result for result in done if result.status == "failed"]
    _summary(done, "shards", options.to)
    if failed:
        first = min(failed, key=lambda result: result.file.name)
        raise CorpusError(f"{len(failed)} of {len(done)} shards failed, the first with {first.reason}")
    return 0


def run_govdata(options: argparse.Namespace) -> int:
    """Download what the portal lists; dead addresses are counted, and recorded in sources.csv."""
    from experiments.corpora.bars import DownloadBars
    from experiments.corpora.portal import GOVDATA_URL, PortalQuery, search_portal
    from experiments.corpora.source_list import downloading_listed
    from mate.cli.terminal import console
    from mate.corpus.formats import SOURCES
    from mate.errors import CorpusError

    settings, expected = _settings(options), _expected(options)
    query = PortalQuery(options.base_url or GOVDATA_URL, options.query, options.limit, delay=options.delay)
    console(stderr=True).print(f"asking {query.address} …", markup=False)
    found = search_portal(query, settings)
    with DownloadBars(len(found)) as bars, downloading_listed(found, options.to, settings, bars, expected) as results:
        done = bars.follow(results)
    failed = [result for result in done if result.status == "failed"]
    _summary(done, "files", options.to)
    if len(failed) == len(done):
        raise CorpusError(f"nothing was fetched, {options.to / SOURCES} says why; the first: {failed[0].reason}")
    return 1 if failed and options.strict else 0


def run_school(options: argparse.Namespace) -> int:
    """Print which files of a folder have the columns of the School experiment."""
    from experiments.corpora.school import SCHOOL_COLUMNS, school_tables
    from mate.cli.terminal import console, table
    from mate.errors import CorpusError

    if options.folder is None:
        raise CorpusError(
            "the School corpus (335 tables, from the ARDA paper) has no public download address; "
            "name a folder of school tables that you have: python -m experiments fetch school --from DIR"
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


def _settings(options: argparse.Namespace) -> DownloadSettings:
    from experiments.corpora.client import DownloadSettings

    test = getattr(options, "test", False)
    return DownloadSettings(options.parallel, options.tries, options.backoff, options.timeout, test)


def _expected(options: argparse.Namespace) -> dict[str, str]:
    from experiments.corpora.download_log import read_checksums

    return read_checksums(options.checksums) if options.checksums else {}


def _summary(done: list[DownloadResult], things: str, folder: Path) -> None:
    from rich.filesize import decimal

    from mate.cli.terminal import console

    count = Counter(result.status for result in done)
    size = decimal(sum(result.size for result in done if result.status == "fetched"))
    line = f"{count['fetched']} {things} fetched ({size}), {count['kept']} already there, {count['failed']} failed"
    console().print(f"{folder}: {line}", markup=False, soft_wrap=True)
