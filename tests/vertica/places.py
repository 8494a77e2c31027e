"""Where Vertica tests run: on the protocol stand-in, or on a real server if VERTICA_DSN names one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from mate.build.build import BuildSettings, build
from mate.open import open_index
from mate.sql.vertica import VerticaIndex
from mate.sql.vertica_address import PASSWORD_VARIABLE, VerticaAddress
from mate.sql.vertica_session import Session
from mate.sql.vertica_target import VerticaTarget
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD

REAL_SERVER = "VERTICA_DSN"
"""Environment variable with the address of a real server; its password is in VERTICA_PASSWORD."""


@contextmanager
def place(**options: object) -> Iterator[str]:
    """Yield the address of an empty schema."""
    schema = f"mate_test_{uuid.uuid4().hex[:8]}"
    given = os.environ.get(REAL_SERVER)
    if given is None:
        with StandIn() as server, pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
            patch.setenv(PASSWORD_VARIABLE, PASSWORD)
            patch.setattr("tempfile.tempdir", folder)
            yield server.address(schema, **options)
        return
    more = "".join(f"&{name}={value}" for name, value in options.items())
    address = f"{given}{'&' if '?' in given else '?'}schema={schema}{more}"
    try:
        yield address
    finally:
        where = VerticaAddress.parse(address)
        with Session(where, where.password()) as session:
            session.execute(f"DROP SCHEMA IF EXISTS {schema} CASCADE")


def index(lake: Path | list[str], address: str, **changes: object) -> None:
    """Build an index in this process, without Spark."""
    paths = [str(lake)] if isinstance(lake, Path) else lake
    with VerticaTarget(address) as target:
        build(paths, target, BuildSettings(**{"master": "none", **changes}))  # type: ignore[arg-type]


def open_vertica(address: str) -> VerticaIndex:
    """Open an index."""
    opened = open_index(address)
    assert isinstance(opened, VerticaIndex)
    return opened


@contextmanager
def vertica_index(lake: Path, layout: str, **changes: object) -> Iterator[VerticaIndex]:
    """Yield an index of the lake; few enough values go into an IN list that both ways of looking up are taken."""
    with place(in_list=50, layout=layout) as address:
        index(lake, address, **changes)
        with open_vertica(address) as opened:
            yield opened
