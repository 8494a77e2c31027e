"""Counts, settings and sizes of an index."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from mate.hashing.xash import alpha_for
from mate.lake.base import Index


@dataclass(frozen=True)
class Stats:
    """What an index holds."""

    address: str
    tables: int
    columns: int
    rows: int
    cells: int
    """Cells with a value, which are indexed."""
    rejects: int
    """Files, records and rows that were not indexed."""
    distinct_tokens: int
    """Counted when the index was built or compacted."""
    hashes: tuple[str, ...]
    """Hash functions of its super keys."""
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
    """The manifest as plain data."""

    @property
    def total_bytes(self) -> int:
        """Size of the whole index."""
        return sum(self.bytes.values())

    @classmethod
    def of(cls, index: Index) -> Self:
        """Return the statistics of an index."""
        from mate.build.changes.change import worth_merging  # loads what builds indexes

        manifest = index.manifest
        outgrown = {}
        for spec in manifest.hashes:
            if spec.name == "xash":
                needed = alpha_for(spec.bits, manifest.distinct_tokens)
                if needed > spec.parameters["alpha"]:
                    outgrown[str(spec)] = needed
        return cls(
            address=index.address,
            **asdict(manifest.counts),
            **{name: getattr(manifest, name) for name in ("distinct_tokens", "label", "built", "changed")},
            hashes=tuple(map(str, manifest.hashes)),
            bytes=index.sizes(),
            segments=len(manifest.segments),
            superseded_tables=sum(len(segment.superseded_tables) for segment in manifest.segments),
            changes=manifest.operations,
            versions=dict(manifest.versions),
            outgrown=outgrown,
            worth_compacting=len(worth_merging(manifest)) if manifest.is_scattered else 0,
            manifest=json.loads(manifest.to_json()),
        )
