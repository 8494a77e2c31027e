"""JOSIE: the k sets of an index that share the most tokens with a query set, exactly (Zhu et al., SIGMOD 2019).

Posting lists are read in the global order, rarest tokens first, and give candidates with the part of their overlap seen
so far. At every step either the next lists or the most promising candidate sets are read, whichever the cost model
expects to save more reading later. Two filters bound what has to be read at all:

- *prefix filter*: a set first seen at some list can share no more than the query has from there on;
- *position filter*: nor, beyond what was seen, more tokens than it has after its last match.

The sets are the columns of a segment, the lists its directory (`baselines.systems.column_sets`). Two things are more
general than in the paper and equal to it by default: a query's token may count more than once (`weights`), and one may
ask for overlaps above a `floor` only. And a step reads several lists or sets by one look-up, about as many as cost what
the look-up costs by itself: the paper's batches of lists, on both sides.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from baselines.systems.column_sets import ColumnSets, ListItems, SetMembers
from baselines.systems.josie_costs import Costs, Seconds, costs_of
from mate.lake.base import Ids

Flags: TypeAlias = npt.NDArray[np.bool_]

BATCH = 4.0
"""A look-up reads lists, or sets, worth this many times its fixed cost."""
SAMPLE = 5
"""Lists that must have been read since a candidate's first match before its overlap is estimated."""


class Query(NamedTuple):
    """A set to search for, in the index's posting lists and the global order."""

    list_id: Ids
    weight: Ids
    """What a set gains by being in this list."""
    remaining: Ids
    """Sum of the weights from each list on, and 0 at the end."""
    heaviest: Ids
    """``heaviest[n]``: the most that n tokens of the query weigh."""
    cost: Seconds
    """Cost of reading the lists before each one, look-ups apart."""


@dataclass(slots=True)
class Reads:
    """What a search read."""

    lists: int = 0
    items: int = 0
    sets: int = 0
    look_ups: int = 0


class Found(NamedTuple):
    """The best sets, highest overlap first, and among equals the lowest number first."""

    set_id: Ids
    overlap: Ids
    reads: Reads


class Seen(NamedTuple):
    """Candidates, ascending by set: parallel arrays of what is known before they are read."""

    set_id: Ids
    overlap: Ids
    """With the lists read so far."""
    first: Ids
    """Place in the query of the first list they were seen in."""
    first_position: Ids
    position: Ids
    """Of their latest match."""
    size: Ids

    def where(self, chosen: Flags | Ids) -> Seen:
        """Return some of the candidates."""
        return Seen(*(column[chosen] for column in self))


class Options(NamedTuple):
    """What may be asked for besides the k sets with the highest overlap."""

    weights: Ids | None = None
    """How much each token of the query counts; 1 unless given."""
    floor: int = 0
    """Only overlaps above this are wanted."""
    exclude: Flags | None = None
    """Sets that are not wanted, as flags."""
    costs: Costs | None = None
    """What reading is taken to cost, instead of what was measured."""


def query_of(sets: ColumnSets, tokens: Ids, weights: Ids | None, costs: Costs) -> Query:
    """Put the lists of a query's distinct tokens, given by their places, into the global order."""
    counts = np.ones(len(tokens), np.int64) if weights is None else weights
    lists = sets.lists_of(tokens)
    order = np.argsort(lists)
    lists, weight = lists[order], counts[order]
    return Query(
        lists,
        weight,
        np.append(np.cumsum(weight[::-1])[::-1], 0),
        np.append(0, np.cumsum(np.sort(counts)[::-1])),
        np.append(0.0, np.cumsum(costs.lists.slope(sets.lengths(lists)))),
    )


def top_k(sets: ColumnSets, tokens: Ids, k: int, options: Options | None = None) -> Found:
    """Return the k sets with the highest overlap with a query set, whose distinct tokens are given by their places.

    The overlap is the number of tokens that both have, or the sum of their weights.
    """
    chosen = options or Options()
    costs = chosen.costs or costs_of(sets)
    return _Search(sets, query_of(sets, tokens, chosen.weights, costs), k, costs, chosen).run()


class Best:
    """The k best sets so far."""

    def __init__(self, k: int, floor: int = 0) -> None:
        self.k, self.floor = k, floor
        self._heap: list[tuple[int, int]] = []

    @property
    def missing(self) -> int:
        """How many sets there is room for yet."""
        return self.k - len(self._heap)

    @property
    def kth(self) -> int:
        """What an overlap must exceed to count."""
        return self._heap[0][0] if not self.missing else self.floor

    def push(self, set_ids: Ids, overlaps: Ids) -> None:
        """Take sets in, as far as they are good enough."""
        for overlap, set_id in zip(overlaps.tolist(), set_ids.tolist(), strict=True):
            if overlap > self.kth:
                (heapq.heappushpop if not self.missing else heapq.heappush)(self._heap, (overlap, -set_id))

    def kth_with(self, overlaps: Ids) -> int:
        """Return what `kth` would be with these overlaps, too."""
        together = np.append(np.array([overlap for overlap, _ in self._heap], np.int64), overlaps)
        if len(together) < self.k:
            return self.floor
        return max(self.floor, int(np.partition(together, -self.k)[-self.k]))

    def found(self, reads: Reads) -> Found:
        """Return the sets in order."""
        ranking = sorted(self._heap, reverse=True)
        overlaps, set_ids = np.array(ranking, np.int64).reshape(-1, 2).T
        return Found(-set_ids, overlaps, reads)


class _Search:
    """One search. `_next` is the place in the query of the next list to read."""

    def __init__(self, sets: ColumnSets, query: Query, k: int, costs: Costs, options: Options) -> None:
        self._sets, self._query, self._costs = sets, query, costs
        self._best = Best(k, options.floor)
        self._ignored = np.zeros(sets.sets, np.bool_) if options.exclude is None else options.exclude.copy()
        self._seen = nothing_seen()
        self._next = 0
        self._reads = Reads()

    def run(self) -> Found:
        last = len(self._query.list_id)
        while self._next < last and (len(self._seen.set_id) or not self._past_prefix):
            self._read_lists(self._batch_end())
            # As the paper: no set is read before there are k candidates.
            if self._next < last and (len(self._seen.set_id) >= self._best.missing or self._past_prefix):
                self._read_sets()
        # What was never read as a set was counted to the end.
        self._best.push(self._seen.set_id, self._seen.overlap)
        return self._best.found(self._reads)

    @property
    def _past_prefix(self) -> bool:
        """Whether a set not seen yet is out of the question."""
        return bool(self._query.remaining[self._next] <= self._best.kth)

    def _batch_end(self) -> int:
        """Return the place behind the next lists that are worth a look-up."""
        cost = self._query.cost
        worth = cost[self._next] + max(BATCH * self._costs.lists.call, cost[self._next])
        return min(max(int(np.searchsorted(cost, worth)), self._next + 1), len(cost) - 1)

    def _read_lists(self, stop: int) -> None:
        """Read lists up to a place in the query, and count."""
        items = self._sets.items(self._query.list_id[self._next : stop])
        self._reads.look_ups += 1
        self._reads.lists += stop - self._next
        self._reads.items += len(items.set_id)
        self._next = stop
        kept = ~self._ignored[items.set_id]
        self._seen = merge(self._seen, ListItems(*(column[kept] for column in items)), self._query)
        self._drop_hopeless()

    def _upper(self, seen: Seen) -> Ids:
        """Return the most that candidates can share with the query: prefix and position filter."""
        return seen.overlap + self._at_most(self._next, seen.size - seen.position - 1)

    def _at_most(self, place: int, tokens: Ids) -> Ids:
        heaviest = self._query.heaviest
        found: Ids = np.minimum(self._query.remaining[place], heaviest[np.minimum(tokens, len(heaviest) - 1)])
        return found

    def _drop_hopeless(self) -> None:
        self._drop(self._upper(self._seen) <= self._best.kth)

    def _drop(self, gone: Flags) -> None:
        """Forget candidates, now and when they are seen again."""
        self._ignored[self._seen.set_id[gone]] = True
        self._seen = self._seen.where(~gone)

    def _read_sets(self) -> None:
        """Read the most promising candidates for as long as that is expected to save more than reading lists."""
        while len(self._seen.set_id):
            batch = self._next_sets()
            if not len(batch):
                return
            ids = self._seen.set_id[batch]
            members = self._sets.members(ids, self._seen.position[batch] + 1)
            self._reads.look_ups += 1
            self._reads.sets += len(ids)
            self._best.push(ids, self._seen.overlap[batch] + suffix_overlap(members, ids, self._query))
            read = np.zeros(len(self._seen.set_id), np.bool_)
            read[batch] = True
            self._drop(read)
            self._drop_hopeless()

    def _next_sets(self) -> Ids:
        """Return which candidates to read next, none if lists are the better choice."""
        seen, kth = self._seen, self._best.kth
        cost = self._costs.sets.slope(seen.size - seen.position - 1)
        stop = self._batch_end()
        lists_cost = self._costs.lists.call + self._query.cost[stop] - self._query.cost[self._next]
        if self._past_prefix and self._costs.sets.call + cost.sum() <= lists_cost:
            return np.arange(len(cost))
        estimate = self._estimate(seen)
        promising = np.flatnonzero((estimate > kth) & (self._next - seen.first >= SAMPLE))
        if not len(promising):
            return promising
        order = promising[np.lexsort((cost[promising], -estimate[promising]))]
        worth = BATCH * self._costs.sets.call
        batch = order[: max(1, self._best.missing, int(np.searchsorted(np.cumsum(cost[order]), worth)))]
        # Nothing can save more than to read all lists would cost: that settles every candidate, too.
        rest = self._costs.lists.call + self._query.cost[-1] - self._query.cost[self._next]
        sets_cost = self._costs.sets.call + cost[batch].sum()
        sets_net = min(self._benefit_of_sets(batch, estimate, cost), rest) - sets_cost
        lists_net = min(self._benefit_of_lists(stop, cost), rest) - lists_cost
        return batch if sets_net >= lists_net else batch[:0]

    def _estimate(self, seen: Seen) -> Ids:
        """Estimate overlaps: candidates go on matching at the rate that they did since their first match."""
        remaining = self._query.remaining
        rate = seen.overlap / (remaining[seen.first] - remaining[self._next])
        estimate: Ids = np.minimum((rate * remaining[seen.first]).astype(np.int64), self._upper(seen))
        return estimate

    def _benefit_of_sets(self, batch: Ids, estimate: Ids, cost: Seconds) -> float:
        """Lists that need not be read if the batch turns out as estimated, and candidates that drop out by it."""
        kth = self._best.kth_with(estimate[batch])
        if kth <= self._best.kth:
            return 0.0
        saved = self._query.cost[self._prefix_end(self._best.kth)] - self._query.cost[self._prefix_end(kth)]
        hopeless = self._upper(self._seen) <= kth
        hopeless[batch] = False
        return float(saved + cost[hopeless].sum())

    def _prefix_end(self, kth: int) -> int:
        """Return the place of the first unread list at which no new set need be looked for."""
        return max(self._next, int(np.searchsorted(-self._query.remaining, -kth)))

    def _benefit_of_lists(self, stop: int, cost: Seconds) -> float:
        """Candidates that are expected to drop out by the next lists, and suffixes to get shorter."""
        seen, query = self._seen, self._query
        whole = query.remaining[seen.first]
        step = int(query.remaining[self._next] - query.remaining[stop])
        rate = seen.overlap / (whole - query.remaining[self._next])
        truncated = (step / whole * (seen.size - seen.first_position)).astype(np.int64)
        left = np.maximum(seen.size - seen.position - 1 - truncated, 0)
        upper = seen.overlap + (rate * step).astype(np.int64) + self._at_most(stop, left)
        return float((cost - np.where(upper <= self._best.kth, 0.0, self._costs.sets.slope(left))).sum())


def nothing_seen() -> Seen:
    """Return no candidates."""
    return Seen(*(np.empty(0, np.int64) for _ in Seen._fields))


def merge(seen: Seen, items: ListItems, query: Query) -> Seen:
    """Add the items of newly read lists to what is known of candidates."""
    place = np.searchsorted(query.list_id, items.list_id)
    # Items follow what was known before, in the global order.
    order = np.lexsort((np.append(np.full(len(seen.first), -1), place), np.append(seen.set_id, items.set_id)))
    sets = np.append(seen.set_id, items.set_id)[order]
    if not len(sets):
        return seen
    starts = np.flatnonzero(np.append(True, sets[1:] != sets[:-1]))
    ends = np.append(starts[1:], len(sets)) - 1
    return Seen(
        sets[starts],
        np.add.reduceat(np.append(seen.overlap, query.weight[place])[order], starts),
        np.append(seen.first, place)[order][starts],
        np.append(seen.first_position, items.position)[order][starts],
        np.append(seen.position, items.position)[order][ends],
        np.append(seen.size, items.size)[order][starts],
    )


def suffix_overlap(members: SetMembers, set_ids: Ids, query: Query) -> Ids:
    """Return what each set shares with the query, of the members that were read."""
    place = np.minimum(np.searchsorted(query.list_id, members.list_id), len(query.list_id) - 1)
    gain = np.where(query.list_id[place] == members.list_id, query.weight[place], 0)
    order = np.argsort(set_ids)
    owner = order[np.searchsorted(set_ids[order], members.set_id)]
    total: Ids = np.bincount(owner, gain, len(set_ids)).astype(np.int64)
    return total
