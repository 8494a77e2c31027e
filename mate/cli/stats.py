"""What an index holds (`mate stats`) and whether it is sound (`mate check`); `mate vertica-check` tries a server."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import mate
from mate.cli import Commands
from mate.cli.changes import say_worth_compacting
from mate.cli.options import CHANGE, add_shared, add_whole, chosen
from mate.cli.terminal import ProgressBar, print_json, say, show, table
from mate.display import size_text
from mate.errors import MateError
from mate.files import replacing

STATS = """\
examples:
  mate stats --store lake.mate
  mate stats --store lake.mate --rejects
  mate stats --store lake.mate --tables | head
  mate stats --store lake.mate --json
"""

CHECK = """\
examples:
  mate check --store lake.mate
  mate check --store lake.mate --repair

Every file is compared with its checksum. Tokens, directory, postings, codes and super keys are computed again from the
cells and compared with what is stored, tables and sources with the manifest. The exit code is 1 if anything is wrong.

--repair rebuilds what can be computed from the cells. If cells or records are lost, build the index again.
"""


def add(commands: Commands) -> None:
    """Declare the commands."""
    parser = commands.add_parser("stats", help="show what an index holds, and what was rejected", epilog=STATS)
    add_shared(parser, "--store")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rejects", action="store_true", help="list what was not indexed: file, line, reason")
    what.add_argument("--tables", action="store_true", help="list the tables")
    what.add_argument("--sources", action="store_true", help="list the files that were read")
    add_whole(parser, "--limit", "how many lines to list at most", 1_000, least=0)
    add_shared(parser, "--json")
    parser.set_defaults(run=_run_stats)

    parser = commands.add_parser("check", help="verify that an index is sound, and repair it", epilog=CHECK)
    parser.add_argument("--repair", action="store_true", help="rebuild what can be computed from the cells")
    add_whole(parser, "--limit", "how many problems to list at most", 50, least=0)
    add_shared(parser, *CHANGE)
    parser.set_defaults(run=_run_check)

    parser = commands.add_parser(
        "vertica-check",
        help="try every statement that is in doubt on a Vertica server",
        description="Run on a Vertica server what the index needs of it, in a schema of its own that is dropped;\n"
        "print what held, and write it to a file with the plans of the server, even if interrupted.\n"
        "The file contains no password and no data of yours.",
    )
    parser.add_argument("address", metavar="ADDRESS", help="vertica://user@host:5433/database")
    parser.add_argument("-o", "--output", default="vertica-check.json", metavar="FILE", help="(default: %(default)s)")
    parser.set_defaults(run=_run_vertica_check)


def _run_stats(options: argparse.Namespace) -> int:
    with mate.open(options.store) as lake:
        if options.rejects:
            header, records = ("source", "line", "kind", "count", "reason"), lake.rejects(options.limit)
        elif options.sources:
            header, records = ("source", "format", "bytes", "tables", "sha256"), lake.sources()[: options.limit]
        elif options.tables:
            header = ("table_id", "name", "rows", "columns", "source")
            records = [{name: getattr(info, name) for name in header} for info in lake.tables()[: options.limit]]
            records = [record | {"columns": len(record["columns"])} for record in records]
        else:
            _print_stats(lake.stats(), options)
            return 0
    if options.json:
        print_json(records)
    else:
        show(table(header, [["" if record[name] is None else record[name] for name in header] for record in records]))
    return 0


def _print_stats(stats: mate.Stats, options: argparse.Namespace) -> None:
    if options.json:
        print_json({"manifest": stats.manifest, "bytes": stats.bytes, "outgrown": stats.outgrown})
        return
    rows = [("built", stats.built), *contents(stats)]
    rows += ((f"  {name}", _with_share(size, stats.cells)) for name, size in stats.bytes.items() if size)
    if stats.segments:
        superseded = f", with {stats.superseded_tables:,} superseded tables" if stats.superseded_tables else ""
        rows.append(("segments", f"{stats.segments:,}{superseded}"))
        if stats.changes:
            changes = f"{stats.changes:,} since it was built or compacted, the last at {stats.changed}"
            rows.append(("changes", changes))
    rows.append(("versions", ", ".join(f"{name} {text}" for name, text in stats.versions.items())))
    show_overview(stats, rows)
    for text, needed in stats.outgrown.items():
        say(f"{text}: the corpus has outgrown its alpha, equation 5 asks for {needed}: rebuild it")
    say_worth_compacting(stats.worth_compacting, stats.address)


def contents(stats: mate.Stats) -> list[tuple[str, str]]:
    """Return what an index holds, for people."""
    return [
        ("tables", f"{stats.tables:,}"),
        ("columns", f"{stats.columns:,} ({stats.columns / max(1, stats.tables):.1f} per table)"),
        ("rows", f"{stats.rows:,}"),
        ("cells indexed", f"{stats.cells:,}"),
        ("distinct tokens", f"{stats.distinct_tokens:,}"),
        ("super keys", ", ".join(stats.hashes) or "none"),
        ("rejects", f"{stats.rejects:,}"),
        ("size", _with_share(stats.total_bytes, stats.cells) + " bytes per cell"),
    ]


def _with_share(size: int, cells: int) -> str:
    return f"{size_text(size)}, {size / max(1, cells):.2f}"


def show_overview(stats: mate.Stats, rows: Iterable[tuple[str, str]]) -> None:
    """Print lines about an index."""
    say(f"{stats.address}{f' [{stats.label}]' if stats.label else ''}")
    show(table(("", ""), rows))


def _run_check(options: argparse.Namespace) -> int:
    """Check an index, repair it if asked to, and print what was found."""
    repaired = None
    with ProgressBar("check") as bar:
        findings = mate.check(options.store, bar)
        if options.repair and findings.repairable:
            repaired = mate.repair(options.store, findings, **chosen(options, mate.ChangeOptions, progress=bar))
    if options.json:
        print_json(findings.as_json() | ({"repaired": repaired.sound} if repaired else {}))
    else:
        _print_findings(findings, options)
        if repaired:
            left = len(repaired.problems)
            say(f"{options.store} {'was repaired and is sound' if repaired.sound else f'still has {left:,} problems'}")
    return 0 if findings.sound or (repaired is not None and repaired.sound) else 1


def _print_findings(findings: mate.Findings, options: argparse.Namespace) -> None:
    if findings.sound:
        say(f"{options.store} is sound: {findings.cells:,} postings checked")
        return
    total = len(findings.problems)
    shown = findings.problems[: options.limit]
    rows = [(p.part, p.segment, "" if p.table_id is None else p.table_id, p.text) for p in shown]
    show(table(("part", "segment", "table", "problem"), rows))
    if total > len(rows):
        by_part = ", ".join(f"{count:,} in {part}" for part, count in findings.counts.items())
        say(f"and {total - len(rows):,} more: {by_part}")
    if not findings.repairable:
        hint = f"replace it with a copy, or build it again: mate index PATH --store {options.store}"
        say(f"{options.store} is damaged and cannot be repaired: {hint}")
    elif not options.repair:
        hint = f"{total:,} problems. To repair it: mate check --repair --store {options.store}"
        say(f"{options.store} is not sound: {hint}")


def _run_vertica_check(options: argparse.Namespace) -> int:
    """Try every statement; return 1 if something did not hold."""
    folder = Path(options.output).absolute().parent
    if not os.access(folder, os.W_OK):
        raise MateError(f"cannot write to {folder}: name another file with -o")
    found = []
    try:
        with closing(mate.check_vertica(options.address)) as findings:
            for finding in findings:
                found.append(finding)
                word, line = "held" if finding.held else "FAILED", finding.detail.partition("\n")[0]
                say(f"{word:6}  {finding.trial}  {line}")
    finally:
        if found:
            with replacing(Path(options.output)) as stream:
                stream.write(json.dumps([asdict(finding) for finding in found], indent=1).encode())
            say(f"written to {options.output}: please send it to us")
    return int(not all(finding.held for finding in found))
