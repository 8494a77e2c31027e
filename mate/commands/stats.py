"""`mate stats`: what an index holds."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.commands import Commands
    from mate.store import IndexStore

EPILOG = """\
examples:
  mate stats --store lake.duckdb
  mate stats --store lake.duckdb --rejects
  mate stats --store lake.duckdb --tables | head
  mate stats --store lake.duckdb --json
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "stats",
        help="show what an index holds, and what was rejected",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--store", required=True, metavar="FILE", help="the index")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--rejects", action="store_true", help="list what was not indexed: file, line, reason")
    what.add_argument("--tables", action="store_true", help="list the tables")
    what.add_argument("--sources", action="store_true", help="list the files that were read")
    parser.add_argument("--limit", type=int, default=1_000, help="most lines of a list (default: 1,000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    from mate.errors import MateError
    from mate.store import open_store
    from mate.terminal import console, table

    if options.limit < 0:
        raise MateError(f"--limit takes a whole number from 0 on, not {options.limit}")
    with open_store(options.store) as index:
        if options.rejects:
            header, records = ("source", "line", "kind", "count", "reason"), index.rejects(options.limit)
        elif options.sources:
            header, records = ("source", "format", "bytes", "tables", "sha256"), index.sources()[: options.limit]
        elif options.tables:
            header, records = ("table_id", "name", "rows", "columns", "source"), _tables(index, options.limit)
        else:
            return _overview(index, as_json=options.json)
    if options.json:
        print(json.dumps(records, ensure_ascii=False, indent=1))  # noqa: T201
    else:
        rows = [["" if record[name] is None else record[name] for name in header] for record in records]
        console().print(table(header, rows))
    return 0


def _tables(index: IndexStore, limit: int) -> list[dict[str, object]]:
    from mate.store.base import as_ids

    wanted = as_ids(range(min(limit, index.manifest.tables)))
    return [
        {"table_id": t.table_id, "name": t.name, "rows": t.rows, "columns": len(t.columns), "source": t.source}
        for t in index.tables(wanted)
    ]


def _overview(index: IndexStore, *, as_json: bool) -> int:
    from mate.hashing.xash import alpha_for
    from mate.terminal import console, table

    manifest, sizes = index.manifest, index.sizes()
    if as_json:
        print(json.dumps({"manifest": json.loads(manifest.to_json()), "bytes": sizes}, ensure_ascii=False, indent=1))  # noqa: T201
        return 0
    rows = [
        ("built", manifest.built),
        ("tables", f"{manifest.tables:,}"),
        ("columns", f"{manifest.columns:,} ({manifest.columns / max(1, manifest.tables):.1f} a table)"),
        ("rows", f"{manifest.rows:,}"),
        ("cells indexed", f"{manifest.cells:,}"),
        ("distinct tokens", f"{manifest.distinct_tokens:,}"),
        ("super keys", f"{', '.join(map(str, manifest.hashes))} ({manifest.layout})"),
        ("rejects", f"{manifest.rejects:,}"),
        ("size", f"{megabytes(sizes['file'])} ({sizes['file'] / max(1, manifest.cells):.1f} bytes a cell)"),
        *((f"  {name}", megabytes(size)) for name, size in sizes.items() if name != "file" and size),
        ("versions", ", ".join(f"{name} {text}" for name, text in manifest.versions.items())),
    ]
    label = f" [{manifest.label}]" if manifest.label else ""
    console().print(f"{index.address}{label}", markup=False, soft_wrap=True)
    console().print(table(("", ""), rows))
    for spec in manifest.hashes:
        needed = alpha_for(spec.bits, manifest.distinct_tokens)
        if spec.name == "xash" and needed > spec.parameters["alpha"]:
            console().print(f"{spec}: the corpus has outgrown its alpha, equation 5 asks for {needed}: rebuild it")
    return 0


def megabytes(size: int) -> str:
    """Return a size for people."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
