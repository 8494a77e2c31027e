"""The databases that an index can be in, one module each."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from mate.errors import StoreError
from mate.sql.address import KINDS
from mate.sql.dialects.base import Client, Columns, Dialect, LoadCounts, Lock

_CLIENTS = {"vertica": "vertica_python", "postgresql": "psycopg", "duckdb": "duckdb"}
_known: dict[str, Dialect] = {}


def dialect_of(kind: str) -> Dialect:
    """Return the dialect of a kind of database, which needs the client that the extra of its name installs."""
    if kind not in _known:
        if find_spec(_CLIENTS[kind]) is None:
            raise StoreError(f"{KINDS[kind].title} needs its client: pip install 'mate-discovery[{kind}]'")
        _known[kind] = import_module(f"mate.sql.dialects.{kind}").DIALECT
    return _known[kind]


__all__ = ["Client", "Columns", "Dialect", "LoadCounts", "Lock", "dialect_of"]
