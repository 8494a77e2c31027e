"""Many queries at once: each is answered in one or several shares of a lake's segments, and the shares are merged.

A table lives in exactly one segment, and all that an answer says of it (joinability, evidence, names) follows from the
query and this table. So the k best of all segments are among the k best of each share, in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from mate.errors import ChangedError, MateError, StoreError
from mate.lake.base import Index
from mate.lake.folder import LakeFolder, open_segments
from mate.lake.manifest import Manifest
from mate.lake.remote import RemoteLake, published_manifest
from mate.search.engine import SearchSettings
from mate.search.evidence import Evidence
from mate.search.evidence.ranking import JOINABILITY, Rank
from mate.search.query import QueryTable
from mate.search.results import Result
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

    def merge(self, shares: Sequence[Answered]) -> Answered:
        """Return the answer of a whole lake, given those of shares of its segments."""
        for share in shares:
            if share.error is not None:
                return share
        every = [answer for share in shares for answer in share.answers]
        k = self.settings.k
        if self.settings.rank != JOINABILITY:
            best = sorted(every, key=lambda answer: Rank.of(answer.evidence, answer.table_id))[:k]
        else:  # the k are chosen by number where they tie, and shown by uniqueness
            best = sorted(every, key=lambda answer: (-answer.joinability, answer.table_id))[:k]
            best.sort(key=lambda answer: (-answer.joinability, -answer.evidence.uniqueness, answer.table_id))
        return Answered(shares[0].query, tuple(best))


@dataclass(frozen=True)
class Share:
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
def _opened(share: Share) -> LakeFolder:
    manifest = Manifest.from_json(share.manifest, share.address)
    remote = RemoteLake(share.address) if is_remote(share.address) else None
    try:
        path = remote.fetch_segments(manifest, share.segments) if remote else Path(share.address)
        return LakeFolder(path, manifest, open_segments(path, manifest, share.segments))
    except StoreError:
        if published_manifest(share.address).to_json() != share.manifest:
            raise ChangedError(f"{shown(share.address)} was changed during the work: start it again") from None
        raise


def shares_of(lake: LakeFolder, most: int) -> list[Share]:
    """Divide the segments of a lake into up to `most` shares of about as many cells."""
    records = lake.manifest.segments
    shares: list[list[int]] = [[] for _ in range(max(1, min(most, len(records))))]
    cells = [0] * len(shares)
    for number in sorted(range(len(records)), key=lambda number: -records[number].counts.cells):
        smallest = cells.index(min(cells))
        shares[smallest].append(number)
        cells[smallest] += records[number].counts.cells
    address = lake.address if is_remote(lake.address) else str(lake.path.resolve())
    manifest = lake.manifest.to_json()
    return [Share(address, manifest, tuple(sorted(share))) for share in shares]


def in_slices(count: int, slices: int) -> Iterator[range]:
    """Yield up to `slices` ranges of about the same size that make up ``range(count)``."""
    bounds = [count * number // slices for number in range(slices + 1)]
    for start, stop in pairwise(bounds):
        if stop > start:
            yield range(start, stop)
