"""The JOSIE part of an index in Vertica: numbers in, numbers out, like the other look-ups of the store."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mate.store.base import Ids
from mate.store.josie import JosieIndex, ListItems, SetColumns, SetMembers, TokenLists


class LookUp(Protocol):
    """Looks whole numbers up by distinct numbers, in a table of the index."""

    def __call__(
        self, selected: str, name: str, column: str, ids: Ids, more: str = "", bound: tuple[int, ...] = ()
    ) -> list[Ids]:
        """Return the selected columns of the records whose `column` is among `ids`; `bound` are values of `more`."""


class VerticaJosie(JosieIndex):
    """Looks things up through the store, which chooses between an IN list and a temporary table."""

    def __init__(self, look_up: LookUp, lists: int, sets: int) -> None:
        self._look_up, self.lists, self.sets = look_up, lists, sets

    def _found(
        self, selected: str, name: str, ids: Ids, more: str = "", bound: tuple[int, ...] = ()
    ) -> tuple[Ids, ...]:
        """Look up by the first column selected; a number asked for twice is answered twice."""
        distinct, counts = np.unique(ids[ids >= 0], return_counts=True)
        found = self._look_up(selected, name, selected.partition(",")[0], distinct, more, bound)
        if (counts == 1).all():
            return tuple(found)
        times = counts[np.searchsorted(distinct, found[0])]
        return tuple(np.repeat(column, times) for column in found)

    def lists_of(self, token_ids: Ids) -> TokenLists:
        """Look up the posting lists of tokens."""
        return TokenLists(*self._found("token_id, list_id, list_length", "josie_tokens", token_ids))

    def items(self, list_ids: Ids) -> ListItems:
        """Read posting lists."""
        return ListItems(*self._found("list_id, set_id, place, set_size", "josie_postings", list_ids))

    def members(self, set_ids: Ids, after: int) -> SetMembers:
        """Read the suffixes of sets."""
        return SetMembers(*self._found("set_id, list_id", "josie_members", set_ids, " AND list_id > %s", (after,)))

    def columns(self, set_ids: Ids) -> SetColumns:
        """Return the columns that sets stand for."""
        return SetColumns(*self._found("set_id, table_id, column_id", "josie_sets", set_ids))

    def sets_of(self, table_ids: Ids) -> Ids:
        """Return the sets that are columns of these tables."""
        return self._found("table_id, set_id", "josie_sets", table_ids)[1]
