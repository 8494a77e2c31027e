"""`mate stats`: what an index holds."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands
    from mate.store import IndexStore
    from mate.store.base import Manifest

EPILOG = """\
examples:
  mate stats --store lake.duckdb
  mate stats --store lake.duckdb --rejects
  mate stats --store lake.duckdb --tables | head
  mate stats --store lake.duckdb --json
"""

COMPACT_FROM = 0.1
"""Share of rows that were written or are dead, from which on compacting is advised."""


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
    from mate.cli.terminal import console, table
    from mate.errors import MateError
    from mate.store import open_store

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

    # Of an index that was changed, numbers may be missing; of one that was not, only those asked for are read.
    first = as_ids(range(min(limit, index.manifest.tables)))
    tables = index.tables() if index.changes else index.tables(first)
    if len(tables) < len(first):
        tables = index.tables()
    return [
        {"table_id": t.table_id, "name": t.name, "rows": t.rows, "columns": len(t.columns), "source": t.source}
        for t in tables[:limit]
    ]


def _overview(index: IndexStore, *, as_json: bool) -> int:
    from mate.cli.terminal import console, table
    from mate.store.changes import changes_path

    manifest, sizes = index.manifest, index.sizes()
    if as_json:
        changes = {"changes": asdict(index.changes)} if index.changes else {}
        record = {"manifest": json.loads(manifest.to_json()), "bytes": sizes, **changes, "outgrown": outgrown(manifest)}
        print(json.dumps(record, ensure_ascii=False, indent=1))  # noqa: T201
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
        *_changed(index),
    ]
    label = f" [{manifest.label}]" if manifest.label else ""
    console().print(f"{index.address}{label}", markup=False, soft_wrap=True)
    console().print(table(("", ""), rows))
    if index.changes is None and changes_path(index.address).is_file():
        stale = f"{changes_path(index.address)} belongs to another build of this index and is not used"
        console().print(stale, markup=False, soft_wrap=True)
    for text, needed in outgrown(manifest).items():
        console().print(f"{text}: the corpus has outgrown its alpha, equation 5 asks for {needed}: rebuild it")
    if index.changes and index.changes.rows + index.changes.dead_rows > manifest.rows * COMPACT_FROM:
        hint = f"the changes are large; mate compact --store {index.address} folds them in"
        console().print(hint, markup=False, soft_wrap=True)
    return 0


def outgrown(manifest: Manifest) -> dict[str, int]:
    """Return the XASH functions of an index whose alpha is too small for it by now, and the alpha of equation 5."""
    from mate.hashing.xash import alpha_for

    found = ((spec, alpha_for(spec.bits, manifest.distinct_tokens)) for spec in manifest.hashes if spec.name == "xash")
    return {str(spec): alpha for spec, alpha in found if alpha > spec.parameters["alpha"]}


def _changed(index: IndexStore) -> list[tuple[str, str]]:
    """Return what was changed since the index was built, for people."""
    changes = index.changes
    if changes is None:
        return []
    tables = (("added", changes.added_tables), ("changed", changes.changed_tables), ("removed", changes.removed_tables))
    return [
        ("changes", f"{changes.operations:,} since it was built, the last at {changes.last}"),
        ("  tables", ", ".join(f"{number:,} {verb}" for verb, number in tables)),
        ("  rows", f"{changes.rows:,} written, {changes.dead_rows:,} of the index as built are dead"),
    ]


def megabytes(size: int) -> str:
    """Return a size for people."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
