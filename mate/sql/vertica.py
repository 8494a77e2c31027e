"""An index in a Vertica database, open for reading.

A few numbers are looked up as an IN list of bound values, many through a temporary table of the session that COPY
fills; where the line is drawn is a setting (``in_list``), because the best place depends on the server. Answers come
in binary and are turned into arrays without a Python object a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from threading import BoundedSemaphore, Lock
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from mate.errors import StoreError
from mate.hashing import Keys
from mate.sql import vertica_josie_sql as josie_sql
from mate.sql import vertica_sql as sql
from mate.sql.vertica_address import VerticaAddress
from mate.sql.vertica_copy import hexadecimal
from mate.sql.vertica_josie import VerticaJosie
from mate.sql.vertica_session import ConnectionLostError, MissingError, Session
from mate.store.base import (
    Candidates,
    Dictionary,
    Ids,
    IndexStore,
    Manifest,
    Postings,
    Probes,
    Rows,
    TableCounts,
    TableInfo,
    TokenEntries,
)
from mate.store.josie import JosieIndex
from mate.values.token_ids import NO_TOKEN, token_ids

_Answer = TypeVar("_Answer")


class Sessions:
    """Sessions that threads take and give back, at most so many at a time."""

    def __init__(self, address: VerticaAddress) -> None:
        self._address, self._password = address, address.password()
        self._room = BoundedSemaphore(address.connections)
        self._idle: list[Session] = []
        self._lock = Lock()

    @contextmanager
    def one(self, *, fresh: bool = False) -> Iterator[Session]:
        """Lend a session; after an error it is not used again."""
        with self._room:
            with self._lock:
                session = self._idle.pop() if self._idle and not fresh else None
            session = session or Session.patient(self._address, self._password)
            try:
                yield session
                session.rollback()  # ends the transaction and empties temporary tables
            except BaseException:
                session.close()
                raise
            with self._lock:
                self._idle.append(session)

    def close(self) -> None:
        """Close those that nobody has."""
        with self._lock:
            idle, self._idle = self._idle, []
        for session in idle:
            session.close()


class VerticaStore(IndexStore):
    """An index in Vertica: the generation that is published when it is opened, until it is closed."""

    def __init__(self, address: str) -> None:
        self._where = VerticaAddress.parse(address)
        self.address = address
        self._sessions = Sessions(self._where)
        try:
            self._generation, self.manifest = self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> tuple[sql.Generation, Manifest]:
        schema = self._where.schema
        missing = StoreError(f"there is no index at {self._where}; build one with: mate index PATH --store ADDRESS")
        try:
            found = self._ask(lambda session: session.execute(sql.published(schema)))
        except MissingError:
            raise missing from None
        if not found:
            raise missing
        number, text = found[0]
        manifest = Manifest.from_json(text, str(self._where))
        present = {name.lower() for (name,) in self._ask(lambda s: s.execute(sql.TABLE_NAMES, [schema]))}
        for name in (*sql.TABLES, *(josie_sql.TABLES if manifest.josie else ())):
            if f"{name}_{number}" not in present and (name != "super_keys" or manifest.layout == "per_row"):
                raise StoreError(f"{self._where} lacks the table {name}_{number}: build the index again")
        return sql.Generation(schema, number), manifest

    def _ask(self, question: Callable[[Session], _Answer]) -> _Answer:
        """Put a question; if a session that was idle turns out dead, put it once more over a new one."""
        try:
            with self._sessions.one() as session:
                return question(session)
        except ConnectionLostError:
            self._sessions.close()
        with self._sessions.one(fresh=True) as session:
            return question(session)

    @property
    def generation(self) -> sql.Generation:
        """The tables that it reads."""
        return self._generation

    def _table(self, name: str) -> str:
        return self._generation.table(name)

    def _among(self, session: Session, column: str, ids: Ids, temporary: str = sql.IDS) -> tuple[str, list[int]]:
        """Return the condition that a column is one of these numbers, and the values to bind."""
        if len(ids) <= self._where.in_list:
            return sql.among(column, len(ids)), ids.tolist()
        session.fill(temporary, [pa.array(ids)])
        return sql.among_temporary(column, temporary), []

    def _look_up(
        self, selected: str, name: str, column: str, ids: Ids, more: str = "", bound: tuple[int, ...] = ()
    ) -> list[Ids]:
        """Look whole numbers up by distinct numbers; `bound` are the values of `more`."""
        width = selected.count(",") + 1
        if not len(ids):
            return [np.empty(0, np.int64) for _ in range(width)]

        def question(session: Session) -> list[Ids]:
            where, values = self._among(session, column, ids)
            statement = f"SELECT {selected} FROM {self._table(name)} WHERE {where}{more}"
            return session.numbers(statement, width, [*values, *bound])

        return self._ask(question)

    def tokens(self, texts: pa.StringArray) -> TokenEntries:
        """Look tokens up by number and compare their text."""
        wanted = token_ids(texts, self.manifest.token_seed)
        ids = _distinct(wanted)
        if not len(ids):
            return TokenEntries(*(np.empty(0, np.int64) for _ in range(3)))

        def question(session: Session) -> list[list[Any]]:
            where, values = self._among(session, "token_id", ids)
            names = ", ".join(sql.columns("tokens", 0, ""))
            return session.execute(f"SELECT {names} FROM {self._table('tokens')} WHERE {where}", values)

        found = {text: (number, postings) for number, text, postings in self._ask(question)}
        known = [(place, *found[text]) for place, text in enumerate(texts.to_pylist()) if text in found]
        return TokenEntries(*np.array(known, np.int64).reshape(-1, 3).T.copy())

    def dictionary(self, token_ids: Ids) -> Dictionary:
        """Look tokens up by number."""
        ids = _distinct(token_ids)

        def question(session: Session) -> list[list[Any]]:
            where, values = self._among(session, "token_id", ids)
            names = ", ".join(sql.columns("tokens", 0, ""))
            return session.execute(f"SELECT {names} FROM {self._table('tokens')} WHERE {where}", values)

        found = sorted(self._ask(question)) if len(ids) else []
        numbers, texts, postings = ([record[place] for record in found] for place in range(3))
        return Dictionary(np.array(numbers, np.int64), pa.array(texts, pa.string()), np.array(postings, np.int64))

    def postings(self, token_ids: Ids) -> Postings:
        """Return all postings of these tokens; a token asked for twice is answered twice."""
        distinct, counts = np.unique(token_ids[token_ids >= 0], return_counts=True)
        found = self._look_up("token_id, table_id, column_id, row_id", "postings", "token_id", distinct)
        if (counts == 1).all():
            return Postings(*found)
        times = counts[np.searchsorted(distinct, found[0])]
        return Postings(*(np.repeat(column, times) for column in found))

    def candidates(self, probes: Probes, hash_number: int | None, tables: Ids | None = None) -> Candidates:
        """Join the probes with the postings in the database, filter included."""
        if not len(probes.token_id) or (tables is not None and not len(tables)):
            return Candidates(*(np.empty(0, np.int64) for _ in range(4)))
        if hash_number is None:
            return self._paired(probes, tables)
        octets = self.manifest.hashes[hash_number].bits // 8

        def question(session: Session) -> list[Ids]:
            keys = hexadecimal(probes.keys)
            session.prepare(sql.probes(octets), sql.CHOSEN)
            session.fill(sql.probes(octets), [pa.array(probes.token_id), pa.array(probes.tuple_id), keys])
            chosen, values = "", list[int]()
            if tables is not None:
                chosen, values = self._among(session, "p.table_id", _distinct(tables), sql.CHOSEN)
            layout = self.manifest.layout
            return session.numbers(sql.candidates(self._generation, hash_number, octets, layout, chosen), 4, values)

        return Candidates(*self._ask(question))

    def _paired(self, probes: Probes, tables: Ids | None) -> Candidates:
        """Pair the probes with all postings of their tokens."""
        found = Postings(*self.postings(_distinct(probes.token_id)))
        if tables is not None:
            kept = np.isin(found.table_id, tables)
            found = Postings(*(column[kept] for column in found))
        order = np.argsort(probes.token_id, kind="stable")
        ordered = probes.token_id[order]
        first = np.searchsorted(ordered, found.token_id, "left")
        times = np.searchsorted(ordered, found.token_id, "right") - first
        posting = np.repeat(np.arange(len(times)), times)
        probe = order[np.arange(len(posting)) - np.repeat(np.cumsum(times) - times, times) + first[posting]]
        places = (found.table_id, found.column_id, found.row_id)
        return Candidates(probes.tuple_id[probe], *(column[posting] for column in places))

    def count_by_table(self, token_ids: Ids, weights: Ids | None = None) -> TableCounts:
        """Count postings by table in the database."""
        valid = token_ids >= 0
        distinct, place = np.unique(token_ids[valid], return_inverse=True)
        totals = np.zeros(len(distinct), np.int64)
        np.add.at(totals, place, 1 if weights is None else weights[valid])
        if len(distinct) <= self._where.in_list and (totals == 1).all():
            found = self._look_up("table_id, COUNT(*)", "postings", "token_id", distinct, " GROUP BY table_id")
            return TableCounts(*found)

        def question(session: Session) -> list[Ids]:
            session.fill(sql.WEIGHTED, [pa.array(distinct), pa.array(totals)])
            return session.numbers(sql.weighted_counts(self._generation), 2)

        return TableCounts(*self._ask(question))

    def rows(self, row_ids: Ids) -> Rows:
        """Return the tokens of rows."""
        found = self._look_up("row_id, column_id, token_id", "cells", "row_id", _distinct(row_ids), " AND piece = 0")
        rows, columns, tokens = found
        order = np.lexsort((columns, rows))
        numbers, widths = np.unique(rows, return_counts=True)
        offsets = np.concatenate([[0], np.cumsum(widths)]).astype(np.int64)
        return Rows(numbers, offsets, np.maximum(tokens[order], NO_TOKEN))

    def cells(self, row_ids: Ids) -> dict[int, list[str | None]]:
        """Return rows as they were read."""
        ids = _distinct(row_ids)
        if not len(ids):
            return {}

        def question(session: Session) -> list[list[Any]]:
            where, values = self._among(session, "row_id", ids)
            names = ", ".join(sql.columns("cells", 0, ""))
            return session.execute(
                f"SELECT {names} FROM {self._table('cells')} WHERE {where} ORDER BY row_id, column_id, piece", values
            )

        rows: dict[int, list[str | None]] = {}
        for row, _, piece, token, text in self._ask(question):
            if piece:
                rows[row][-1] = (rows[row][-1] or "") + text
            else:
                # An empty text was loaded as no text at all; only the number of a token that is none tells them apart.
                rows.setdefault(row, []).append(None if token == sql.NO_CELL else text or "")
        return rows

    def super_keys(self, row_ids: Ids, hash_number: int = 0) -> Keys:
        """Return the super keys of rows, from the projection by row or from the table of their own."""
        words = self.manifest.hashes[hash_number].bits // 64
        distinct, place = np.unique(row_ids, return_inverse=True)
        keys = np.zeros((len(distinct), words), np.uint64)
        asked = distinct[distinct >= 0]
        if len(asked):
            name = "super_keys" if self.manifest.layout == "per_row" else "postings"
            selected = f"DISTINCT row_id, {sql.key_column(hash_number)}"

            def question(session: Session) -> list[list[bytes]]:
                where, values = self._among(session, "row_id", asked)
                return session.raw(f"SELECT {selected} FROM {self._table(name)} WHERE {where}", values)

            data = b"".join(value for row in self._ask(question) for value in row)
            found = np.frombuffer(data, ">u8").astype(np.uint64).reshape(-1, words + 1)
            # A row without a single token has no posting and no bit set.
            keys[np.searchsorted(distinct, found[:, 0].astype(np.int64))] = found[:, 1:]
        return keys[place]

    def tables(self, table_ids: Ids | None = None) -> list[TableInfo]:
        """Return tables by number."""
        ids = None if table_ids is None else _distinct(table_ids)
        if ids is not None and not len(ids):
            return []

        def question(session: Session) -> tuple[list[list[Any]], list[list[Any]]]:
            where, values = "", list[int]()
            if ids is not None:
                condition, values = self._among(session, "table_id", ids)
                where = f" WHERE {condition}"
            names = ", ".join(sql.columns("tables", 0, ""))
            tables = f"SELECT {names} FROM {self._table('tables')}{where} ORDER BY table_id"
            headers = f"SELECT table_id, column_name FROM {self._table('columns')}{where} ORDER BY table_id, column_id"
            return session.execute(tables, values), session.execute(headers, values)

        found, named = self._ask(question)
        columns: dict[int, list[str]] = {}
        for number, name in named:
            columns.setdefault(number, []).append(name or "")
        return [
            TableInfo(number, name or "", source, place, line, tuple(columns.get(number, ())), first, rows)
            for number, name, source, place, line, first, rows in found
        ]

    def tables_from(self, sources: Sequence[str]) -> Ids:
        """Return the tables of these sources."""
        found: set[int] = set()
        for start in range(0, len(sources), self._where.in_list):
            part = list(sources[start : start + self._where.in_list])
            statement = f"SELECT table_id FROM {self._table('tables')} WHERE {sql.among('source', len(part))}"
            found.update(number for (number,) in self._ask(lambda s, q=statement, v=part: s.execute(q, v)))  # type: ignore[misc]
        return np.array(sorted(found), np.int64)

    def rejects(self, limit: int | None = None) -> list[dict[str, Any]]:
        """Return what was not indexed; a reject without a line comes before those of its file that have one."""
        names = ", ".join(sql.columns("rejects", 0, ""))
        order = "ORDER BY source, COALESCE(line_number, -1), reason"
        upto = "" if limit is None else f" LIMIT {int(limit)}"
        return self._records(
            f"SELECT {names} FROM {self._table('rejects')} {order}{upto}", ("source", "line", "kind", "reason", "count")
        )

    def sources(self) -> list[dict[str, Any]]:
        """Return the files that were read."""
        names = ", ".join(sql.columns("sources", 0, ""))
        return self._records(
            f"SELECT {names} FROM {self._table('sources')} ORDER BY source",
            ("source", "format", "bytes", "sha256", "tables"),
        )

    def _records(self, statement: str, names: tuple[str, ...]) -> list[dict[str, Any]]:
        return [dict(zip(names, row, strict=True)) for row in self._ask(lambda session: session.execute(statement))]

    def sizes(self) -> dict[str, int]:
        """Return the bytes of all projections, by table; "file" is all of them, as in other stores."""
        suffix = f"_{self._generation.number}"
        found = self._ask(lambda session: session.execute(sql.BYTES, [self._where.schema]))
        mine = {name.lower(): int(size or 0) for name, size in found if name.endswith(suffix)}
        parts = {name: mine[name + suffix] for name in (*sql.TABLES, *josie_sql.TABLES) if name + suffix in mine}
        return {"file": sum(parts.values()), **parts}

    @cached_property
    def _josie(self) -> VerticaJosie:
        counts = josie_sql.count_lists(self._generation), self._generation.count("josie_sets")
        lists, sets = (int(self._ask(lambda s, q=q: s.execute(q))[0][0]) for q in counts)  # type: ignore[misc]
        return VerticaJosie(self._look_up, lists, sets)

    def josie(self) -> JosieIndex:
        """Return the JOSIE part of the index, always the same object."""
        return self._josie if self.manifest.josie else super().josie()

    def close(self) -> None:
        """Close the sessions."""
        self._sessions.close()


def _distinct(ids: Ids) -> Ids:
    """Return numbers once each, without negative ones: they stand for nothing, and -2^63 is NULL in Vertica."""
    distinct = np.unique(ids)
    return distinct[distinct >= 0]
