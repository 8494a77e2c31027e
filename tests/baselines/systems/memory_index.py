"""A JOSIE index made from Python sets, straight from its definition: what a store must give, and quick for tests."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from mate.store.base import Ids, as_ids
from mate.store.josie import JosieIndex, ListItems, SetColumns, SetMembers, TokenLists


class MemoryIndex(JosieIndex):
    """Set i is column i % `width` of table i // `width`; empty sets have no number."""

    def __init__(self, sets: Sequence[AbstractSet[int]], width: int = 1) -> None:
        self.width = width
        self.numbers = [number for number, tokens in enumerate(sets) if tokens]
        self.tokens_of = [sets[number] for number in self.numbers]
        holders: dict[int, list[int]] = defaultdict(list)
        for set_id, tokens in enumerate(self.tokens_of):
            for token in tokens:
                holders[token].append(set_id)
        groups: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for token, sets_of_token in holders.items():
            groups[tuple(sets_of_token)].append(token)
        self.list_sets = sorted(groups, key=lambda members: (len(members), members))
        self.list_of = {token: i for i, members in enumerate(self.list_sets) for token in groups[members]}
        self.lists, self.sets = len(self.list_sets), len(self.tokens_of)

    def lists_of(self, token_ids: Ids) -> TokenLists:
        known = [t for t in token_ids.tolist() if t in self.list_of]
        lists = [self.list_of[t] for t in known]
        return TokenLists(as_ids(known), as_ids(lists), as_ids([len(self.list_sets[i]) for i in lists]))

    def items(self, list_ids: Ids) -> ListItems:
        found = [
            (number, set_id, self.position(number, set_id), len(self.tokens_of[set_id]))
            for number in list_ids.tolist()
            for set_id in reversed(self.list_sets[number])
        ]
        return ListItems(*np.array(found, np.int64).reshape(-1, 4).T)

    def position(self, number: int, set_id: int) -> int:
        return sum(self.list_of[token] <= number for token in self.tokens_of[set_id]) - 1

    def members(self, set_ids: Ids, after: int) -> SetMembers:
        found = [
            (set_id, number)
            for set_id in set_ids.tolist()
            for number in sorted({self.list_of[token] for token in self.tokens_of[set_id]})
            if number > after
        ]
        return SetMembers(*np.array(found, np.int64).reshape(-1, 2).T)

    def columns(self, set_ids: Ids) -> SetColumns:
        found = [(i, self.numbers[i] // self.width, self.numbers[i] % self.width) for i in set_ids.tolist()]
        return SetColumns(*np.array(found, np.int64).reshape(-1, 3).T)

    def sets_of(self, table_ids: Ids) -> Ids:
        wanted = set(table_ids.tolist())
        return as_ids([i for i, number in enumerate(self.numbers) if number // self.width in wanted])
