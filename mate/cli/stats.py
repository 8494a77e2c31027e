"""`mate stats`: what an index holds."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mate.display import size_text

if TYPE_CHECKING:
    from mate import Lake, Stats
    from mate.cli import Commands

EPILOG = """\
examples:
  mate stats --store lake.mate
  mate stats --store lake.mate --rejects
  mate stats --store lake.mate --tables | head
  mate stats --store lake.mate --json
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    from mate.cli.options import whole

    parser = commands.add_parser(
        "stats",
        help="show what an index holds, and what was rejected",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", required=True, metavar="LAKE", help="the index")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rejects", action="store_true", help="list what was not indexed: file, line, reason")
    what.add_argument("--tables", action="store_true", help="list the tables")
    what.add_argument("--sources", action="store_true", help="list the files that were read")
    parser.add_argument(
        "--limit", type=whole("--limit", 0), default=1_000, metavar="N", help="most lines of a list (default: 1,000)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    import mate
    from mate.cli.terminal import print_json, show, table

    with mate.open(options.store) as lake:
        if options.rejects:
            header, records = ("source", "line", "kind", "count", "reason"), lake.rejects(options.limit)
        elif options.sources:
            header, records = ("source", "format", "bytes", "tables", "sha256"), lake.sources()[: options.limit]
        elif options.tables:
            header, records = ("table_id", "name", "rows", "columns", "source"), _tables(lake, options.limit)
        else:
            _overview(lake.stats(), as_json=options.json)
            return 0
    if options.json:
        print_json(records)
    else:
        rows = [["" if record[name] is None else record[name] for name in header] for record in records]
        show(table(header, rows))
    return 0


def _tables(lake: Lake, limit: int) -> list[dict[str, object]]:
    return [
        {"table_id": t.table_id, "name": t.name, "rows": t.rows, "columns": len(t.columns), "source": t.source}
        for t in lake.tables()[:limit]
    ]


def _overview(stats: Stats, *, as_json: bool) -> None:
    from mate.cli.changes import say_worth_compacting
    from mate.cli.terminal import print_json, say, show, table

    if as_json:
        print_json({"manifest": stats.manifest, "bytes": stats.bytes, "outgrown": stats.outgrown})
        return
    say(f"{stats.address}{f' [{stats.label}]' if stats.label else ''}")
    show(table(("", ""), _rows(stats)))
    for text, needed in stats.outgrown.items():
        say(f"{text}: the corpus has outgrown its alpha, equation 5 asks for {needed}: rebuild it")
    say_worth_compacting(stats.worth_compacting, stats.address)


def _rows(stats: Stats) -> list[tuple[str, str]]:
    cells, total = max(1, stats.cells), stats.total_bytes
    return [
        ("built", stats.built),
        ("tables", f"{stats.tables:,}"),
        ("columns", f"{stats.columns:,} ({stats.columns / max(1, stats.tables):.1f} per table)"),
        ("rows", f"{stats.rows:,}"),
        ("cells indexed", f"{stats.cells:,}"),
        ("distinct tokens", f"{stats.distinct_tokens:,}"),
        ("super keys", ", ".join(stats.hashes) or "none"),
        ("rejects", f"{stats.rejects:,}"),
        ("size", f"{size_text(total)} ({total / cells:.2f} bytes per cell)"),
        *((f"  {name}", f"{size_text(size)} ({size / cells:.2f})") for name, size in stats.bytes.items() if size),
        *_segments(stats),
        ("versions", ", ".join(f"{name} {text}" for name, text in stats.versions.items())),
    ]


def _segments(stats: Stats) -> list[tuple[str, str]]:
    """Return what the index is made of and what was changed since it was built."""
    if not stats.segments:
        return []
    superseded = f", with {stats.superseded_tables:,} superseded tables" if stats.superseded_tables else ""
    changes = f"{stats.changes:,} since it was built or compacted, the last at {stats.changed}"
    return [("segments", f"{stats.segments:,}{superseded}"), *([("changes", changes)] if stats.changes else [])]
