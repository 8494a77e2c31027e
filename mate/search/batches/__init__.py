"""Many queries at once: each is answered in partitions of a lake's segments, and the answers are merged.

A table lives in exactly one segment, and all that an answer says of it (joinability, evidence, names) follows from the
query and this table. So the k best of all segments are among the k best of each partition, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from mate.errors import ChangedError, MateError, StoreError
from mate.lake.base import Index
from mate.lake.folder import LakeFolder, open_segments, require_folder
from mate.lake.manifest import Manifest
from mate.lake.remote import RemoteLake, published_manifest
from mate.search.evidence import Evidence
from mate.search.evidence.ranking import JOINABILITY, Rank
from mate.search.query import QueryTable
from mate.search.results import Result
from mate.search.settings import SearchSettings
from mate.search.systems import find_system
from mate.storage import is_remote, shown


@dataclass(frozen=True)
class BatchQuery:
    """One query of a batch."""

    name: str
    """What its answers are known by; no other query of the batch has it."""
    table: QueryTable
    key: tuple[str, ...]
    exclude: frozenset[int] = frozenset()
    """Tables that are not wanted."""


@dataclass(frozen=True)
class BatchAnswer:
    """One table that joins with a query, as plain data that can be sent."""

    table_id: int
    table: str
    source: str
    mapping: dict[str, str]
    """Key column of the query to column of the table."""
    evidence: Evidence

    @classmethod
    def of(cls, result: Result) -> BatchAnswer:
        """Return the answer that a search gave."""
        table = result.table
        return cls(table.table_id, table.name, table.source, result.mapping, result.evidence)

    @property
    def joinability(self) -> int:
        """Key tuples that the table holds."""
        return self.evidence.joinability


@dataclass(frozen=True)
class Answered:
    """A query that was answered, or the reason why it was not."""

    query: str
    answers: tuple[BatchAnswer, ...] = ()
    """Best first."""
    error: str | None = None


@dataclass(frozen=True)
class BatchSearch:
    """How the queries of a batch are answered."""

    system: str
    settings: SearchSettings

    def answer(self, index: Index, query: BatchQuery) -> Answered:
        """Answer one query; what is wrong with it is its answer, and no end of the batch."""
        search = find_system(self.system)
        settings = replace(self.settings, exclude=self.settings.exclude | query.exclude)
        try:
            found = search(index, query.table, query.key, None, settings)
            return Answered(query.name, tuple(BatchAnswer.of(result) for result in found.results))
        except MateError as error:
            return Answered(query.name, error=str(error))

    def merge(self, partitions: Sequence[Answered]) -> Answered:
        """Return the answer of a whole lake, given those of partitions of its segments."""
        for partition in partitions:
            if partition.error is not None:
                return partition
        every = [answer for partition in partitions for answer in partition.answers]
        k = self.settings.k
        if self.settings.rank != JOINABILITY:
            best = sorted(every, key=lambda answer: Rank.of(answer.evidence, answer.table_id))[:k]
        else:  # the k are chosen by number where they tie, and shown by uniqueness
            best = sorted(every, key=lambda answer: (-answer.joinability, answer.table_id))[:k]
            best.sort(key=lambda answer: (-answer.joinability, -answer.evidence.uniqueness, answer.table_id))
        return Answered(partitions[0].query, tuple(best))


@dataclass(frozen=True)
class Partition:
    """Segments of a lake in one state, to be opened by whoever answers queries in them."""

    address: str
    manifest: str
    """As JSON."""
    segments: tuple[int, ...]
    """Their numbers in the manifest."""

    def open(self) -> LakeFolder:
        """Map the segments; a process that has done so keeps them for the next task."""
        return _opened(self)


@lru_cache(maxsize=4)
def _opened(partition: Partition) -> LakeFolder:
    manifest = Manifest.from_json(partition.manifest, partition.address)
    remote = RemoteLake(partition.address) if is_remote(partition.address) else None
    try:
        path = remote.fetch_segments(manifest, partition.segments) if remote else Path(partition.address)
        return LakeFolder(path, manifest, open_segments(path, manifest, partition.segments))
    except StoreError:
        if published_manifest(partition.address).to_json() != partition.manifest:
            raise ChangedError(f"{shown(partition.address)} was changed during the work: start it again") from None
        raise


def partitions_of(lake: LakeFolder, most: int) -> list[Partition]:
    """Divide the segments of a lake into up to `most` partitions of about as many cells."""
    records = lake.manifest.segments
    partitions: list[list[int]] = [[] for _ in range(max(1, min(most, len(records))))]
    cells = [0] * len(partitions)
    for number in sorted(range(len(records)), key=lambda number: -records[number].counts.cells):
        smallest = cells.index(min(cells))
        partitions[smallest].append(number)
        cells[smallest] += records[number].counts.cells
    address = lake.address if is_remote(lake.address) else str(lake.path.resolve())
    manifest = lake.manifest.to_json()
    return [Partition(address, manifest, tuple(sorted(partition))) for partition in partitions]


@dataclass(frozen=True)
class BatchTasks:
    """Tasks that answer queries wherever the lake's folder can be read, and how their results are put together.

    The queries travel with the function, once for each machine, and not with each item.
    """

    items: list[tuple[Partition, list[int]]]
    """A task each: a partition of the segments, and the queries by their numbers."""
    queries: list[BatchQuery]
    search: BatchSearch

    def answer(self, item: tuple[Partition, list[int]]) -> tuple[list[Answered], dict[str, int]]:
        """Answer the queries of a task."""
        partition, numbers = item
        lake = partition.open()
        return [self.search.answer(lake, self.queries[number]) for number in numbers], {}

    def merge(self, results: Sequence[list[Answered]]) -> list[Answered]:
        """Return the answer to each query, given what the tasks found."""
        partitions: list[list[Answered]] = [[] for _ in self.queries]
        for (_, numbers), answered in zip(self.items, results, strict=True):
            for number, one in zip(numbers, answered, strict=True):
                partitions[number].append(one)
        return [self.search.merge(found) for found in partitions]


def batch_tasks(index: Index, queries: list[BatchQuery], search: BatchSearch, tasks: int) -> BatchTasks:
    """Cut a batch into about so many tasks: by segments first, then by queries."""
    partitions = partitions_of(require_folder(index, "a batch on Spark is for"), tasks)
    slices = np.array_split(np.arange(len(queries)), -(-tasks // len(partitions)))
    numbers = [some.tolist() for some in slices if len(some)]
    return BatchTasks([(partition, some) for some in numbers for partition in partitions], queries, search)
