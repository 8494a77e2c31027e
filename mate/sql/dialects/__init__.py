"""The databases that an index can be in, one module each."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from mate.errors import StoreError
from mate.sql.address import KINDS, Address
from mate.sql.dialects.dialect import Dialect

if TYPE_CHECKING:
    from mate.sql.dialects.session import Session

_CLIENTS = {"vertica": "vertica_python", "postgresql": "psycopg", "duckdb": "duckdb"}


@cache
def session_class(kind: str) -> type[Session]:
    """Return the sessions of a kind of database; its client has to be installed."""
    if find_spec(_CLIENTS[kind]) is None:
        raise StoreError(f"{KINDS[kind].title} needs its client: pip install 'mate-discovery[{kind}]'")
    found: type[Session] = import_module(f"mate.sql.dialects.{kind}").SESSION
    return found


def dialect_of(kind: str) -> Dialect:
    """Return the dialect of a kind of database."""
    return session_class(kind).dialect


def open_session(address: Address, *, writes: bool = False) -> Session:
    """Connect to a database, to read or to write."""
    return session_class(address.kind)(address, writes=writes)
