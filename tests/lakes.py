"""Small lakes for tests: tables given as lists, indexed in this process without Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build_sources
from mate.build.duckdb_target import DuckDBTarget
from mate.corpus import Chunk, Limits, Table
from mate.store import IndexStore, open_store

Rows = Sequence[Sequence[str | None]]


@dataclass(frozen=True)
class ListSource:
    """A table that is already in memory."""

    rows: Rows
    name: str
    header: tuple[str, ...]
    format: str = "list"
    size: int = 1

    def read(self, limits: Limits) -> Iterator[Chunk]:
        cells = pa.array([cell for row in self.rows for cell in row], pa.string())
        yield Chunk(Table(self.name, 0, 1, self.name, self.header), 0, cells)

    def checksum(self) -> str:
        return self.name


def lake(
    path: Path,
    tables: Sequence[Rows],
    hashes: Sequence[HashRequest] = (HashRequest(),),
    layout: str = "per_cell",
    headers: Sequence[Sequence[str]] | None = None,
    josie: bool = False,
) -> IndexStore:
    """Index the tables, in this order and with these numbers, and open the index."""
    sources = [
        ListSource(rows, f"table {i}", tuple(headers[i]) if headers else tuple(f"c{c}" for c in range(len(rows[0]))))
        for i, rows in enumerate(tables)
    ]
    settings = BuildSettings(hashes=tuple(hashes), layout=layout, master="none", josie=josie)
    with DuckDBTarget(path) as target:
        build_sources(list(sources), target, settings)
    return open_store(str(path))
