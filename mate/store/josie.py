"""What a store must do for JOSIE (Zhu et al., SIGMOD 2019): columns as sets of tokens, looked up from both sides.

Tokens that occur in exactly the same columns share one *posting list* (the paper's duplicate token groups). Lists are
numbered in the global order: shortest first, so that a list's number says how rare its tokens are. Sets are the columns
that have a token at all, numbered from 0 by table and column.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mate.store.base import Ids


class TokenLists(NamedTuple):
    """Tokens that the index knows: their number, their posting list, and in how many sets they are."""

    token_id: Ids
    list_id: Ids
    length: Ids


class ListItems(NamedTuple):
    """Items of posting lists, in no particular order."""

    list_id: Ids
    set_id: Ids
    position: Ids
    """Place of the list's last token among the set's tokens in the global order, counted from 0."""
    size: Ids
    """Number of the set's tokens."""


class SetMembers(NamedTuple):
    """What sets hold: the posting lists of their tokens."""

    set_id: Ids
    list_id: Ids


class SetColumns(NamedTuple):
    """The columns that sets stand for."""

    set_id: Ids
    table_id: Ids
    column_id: Ids


class JosieIndex(ABC):
    """The JOSIE part of a published index. Usable from several threads at a time."""

    lists: int
    """Number of posting lists: they are numbered below it."""
    sets: int
    """Number of sets."""

    @abstractmethod
    def lists_of(self, token_ids: Ids) -> TokenLists:
        """Look up the posting lists of tokens; those that the index does not have are left out."""

    @abstractmethod
    def items(self, list_ids: Ids) -> ListItems:
        """Read posting lists."""

    @abstractmethod
    def members(self, set_ids: Ids, after: int) -> SetMembers:
        """Read the suffixes of sets: their posting lists with a number above `after`."""

    @abstractmethod
    def columns(self, set_ids: Ids) -> SetColumns:
        """Return the columns that sets stand for, in no particular order."""

    @abstractmethod
    def sets_of(self, table_ids: Ids) -> Ids:
        """Return the sets that are columns of these tables."""
