"""`mate stats`: what an index holds."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands
    from mate.index.base import Index
    from mate.index.manifest import Manifest

EPILOG = """\
examples:
  mate stats --store lake.mate
  mate stats --store lake.mate --rejects
  mate stats --store lake.mate --tables | head
  mate stats --store lake.mate --json
"""

MANY_SEGMENTS = 16
MUCH = 0.1
"""Compacting is advised from so many segments on, or from this share of superseded cells on."""


def add(commands: Commands) -> None:
    """Declare the command."""
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
    parser.add_argument("--limit", type=int, default=1_000, help="most lines of a list (default: 1,000)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print what was asked for."""
    from mate.cli.terminal import console, table
    from mate.errors import MateError
    from mate.open import open_index

    if options.limit < 0:
        raise MateError(f"--limit takes a whole number from 0 on, not {options.limit}")
    with open_index(options.store) as index:
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


def _tables(index: Index, limit: int) -> list[dict[str, object]]:
    return [
        {"table_id": t.table_id, "name": t.name, "rows": t.rows, "columns": len(t.columns), "source": t.source}
        for t in index.tables()[:limit]
    ]


def _overview(index: Index, *, as_json: bool) -> int:
    from mate.cli.terminal import console, table

    manifest, sizes = index.manifest, index.sizes()
    if as_json:
        record = {"manifest": json.loads(manifest.to_json()), "bytes": sizes, "outgrown": outgrown(manifest)}
        print(json.dumps(record, ensure_ascii=False, indent=1))  # noqa: T201
        return 0
    counts, total = manifest.counts, sum(sizes.values())
    cells = max(1, counts.cells)
    rows = [
        ("built", manifest.built),
        ("tables", f"{counts.tables:,}"),
        ("columns", f"{counts.columns:,} ({counts.columns / max(1, counts.tables):.1f} per table)"),
        ("rows", f"{counts.rows:,}"),
        ("cells indexed", f"{counts.cells:,}"),
        ("distinct tokens", f"{manifest.distinct_tokens:,}"),
        ("super keys", ", ".join(map(str, manifest.hashes)) or "none"),
        ("rejects", f"{counts.rejects:,}"),
        ("size", f"{megabytes(total)} ({total / cells:.2f} bytes per cell)"),
        *((f"  {name}", f"{megabytes(size)} ({size / cells:.2f})") for name, size in sizes.items() if size),
        *_segments(manifest),
        ("versions", ", ".join(f"{name} {text}" for name, text in manifest.versions.items())),
    ]
    label = f" [{manifest.label}]" if manifest.label else ""
    console().print(f"{index.address}{label}", markup=False, soft_wrap=True)
    console().print(table(("", ""), rows))
    for text, needed in outgrown(manifest).items():
        console().print(f"{text}: the corpus has outgrown its alpha, equation 5 asks for {needed}: rebuild it")
    if hint := compact_hint(index):
        console().print(hint, markup=False, soft_wrap=True)
    return 0


def _segments(manifest: Manifest) -> list[tuple[str, str]]:
    """Return what the index is made of and what was changed since it was built, for people."""
    if not manifest.segments:
        return []
    superseded = sum(len(segment.superseded_tables) for segment in manifest.segments)
    segments = f"{len(manifest.segments):,}" + (f", with {superseded:,} superseded tables" if superseded else "")
    changes = f"{manifest.operations:,} since it was built or compacted, the last at {manifest.changed}"
    return [("segments", segments), *([("changes", changes)] if manifest.operations else [])]


def compact_hint(index: Index) -> str:
    """Return advice to compact where it pays: many small segments, or much that is superseded."""
    segments = index.manifest.segments
    stored = sum(segment.counts.cells for segment in segments)
    if len(segments) < MANY_SEGMENTS and stored <= (1 + MUCH) * index.manifest.counts.cells:
        return ""
    from mate.build.compact import worth_merging
    from mate.index.lake import Lake

    merged = worth_merging(index) if isinstance(index, Lake) else []
    if not merged:
        return ""
    what = f"{len(merged):,} segments are small or hold superseded tables"
    return f"{what}; mate compact --store {index.address} merges them"


def outgrown(manifest: Manifest) -> dict[str, int]:
    """Return the XASH functions of an index whose alpha is too small for it by now, and the alpha of equation 5."""
    from mate.hashing.xash import alpha_for

    found = ((spec, alpha_for(spec.bits, manifest.distinct_tokens)) for spec in manifest.hashes if spec.name == "xash")
    return {str(spec): alpha for spec, alpha in found if alpha > spec.parameters["alpha"]}


def megabytes(size: int) -> str:
    """Return a size for people."""
    value, unit = float(size), "bytes"
    for larger in ("kB", "MB", "GB", "TB"):
        if value < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:,.0f} {unit}" if unit == "bytes" else f"{value:,.1f} {unit}"
