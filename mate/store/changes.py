"""The changes file of an embedded index: what was added since it was built, and what of it is dead.

The file of an index never changes once it is published, so that whoever has it open keeps what he saw. Changes live in
one small DuckDB file beside it, ``lake.duckdb.changes``, which every change replaces as a whole. It has the tables of
an index, for rows that are new or new in part, and

    dead_rows      first, stop                    rows of the base that are gone or have a successor, as ranges
    dead_postings  token_id, table_id, postings   how many postings went with them
    dead_tables    table_id                       records of tables that are gone or have a successor
    dead_sources   source                         the same for sources and for the rejects of sources

Its manifest is that of the whole index. A changes file belongs to one build of one base; beside any other it is void.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mate.errors import StoreError
from mate.store.base import Changes, Ids, RowPlaces, TableCounts
from mate.store.duckdb import DuckDBStore

SUFFIX = ".changes"
DEAD_TABLES = {
    "dead_rows": "first BIGINT, stop BIGINT",
    "dead_postings": "token_id BIGINT, table_id INTEGER, postings BIGINT",
    "dead_tables": "table_id INTEGER",
    "dead_sources": "source VARCHAR",
}


def changes_path(address: str | Path) -> Path:
    """Return where the changes of an index lie."""
    return Path(f"{address}{SUFFIX}")


class Ranges:
    """A set of numbers as ascending ranges that do not touch."""

    def __init__(self, first: Ids, stop: Ids) -> None:
        self.first, self.stop = first, stop

    @classmethod
    def of(cls, numbers: Ids) -> Ranges:
        """Return the ranges of distinct numbers."""
        ordered = np.sort(numbers)
        ends = np.flatnonzero(np.diff(ordered) != 1)
        bounds = np.concatenate([[-1], ends, [len(ordered) - 1]]) if len(ordered) else np.array([0])
        return cls(ordered[bounds[:-1] + 1], ordered[bounds[1:]] + 1)

    def __len__(self) -> int:
        return int((self.stop - self.first).sum())

    def __contains__(self, numbers: Ids) -> bool:
        return bool(self.has(numbers).all())

    def has(self, numbers: Ids) -> npt.NDArray[np.bool_]:
        """Tell for each number whether it is in the set."""
        if not len(self.first):
            return np.zeros(len(numbers), np.bool_)
        place = np.searchsorted(self.first, numbers, "right") - 1
        return (place >= 0) & (numbers < self.stop[np.maximum(place, 0)])

    def with_(self, other: Ranges) -> Ranges:
        """Return the union with ranges that share no number with these."""
        first, stop = np.concatenate([self.first, other.first]), np.concatenate([self.stop, other.stop])
        order = np.argsort(first, kind="stable")
        first, stop = first[order], stop[order]
        apart = first[1:] != stop[:-1]
        return Ranges(first[np.concatenate([[True], apart])] if len(first) else first,
                      stop[np.concatenate([apart, [True]])] if len(first) else stop)  # fmt: skip


class ChangesStore(DuckDBStore):
    """A changes file: an index of what is new, and what is dead in the base."""

    def __init__(self, address: str | Path) -> None:
        super().__init__(address)
        try:
            self._notes = {record["name"]: record["value"] for record in self._records("FROM manifest")}
            self.base = str(self._notes["base"])
            self.next_table, self.next_row = int(self._notes["next_table"]), int(self._notes["next_row"])
            self.dead = Ranges(*self._numbers("SELECT first, stop FROM dead_rows ORDER BY first"))
            self.dead_tables = self._numbers("SELECT table_id FROM dead_tables ORDER BY table_id")[0]
            self.own_tables = self._numbers("SELECT table_id FROM tables ORDER BY table_id")[0]
            self.dead_sources = frozenset(record["source"] for record in self._records("FROM dead_sources"))
        except Exception as error:
            self.close()
            raise StoreError(f"{address} cannot be read as the changes of an index: {error}") from error

    def dead_counts(self, token_ids: Ids) -> Ids:
        """Return how many of the base's postings of each token are dead."""
        counts = np.zeros(len(token_ids), np.int64)
        if len(self.dead.first):
            distinct, place = np.unique(token_ids, return_inverse=True)
            tokens, dead = self._numbers(
                "SELECT d.token_id, sum(d.postings)::BIGINT FROM (SELECT unnest($1::BIGINT[]) AS token_id) AS q"
                " JOIN dead_postings AS d ON d.token_id = q.token_id GROUP BY d.token_id",
                distinct,
            )
            by_token = np.zeros(len(distinct), np.int64)
            by_token[np.searchsorted(distinct, tokens)] = dead
            counts = by_token[place]
        return counts

    def dead_by_table(self, token_ids: Ids, weights: Ids | None) -> TableCounts:
        """Count the base's dead postings of these tokens by table."""
        return TableCounts(
            *self._numbers(
                "SELECT d.table_id, sum(d.postings * q.weight)::BIGINT FROM (SELECT unnest($1::BIGINT[]) AS token_id,"
                " unnest($2::BIGINT[]) AS weight) AS q JOIN dead_postings AS d ON d.token_id = q.token_id"
                " GROUP BY d.table_id",
                token_ids,
                np.ones(len(token_ids), np.int64) if weights is None else weights,
            )
        )

    def row_ids(self, table_ids: Ids) -> RowPlaces:
        """Return the rows of tables that are in this file."""
        found = self._numbers(
            "SELECT r.row_id, r.table_id FROM rows AS r"
            " SEMI JOIN (SELECT unnest($1::BIGINT[]) AS table_id) AS q ON q.table_id = r.table_id"
            " ORDER BY r.table_id, r.row_id",
            table_ids,
        )
        return RowPlaces(*found)

    @cached_property
    def summary(self) -> Changes:
        """What was changed."""
        # The size as DuckDB knows it: another file may have taken the place of this one.
        [(tables, rows, changed, size)] = self._cursor.execute(
            "SELECT (SELECT count(*) FROM tables), (SELECT count(*) FROM rows),"
            " (SELECT count(*) FROM tables SEMI JOIN dead_tables USING (table_id)),"
            " (SELECT max(block_size * total_blocks) FROM pragma_database_size()"
            " WHERE database_name = current_database())"
        ).fetchall()
        return Changes(
            operations=int(self._notes["operations"]),
            last=str(self._notes["last"]),
            added_tables=tables - changed,
            changed_tables=changed,
            removed_tables=len(self.dead_tables) - changed,
            dead_rows=len(self.dead),
            rows=rows,
            bytes=size,
        )
