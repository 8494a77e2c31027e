"""Where an index in a database is tested: DuckDB, a PostgreSQL server, and Vertica.

Vertica is the protocol stand-in, or a real server if VERTICA_DSN names one.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mate.build.build import BuildSettings, build
from mate.sql.address import KINDS, Address
from mate.sql.dialects import open_session
from mate.sql.index import DatabaseIndex
from mate.sql.schema import LAYOUTS
from mate.stores import open_index, open_target
from tests.postgresql.server import PASSWORD as POSTGRESQL_PASSWORD
from tests.postgresql.server import shared_server
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD as VERTICA_PASSWORD

REAL_SERVER = "VERTICA_DSN"
"""Environment variable with the address of a real Vertica server; its password is in VERTICA_PASSWORD."""


@contextmanager
def duckdb_place(**options: object) -> Iterator[str]:
    """Yield the address of a file that is not there yet."""
    with TemporaryDirectory() as folder:
        yield f"duckdb:{folder}/lake.duckdb{_options(options, '?')}"


@contextmanager
def postgresql_place(**options: object) -> Iterator[str]:
    """Yield the address of a schema that is not there yet."""
    schema = f"mate_test_{uuid.uuid4().hex[:8]}"
    server = shared_server()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KINDS["postgresql"].password_variable, POSTGRESQL_PASSWORD)
        yield server.address(schema, **options)
    server.run(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


@contextmanager
def vertica_place(**options: object) -> Iterator[str]:
    """Yield the address of a schema that is not there yet."""
    schema = f"mate_test_{uuid.uuid4().hex[:8]}"
    given = os.environ.get(REAL_SERVER)
    if given is None:
        with StandIn() as server, pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
            patch.setenv(KINDS["vertica"].password_variable, VERTICA_PASSWORD)
            patch.setattr("tempfile.tempdir", folder)
            yield server.address(schema, **options)
        return
    address = f"{given}{'&' if '?' in given else '?'}schema={schema}{_options(options, '&')}"
    try:
        yield address
    finally:
        where = Address.parse(address)
        with open_session(where, writes=True) as session:
            session.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def _options(options: dict[str, object], first: str) -> str:
    return "".join(f"{'&' if n else first}{name}={value}" for n, (name, value) in enumerate(options.items()))


PLACES: dict[str, Callable[..., AbstractContextManager[str]]] = {
    "duckdb": duckdb_place,
    "postgresql": postgresql_place,
    "vertica": vertica_place,
}
EVERYWHERE = [(kind, layout) for kind in PLACES for layout in LAYOUTS]


def index(lake: Path | list[str], address: str, **changes: object) -> None:
    """Build an index in this process, without Spark."""
    paths = [str(lake)] if isinstance(lake, Path) else lake
    with open_target(address) as target:
        build(paths, target, BuildSettings(**{"master": "none", **changes}))  # type: ignore[arg-type]


def open_database(address: str) -> DatabaseIndex:
    """Open an index."""
    opened = open_index(address)
    assert isinstance(opened, DatabaseIndex)
    return opened


@contextmanager
def database_index(kind: str, layout: str, lake: Path, **changes: object) -> Iterator[DatabaseIndex]:
    """Yield an index of the lake; few enough values go into an IN list that both ways of looking up are taken."""
    with PLACES[kind](in_list=50, layout=layout) as address:
        index(lake, address, **changes)
        with open_database(address) as opened:
            yield opened
