"""What a database is asked in its own words: types, physical design, locks, catalogue; and the client for that."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from threading import Lock as Mutex
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

import pyarrow as pa

from mate.errors import StoreError
from mate.lake.base import Ids
from mate.sql.address import Address, Password
from mate.sql.failures import UnknownStatementError
from mate.sql.schema import BUILDS, Column, Content, Generation, Shape, Table

Columns: TypeAlias = list[pa.Array]
"""Records of a table, an array per column."""

HEARTBEAT = 30.0
"""Seconds between two signs of life of the session that holds the lock."""
_LAST_BEAT = 5.0
"""Seconds that the last one may take; a server that does not answer is not waited for."""


class Client(Protocol):
    """A connection with a database. Every error is a `StoreError` of one line without any credential."""

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[Sequence[Any]]:
        """Run a statement and return its rows; `values` take the places of ``%s``."""

    def numbers(self, statement: str, octets: Sequence[int]) -> list[Ids]:
        """Run a query whose columns are never null; return them as arrays, super keys word by word.

        `octets` has 8 for a column of whole numbers, and the size of the key for one of super keys.
        """

    def load(self, table: str, columns: Sequence[Column], batches: Iterable[Columns]) -> int | None:
        """Stream records into a table; return how many were taken, if that is told without being asked for."""

    def commit(self) -> None:
        """End the transaction, keeping what it did."""

    def rollback(self) -> None:
        """End the transaction, undoing what it did."""

    def close(self) -> None:
        """Close the connection; what was not committed is undone."""


class LoadCounts(NamedTuple):
    """What was loaded."""

    postings: int
    tokens: int
    """Different ones."""


class Dialect(ABC):
    """The words of one kind of database."""

    buckets: ClassVar[bool] = False
    """Whether postings are sorted by a coarse bucket of their token first."""
    sorts_cells: ClassVar[bool] = True
    """Whether cells are found by going through those of a table, and not row by row in an index."""
    most_characters: ClassVar[int | None] = None
    """Characters of a token at most, if there is a limit."""
    most_octets: ClassVar[int | None] = None
    """Octets of a super key at most, if there is a limit."""
    usual_hash: ClassVar[str] = "fingerprint:16"
    """What filters rows unless a hash is asked for: measured, no other is faster (docs/hashes.md)."""
    types: ClassVar[dict[Content, str]]

    # Definitions

    def type_of(self, column: Column) -> str:
        """Return the type of a column."""
        return self.types[column.kind].format(size=column.size, bits=8 * column.size, octets=4 * column.size)

    def definition(self, column: Column) -> str:
        """Return a column as a table is created with it."""
        return f"{column.name} {self.type_of(column)}{' NOT NULL' if column.required else ''}"

    def create_schema(self, schema: str) -> str:
        """SQL that creates the schema."""
        return f"CREATE SCHEMA IF NOT EXISTS {schema}"

    def create_table(self, name: str, table: Table, unless_there: bool = False) -> str:
        """SQL that creates a table."""
        parts = [self.definition(column) for column in table.columns]
        if table.unique:
            parts.append(f"CONSTRAINT {name.rpartition('.')[2]}_pk PRIMARY KEY ({table.unique}){self.key_is_enforced}")
        unless = "IF NOT EXISTS " if unless_there else ""
        return f"CREATE TABLE {unless}{name} ({', '.join(parts)}){self.physical(table)}"

    key_is_enforced: ClassVar[str] = ""

    def physical(self, table: Table) -> str:
        """Return how the records of a table are sorted and spread over nodes."""
        return ""

    def after_load(self, generation: Generation, shape: Shape, counts: LoadCounts) -> list[str]:
        """SQL that makes loaded tables ready to be searched: indexes and statistics."""
        return []

    def after_commit(self, generation: Generation, shape: Shape) -> list[str]:
        """SQL that does so outside of a transaction, before the tables are published."""
        return []

    def readers(self, schema: str) -> str:
        """SQL for those who may read the index, if tables do not inherit that from their schema."""
        return ""

    def grant(self, names: Sequence[str], readers: Sequence[str]) -> str:
        """SQL that lets readers read tables."""
        return f"GRANT SELECT ON {', '.join(names)} TO {', '.join(readers)}"

    # Temporary tables

    @abstractmethod
    def temporary(self, name: str, columns: Sequence[Column]) -> str:
        """SQL that creates a table of this session, which keeps its records after a commit."""

    def empty(self, name: str) -> str:
        """SQL that empties a temporary table."""
        return f"TRUNCATE TABLE {name}"

    def after_fill(self, name: str) -> str:
        """SQL that tells the planner what a temporary table holds, where it wants to be told."""
        return ""

    def filling(self, name: str, columns: Sequence[Column], records: Columns) -> str:
        """SQL that makes a temporary table hold just these records, if one message to the server can do all of it."""
        return ""

    # Expressions

    def literal(self, column: Column, value: Any) -> str:
        """Return what a column of probes holds as a constant."""
        if column.kind in (Content.KEY, Content.WIDE_KEY):
            return self.key_literal(value)
        return f"'{value}'" if column.kind is Content.PRINT else str(value)  # no character of a fingerprint is a quote

    @abstractmethod
    def key_literal(self, key: bytes) -> str:
        """Return a super key as a constant."""

    def contains(self, text: str, part: str) -> str:
        """SQL that a text has another one in it."""
        return f"POSITION({part} IN {text}) > 0"

    def filtered(self, column: str) -> str:
        """Return a column of whole numbers as it stands in a condition that no record should be looked up by."""
        return column

    def key_words(self, column: str) -> str:
        """Return a super key as it is read."""
        return column

    # Catalogue

    table_names: ClassVar[str] = "SELECT table_name FROM information_schema.tables WHERE LOWER(table_schema) = %s"
    """Names of the tables of a schema."""
    schema_exists: ClassVar[str] = "SELECT COUNT(*) FROM information_schema.schemata WHERE LOWER(schema_name) = %s"
    accepted: ClassVar[str] = ""
    """SQL for the number of records that the last load took, where the client is not told."""

    @abstractmethod
    def sizes(self, schema: str, tables: Sequence[str]) -> str:
        """SQL for the names of tables of a schema, and their bytes."""

    # Connections and locks

    @abstractmethod
    def connect(self, address: Address, password: Password, *, writes: bool) -> Client:
        """Connect. A reader's statements are each a transaction; a writer's go on until it says how they end."""

    keep_session: ClassVar[str] = ""
    """SQL that lets a session wait within a transaction for as long as others work, where it might be ended."""

    @contextmanager
    def lock(self, address: Address, password: Password) -> Iterator[Lock]:
        """Hold what only one build or change of a schema has: the table of builds, by a session of its own."""
        client = self.connect(address, password, writes=True)
        try:
            if self.keep_session:
                client.execute(self.keep_session)
            with TableLock(client, address.schema) as lock:
                yield lock
        finally:
            client.close()


class Lock(Protocol):
    """The right to build or change an index."""

    def verify(self) -> None:
        """Fail if the lock was lost meanwhile."""


class TableLock:
    """A table that is locked until the session ends; servers without LOCK TABLE … NOWAIT take an UPDATE.

    Servers end sessions that are idle for long (IDLESESSIONTIMEOUT of a Vertica user, who cannot raise it), so that the
    lock's says something now and then.
    """

    def __init__(self, client: Client, schema: str) -> None:
        self._client, self._statement = client, lock_statement(schema)
        self._turn, self._ended = Mutex(), Event()
        try:
            self.verify()
        except UnknownStatementError:
            client.rollback()
            self._statement = f"UPDATE {schema}.{BUILDS} SET load_id = 0"
            self.verify()

    def __enter__(self) -> Self:
        self._heart = Thread(target=self._beat, name="mate lock", daemon=True)
        self._heart.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._heart.join(_LAST_BEAT)

    def verify(self) -> None:
        """Take the lock, which its holder has already: that fails if the session is gone."""
        with self._turn:
            self._client.execute(self._statement)

    def _beat(self) -> None:
        """Keep the session busy; that it was lost is found out where the lock matters."""
        with suppress(StoreError):
            while not self._ended.wait(HEARTBEAT):
                with self._turn:
                    self._client.execute("SELECT 1")


def lock_statement(schema: str) -> str:
    """SQL that only one session at a time gets through, or fails at once."""
    return f"LOCK TABLE {schema}.{BUILDS} IN EXCLUSIVE MODE NOWAIT"
