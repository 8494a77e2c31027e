"""`mate stats`: what an index holds."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import mate
from mate.cli import Commands
from mate.cli.changes import say_worth_compacting
from mate.cli.options import add_shared, add_whole
from mate.cli.terminal import print_json, say, show, table
from mate.display import size_text

EPILOG = """\
examples:
  mate stats --store lake.mate
  mate stats --store lake.mate --rejects
  mate stats --store lake.mate --tables | head
  mate stats --store lake.mate --json
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser("stats", help="show what an index holds, and what was rejected", epilog=EPILOG)
    add_shared(parser, "--store")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rejects", action="store_true", help="list what was not indexed: file, line, reason")
    what.add_argument("--tables", action="store_true", help="list the tables")
    what.add_argument("--sources", action="store_true", help="list the files that were read")
    add_whole(parser, "--limit", "how many lines to list at most", 1_000, least=0)
    add_shared(parser, "--json")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print an overview or a list."""
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
            _print_overview(lake.stats(), as_json=options.json)
            return 0
    if options.json:
        print_json(records)
    else:
        show(table(header, [["" if record[name] is None else record[name] for name in header] for record in records]))
    return 0


def _print_overview(stats: mate.Stats, *, as_json: bool) -> None:
    if as_json:
        print_json({"manifest": stats.manifest, "bytes": stats.bytes, "outgrown": stats.outgrown})
        return
    rows = [("built", stats.built), *contents(stats)]
    cells, sizes = max(1, stats.cells), stats.bytes.items()
    rows += [(f"  {name}", f"{size_text(size)} ({size / cells:.2f})") for name, size in sizes if size]
    if stats.segments:
        superseded = f", with {stats.superseded_tables:,} superseded tables" if stats.superseded_tables else ""
        rows.append(("segments", f"{stats.segments:,}{superseded}"))
        if stats.changes:
            changes = f"{stats.changes:,} since it was built or compacted, the last at {stats.changed}"
            rows.append(("changes", changes))
    rows.append(("versions", ", ".join(f"{name} {text}" for name, text in stats.versions.items())))
    show_stats(stats, rows)
    for text, needed in stats.outgrown.items():
        say(f"{text}: the corpus has outgrown its alpha, equation 5 asks for {needed}: rebuild it")
    say_worth_compacting(stats.worth_compacting, stats.address)


def show_stats(stats: mate.Stats, rows: Sequence[tuple[str, str]]) -> None:
    """Print the address of an index, and a table about it."""
    say(f"{stats.address}{f' [{stats.label}]' if stats.label else ''}")
    show(table(("", ""), rows))


def contents(stats: mate.Stats) -> list[tuple[str, str]]:
    """Return the counts of an index as text."""
    return [
        ("tables", f"{stats.tables:,}"),
        ("columns", f"{stats.columns:,} ({stats.columns / max(1, stats.tables):.1f} per table)"),
        ("rows", f"{stats.rows:,}"),
        ("cells indexed", f"{stats.cells:,}"),
        ("distinct tokens", f"{stats.distinct_tokens:,}"),
        ("super keys", ", ".join(stats.hashes) or "none"),
        ("rejects", f"{stats.rejects:,}"),
        ("size", f"{size_text(stats.total_bytes)} ({stats.total_bytes / max(1, stats.cells):.2f} bytes per cell)"),
    ]
