"""Changing an index in a database: deletes and loads in the generation in use, in one transaction.

A table that a change touches is deleted as a whole and loaded again as a whole, in a segment. Nobody sees anything of
it before the commit. There is no statement per row.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa

from mate.build.changes.change import Change
from mate.build.stored_tables import StoredTable
from mate.lake.base import Ids
from mate.lake.manifest import Counts, Manifest
from mate.lake.records import TableInfo
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.session import Session
from mate.sql.index import DatabaseIndex
from mate.sql.load import load_segment
from mate.sql.lookup import among_buckets, among_sources
from mate.sql.schema import MANIFEST
from mate.sql.target import alone, check_token_ids, commit_last, merge_tokens
from mate.values.arrow import string_array

_CHUNK_CELLS = 200_000
"""Cells of a table that are read at a time."""
_TOUCHED = "mate_touched"
"""Temporary table of the tokens of a change: new, old and deleted ones."""
_TOUCHED_TOKENS = f"token_id IN (SELECT token_id FROM {_TOUCHED})"


@dataclass(frozen=True, kw_only=True)
class DatabaseTable(StoredTable):
    """A table of an index in a database, to be read like a file."""

    index: DatabaseIndex = field(repr=False)

    def chunks(self) -> Iterator[list[pa.Array]]:
        """Yield the cells as they are stored."""
        info = self.info
        step = max(1, _CHUNK_CELLS // len(info.columns))
        for first in range(0, info.rows, step):
            rows = self.index.cells(info.table_id, np.arange(first, min(first + step, info.rows)))
            yield [string_array(list(column)) for column in zip(*rows, strict=True)]


class DatabaseWriter:
    """Changes an index in a database. Holds the lock that builds of the schema take as well."""

    def __init__(self, address: str, wait: float) -> None:
        self._address, self._wait = address, wait
        self._where = Address.parse(address)

    def __enter__(self) -> Self:
        DatabaseIndex(self._address).close()  # tells if there is none
        with ExitStack() as resources:
            self._verify_lock, self.directory = resources.enter_context(alone(self._where, self._wait))
            self.index = resources.enter_context(DatabaseIndex(self._address))
            self._generation = self.index.generation
            self._resources = resources.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._resources.close()

    def stored(self, table: TableInfo) -> DatabaseTable:
        """Return a table of the index, to be read again."""
        return DatabaseTable(folder="", place=0, info=table, index=self.index)

    def counts_of(self, tables: list[TableInfo]) -> Counts:
        """Count what tables hold, by their cells."""
        if not tables:
            return Counts()
        cells, more = self._generation.name("cells"), " AND piece = 0 AND token_id >= 0"
        [[count]] = self.index.select("COUNT(*)", cells, "table_id", _ids(tables), more)
        columns = sum(len(table.columns) for table in tables)
        return Counts(len(tables), columns, sum(table.rows for table in tables), count)

    def apply(self, change: Change, after: Manifest) -> Manifest:
        """Delete and load in one transaction."""
        update = f"UPDATE {self._where.schema}.{MANIFEST} SET manifest = %s, change_id = change_id + 1"
        with open_session(self._where, writes=True) as session:
            session.create_temporary(_TOUCHED, self._generation.columns("tokens"))
            self._delete_tables(session, change.gone_tables)
            self._delete_sources(session, change.gone_sources)
            for segment in change.new_segments:
                load_segment(session, segment, self._generation, after.hashes, _TOUCHED)
            self._update_tokens(session)
            session.execute(f"{update} WHERE load_id = %s", [after.to_json(), self._generation.number])
            self._verify_lock()
            commit_last(session, "the change was committed: mate stats tells whether it was")
        return after

    def _delete_tables(self, session: Session, tables: list[TableInfo]) -> None:
        """Delete what belongs to tables; note what their tokens lose."""
        if not tables:
            return
        name, among_tables = self._generation.name, self.index.among(session, "table_id", _ids(tables))
        session.execute(
            f"INSERT INTO {_TOUCHED} (token_id, token, posting_count) SELECT g.token_id, t.token, -g.lost FROM"
            f" (SELECT token_id, COUNT(*) AS lost FROM {name('cells')}"
            f" WHERE {among_tables} AND piece = 0 AND token_id >= 0 GROUP BY token_id) AS g"
            f" INNER JOIN {name('tokens')} AS t ON t.token_id = g.token_id"
        )
        # Postings are sorted by token: a condition on the table alone would scan all of them.
        [tokens] = session.numbers(f"SELECT token_id FROM {_TOUCHED}")
        buckets = among_buckets(self._generation, "bucket", tokens, self.index.in_list)
        conditions = " AND ".join([*buckets, _TOUCHED_TOKENS, among_tables])
        session.execute(f"DELETE FROM {name('postings')} WHERE {conditions}")
        super_keys = ["super_keys"] if self._generation.has_super_keys else []
        for table in ("cells", *super_keys, "tables", "columns"):
            session.execute(f"DELETE FROM {name(table)} WHERE {among_tables}")

    def _delete_sources(self, session: Session, sources: list[str]) -> None:
        for where, part in among_sources(sorted(set(sources)), self.index.in_list):
            for table in ("sources", "rejects"):
                session.execute(f"DELETE FROM {self._generation.name(table)} WHERE {where}", part)

    def _update_tokens(self, session: Session) -> None:
        """Replace the tokens that a change touches by the sums of what they had, lost and won."""
        tokens = self._generation.name("tokens")
        session.execute(
            f"INSERT INTO {_TOUCHED} (token_id, token, posting_count) SELECT token_id, token, posting_count"
            f" FROM {tokens} WHERE {_TOUCHED_TOKENS}"
        )
        session.execute(f"DELETE FROM {tokens} WHERE {_TOUCHED_TOKENS}")
        session.execute(merge_tokens(self._generation, _TOUCHED))
        check_token_ids(session, self._generation, f" WHERE {_TOUCHED_TOKENS}")


def _ids(tables: list[TableInfo]) -> Ids:
    return np.unique(np.array([table.table_id for table in tables], np.int64))
