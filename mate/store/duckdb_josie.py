"""The JOSIE part of an index in DuckDB.

    josie_tokens    token_id, list_id, length              by token
    josie_postings  list_id, set_id, position, size        by list: the inverted index
    josie_members   set_id, list_id                        by set: the sets themselves
    josie_sets      set_id, table_id, column_id, size

Each is sorted by what it is looked up by, like the other tables of the store.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mate.store.base import Ids
from mate.store.josie import JosieIndex, ListItems, SetColumns, SetMembers, TokenLists


class DuckDBJosie(JosieIndex):
    """Looks things up by running SQL through `numbers`, which returns the columns of a result as arrays."""

    def __init__(self, numbers: Callable[..., list[Ids]]) -> None:
        self._numbers = numbers
        self.lists = self._count("SELECT coalesce(max(list_id) + 1, 0) FROM josie_postings")
        self.sets = self._count("SELECT count(*) FROM josie_sets")

    def _count(self, sql: str) -> int:
        return int(self._numbers(sql)[0][0])

    def _look_up(self, table: str, key: str, columns: str, numbers: Ids, *more: Any, where: str = "") -> list[Ids]:
        return self._numbers(
            f"SELECT {columns} FROM (SELECT unnest($1::BIGINT[]) AS {key}) AS q"
            f" JOIN {table} AS t ON t.{key} = q.{key}{where}",
            numbers,
            *more,
        )

    def lists_of(self, token_ids: Ids) -> TokenLists:
        """Look up the posting lists of tokens."""
        return TokenLists(*self._look_up("josie_tokens", "token_id", "t.token_id, t.list_id, t.length", token_ids))

    def items(self, list_ids: Ids) -> ListItems:
        """Read posting lists."""
        columns = "t.list_id, t.set_id, t.position, t.size"
        return ListItems(*self._look_up("josie_postings", "list_id", columns, list_ids))

    def members(self, set_ids: Ids, after: int) -> SetMembers:
        """Read the suffixes of sets."""
        columns = "t.set_id, t.list_id"
        where = " WHERE t.list_id > $2"
        return SetMembers(*self._look_up("josie_members", "set_id", columns, set_ids, after, where=where))

    def columns(self, set_ids: Ids) -> SetColumns:
        """Return the columns that sets stand for."""
        columns = "t.set_id, t.table_id, t.column_id"
        return SetColumns(*self._look_up("josie_sets", "set_id", columns, set_ids))

    def sets_of(self, table_ids: Ids) -> Ids:
        """Return the sets that are columns of these tables."""
        return self._look_up("josie_sets", "table_id", "t.set_id", table_ids)[0]
