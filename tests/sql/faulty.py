"""Servers on which things go wrong at will: Vertica's stand-in, and PostgreSQL behind a proxy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from mate.sql.address import KINDS
from tests.postgresql.proxy import Proxy
from tests.postgresql.server import PASSWORD as POSTGRESQL_PASSWORD
from tests.postgresql.server import PostgresServer, shared_server
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD as VERTICA_PASSWORD


class FaultyPostgres(Proxy):
    """A real server behind a proxy."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__(server.port)
        self._server = server

    def address(self, schema: str = "mate", **options: object) -> str:
        """Return the address that the store takes."""
        return self._server.address(schema, port=self.port, **options)


FaultyServer: TypeAlias = StandIn | FaultyPostgres
"""A server that tells what happens, and on which something can go wrong."""


@contextmanager
def _vertica() -> Iterator[FaultyServer]:
    with StandIn(lock_timeout=10) as server:
        yield server


@contextmanager
def _postgresql() -> Iterator[FaultyServer]:
    server = shared_server()
    with FaultyPostgres(server) as behind_a_proxy:
        yield behind_a_proxy
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
