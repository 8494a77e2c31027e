"""What an index holds and what it is made with."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mate.lake.base import Index
    from mate.lake.manifest import Manifest


@dataclass(frozen=True)
class Stats:
    """What an index holds, and the bytes of its parts."""

    address: str
    tables: int
    columns: int
    rows: int
    cells: int
    """Cells that have a value and so are indexed."""
    rejects: int
    """Files, records and rows that were not indexed."""
    distinct_tokens: int
    """When the index was built or compacted."""
    hashes: tuple[str, ...]
    """The hash functions of its super keys."""
    bytes: dict[str, int]
    """By part."""
    segments: int
    superseded_tables: int
    """Tables that later segments replace; compacting frees their space."""
    changes: int
    """Since the index was built or compacted."""
    label: str = ""
    built: str = ""
    changed: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    outgrown: dict[str, int] = field(default_factory=dict)
    """XASH functions whose alpha is too small for the corpus by now, and the alpha of equation 5."""
    worth_compacting: int = 0
    """Segments that `compact` would merge, where that pays."""
    manifest: dict[str, Any] = field(default_factory=dict, repr=False)
    """All that the index records of itself."""

    @property
    def total_bytes(self) -> int:
        """Size of the whole index."""
        return sum(self.bytes.values())


def stats_of(index: Index) -> Stats:
    """Return what an index holds."""
    manifest, counts = index.manifest, index.manifest.counts
    return Stats(
        address=index.address,
        tables=counts.tables,
        columns=counts.columns,
        rows=counts.rows,
        cells=counts.cells,
        rejects=counts.rejects,
        distinct_tokens=manifest.distinct_tokens,
        hashes=tuple(map(str, manifest.hashes)),
        bytes=index.sizes(),
        segments=len(manifest.segments),
        superseded_tables=sum(len(segment.superseded_tables) for segment in manifest.segments),
        changes=manifest.operations,
        label=manifest.label,
        built=manifest.built,
        changed=manifest.changed,
        versions=dict(manifest.versions),
        outgrown=_outgrown(manifest),
        worth_compacting=_worth_compacting(manifest),
        manifest=json.loads(manifest.to_json()),
    )


def _outgrown(manifest: Manifest) -> dict[str, int]:
    from mate.hashing.xash import alpha_for

    found = ((spec, alpha_for(spec.bits, manifest.distinct_tokens)) for spec in manifest.hashes if spec.name == "xash")
    return {str(spec): alpha for spec, alpha in found if alpha > spec.parameters["alpha"]}


def _worth_compacting(manifest: Manifest) -> int:
    """Return how many segments are worth merging."""
    if not manifest.is_scattered:
        return 0
    from mate.build.changes.compact import worth_merging

    return len(worth_merging(manifest))
