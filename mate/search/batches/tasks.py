"""A batch cut into tasks: some of the queries, in a share of a lake's segments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mate.lake.base import Index
from mate.lake.folder import require_folder
from mate.search.batches import Answered, BatchQuery, BatchSearch, Share, in_slices, shares_of


@dataclass(frozen=True)
class BatchTasks:
    """Tasks that answer queries wherever the lake's folder can be read, and how their results are put together.

    The queries travel with the function, once for each machine, and not with each item.
    """

    items: list[tuple[Share, range]]
    """A task each: a share of the segments, and the queries by their numbers."""
    queries: list[BatchQuery]
    search: BatchSearch

    def answer(self, item: tuple[Share, range]) -> tuple[list[Answered], dict[str, int]]:
        """Answer the queries of a task."""
        share, numbers = item
        lake = share.open()
        return [self.search.answer(lake, self.queries[number]) for number in numbers], {}

    def merge(self, results: Sequence[list[Answered]]) -> list[Answered]:
        """Return the answer to each query, given what the tasks found."""
        shares: list[list[Answered]] = [[] for _ in self.queries]
        for (_, numbers), answered in zip(self.items, results, strict=True):
            for number, one in zip(numbers, answered, strict=True):
                shares[number].append(one)
        return [self.search.merge(found) for found in shares]


def batch_tasks(index: Index, queries: list[BatchQuery], search: BatchSearch, tasks: int) -> BatchTasks:
    """Cut a batch into about so many tasks: by segments first, then by queries."""
    shares = shares_of(require_folder(index, "a batch on Spark is for"), tasks)
    slices = list(in_slices(len(queries), -(-tasks // len(shares))))
    return BatchTasks([(share, numbers) for numbers in slices for share in shares], queries, search)
