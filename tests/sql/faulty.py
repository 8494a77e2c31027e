"""Servers on which things go wrong at will: Vertica's stand-in, and PostgreSQL behind a proxy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from mate.sql.address import KINDS
from tests.postgresql.proxy import Proxy
from tests.postgresql.server import PASSWORD as POSTGRESQL_PASSWORD
from tests.postgresql.server import PostgresServer, shared_server
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD as VERTICA_PASSWORD


class FaultyServer(Protocol):
    """A server that tells what happens, and on which something can go wrong."""

    statements: list[str]

    @property
    def most_sessions(self) -> int:
        """How many sessions there were at the same time, at most."""

    def address(self, schema: str = "mate", **options: object) -> str:
        """Return the address that the store takes."""

    def faulty(self, fault: Callable[[str, Any, str], None]) -> AbstractContextManager[None]:
        """Let something go wrong for a while."""

    def cut(self) -> None:
        """Cut the lines of all sessions."""


class FaultyPostgres:
    """A real server behind a proxy."""

    def __init__(self, server: PostgresServer, proxy: Proxy) -> None:
        self._server, self.proxy = server, proxy
        self.statements, self.faulty, self.cut = proxy.statements, proxy.faulty, proxy.cut

    @property
    def most_sessions(self) -> int:
        """How many sessions there were at the same time, at most."""
        return self.proxy.most_lines

    def address(self, schema: str = "mate", **options: object) -> str:
        """Return the address that the store takes."""
        return self._server.address(schema, port=self.proxy.port, **options)


@contextmanager
def _vertica() -> Iterator[FaultyServer]:
    with StandIn(lock_timeout=10) as server:
        yield server


@contextmanager
def _postgresql() -> Iterator[FaultyServer]:
    server = shared_server()
    with Proxy(server.port) as proxy:
        yield FaultyPostgres(server, proxy)
    server.run("DROP SCHEMA IF EXISTS mate CASCADE")


FAULTY = {"postgresql": (_postgresql, POSTGRESQL_PASSWORD), "vertica": (_vertica, VERTICA_PASSWORD)}


@contextmanager
def faulty_server(kind: str, temporary: Path) -> Iterator[FaultyServer]:
    """Yield a server of a kind, its password in the environment; temporary files go where pytest removes them."""
    make, password = FAULTY[kind]
    with pytest.MonkeyPatch.context() as patch, make() as server:
        patch.setenv(KINDS[kind].password_variable, password)
        patch.setenv("TMPDIR", str(temporary))
        patch.setattr("tempfile.tempdir", str(temporary))
        yield server
