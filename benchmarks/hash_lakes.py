"""Hash functions end to end: one index with the super keys of all, Algorithm 1 with each of them on the same queries.

The paper's settings: initial column by cardinality, tables bounded by their postings, no semi-join. SCR, without a row
filter, says what there is to filter.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.hash_contestants import Contestant
from experiments.definitions import digest
from experiments.lakes import of_folder
from experiments.queries import Query, Shape, sample_queries
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.lake_target import LakeTarget
from mate.errors import MateError
from mate.lake.folder import MANIFEST, LakeFolder
from mate.search.engine import SearchSettings
from mate.search.systems import find_system
from mate.stores import open_index

SHAPES = (Shape(2, 10, whole=True), Shape(10, 100, whole=True), Shape(100, 1_000, whole=True))
"""Query sets by their distinct key tuples, as in the paper."""
PAPER = SearchSettings(initial_column="cardinality", tight_bound=False, semi_join=False)


@dataclass(frozen=True)
class LakeRun:
    """A lake, its queries, and how often each search runs."""

    index: LakeFolder
    queries: Sequence[Query]
    rounds: int

    def measure(self, contestant: Contestant) -> dict[str, Any]:
        """Search with a contestant's super keys, and with none in the same run."""
        manifest = self.index.manifest
        number = manifest.hash_number(contestant.name, contestant.bits)
        settings = SearchSettings(
            hash_name=contestant.name, bits=contestant.bits, initial_column="cardinality",
            tight_bound=False, semi_join=False,
        )  # fmt: skip
        searches = [self._query(query, settings) for query in self.queries]
        key_bytes = sum(int(segment.keys[number].nbytes) for segment in self.index.segments)
        return {
            "queries": searches,
            "key_bytes": key_bytes,
            "rows": manifest.counts.rows,
            "columns_per_row": _columns_per_row(self.index),
            "hash_parameters": str(manifest.hashes[number]),
        }

    def _query(self, query: Query, settings: SearchSettings) -> dict[str, Any]:
        """Answer a query with and without the filter in turn; the answers must be the same."""
        filtered, plain = find_system("mate"), find_system("scr")
        seconds: dict[str, list[float]] = {"filtered": [], "plain": []}
        for _ in range(self.rounds + 1):
            start = time.perf_counter()
            found = filtered(self.index, query.table, query.key, 10, settings)
            middle = time.perf_counter()
            right = plain(self.index, query.table, query.key, 10, PAPER)
            seconds["filtered"].append(middle - start)
            seconds["plain"].append(time.perf_counter() - middle)
        if [r.joinability for r in found.found] != [r.joinability for r in right.found]:
            raise MateError(f"{settings.hash_name}: query {query.name} has other answers than without a filter")
        told, unfiltered = found.statistics, right.statistics
        return {
            "query": query.name,
            "seconds": median(seconds["filtered"][1:]),
            "seconds_unfiltered": median(seconds["plain"][1:]),
            "true_positives": told.true_positives,
            "false_positives": told.false_positives,
            "false_positives_held": told.false_positives_held,
            "false_positives_unfiltered": unfiltered.false_positives,
            "precision": told.precision,
        }


def _columns_per_row(index: LakeFolder) -> float:
    """Return how many columns the table of a row has on average."""
    columns = rows = 0
    for segment in index.segments:
        first, height = segment.arrays.table_column_first, segment.arrays.table_row_first
        columns += int(((first[1:] - first[:-1]) * (height[1:] - height[:-1])).sum())
        rows += int(height[-1])
    return columns / max(1, rows)


def open_lake(where: str, contestants: Sequence[Contestant], results: Path) -> LakeFolder:
    """Return the lake at an address, or the index of a folder with the super keys of all contestants, built once."""
    if Path(where, MANIFEST).is_file():
        return _folder(where)
    corpus = of_folder("lake", Path(where))
    name = digest([corpus.fingerprint, [(c.name, c.bits, c.parameters, c.source) for c in contestants]])
    address = str(results / "lakes" / f"{Path(where).name}-{name}.mate")
    if not Path(address, MANIFEST).is_file():
        requests = tuple(HashRequest(c.name, c.bits, dict(c.parameters)) for c in contestants)
        with LakeTarget(address) as target:
            build(corpus.paths, target, BuildSettings(requests, master="none"))
    return _folder(address)


def _folder(address: str) -> LakeFolder:
    index = open_index(address)
    if not isinstance(index, LakeFolder):
        raise MateError(f"{address} is no lake of segments")
    return index


def draw_queries(index: LakeFolder, count: int, seed: int) -> list[Query]:
    """Return queries of all shapes, none of a table twice."""
    found: list[Query] = []
    for shape in SHAPES:
        used = {query.origin for query in found}
        found += sample_queries(index, count, shape, seed + shape.below, used)
    if not found:
        raise MateError(f"{index.address} has no table that can be a query: two columns that vary, 2 to 999 key tuples")
    return found
