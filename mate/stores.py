"""Open an index by its address to read, change or build it: a lake in a folder or an object store, or a database."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mate.build.build import Target
    from mate.build.changes.change import Writer
    from mate.lake.base import Index

_DATABASE = re.compile(r"(vertica|postgresql|postgres|duckdb):", re.IGNORECASE)


def open_index(address: str) -> Index:
    """Open a published index: a path, ``s3://...``, ``vertica://...``, ``postgresql://...`` or ``duckdb:FILE``."""
    if is_database(address):
        from mate.sql.index import DatabaseIndex

        return DatabaseIndex(address)
    from mate.lake.remote import open_lake

    return open_lake(address)


def open_writer(address: str, wait: float) -> AbstractContextManager[Writer]:
    """Open an index for a change, waiting that many seconds for other writers."""
    if is_database(address):
        from mate.sql.changes import DatabaseWriter

        return DatabaseWriter(address, wait)
    from mate.build.lake_target import LakeWriter

    return LakeWriter(address, wait)


def open_target(address: str) -> AbstractContextManager[Target]:
    """Open the place where an index is built and published."""
    if is_database(address):
        from mate.sql.target import DatabaseTarget

        return DatabaseTarget(address)
    from mate.build.lake_target import LakeTarget

    return LakeTarget(address)


def usual_hash(address: str) -> str:
    """Return the default hash function of super keys: in folders the paper's."""
    if not is_database(address):
        return "xash"
    from mate.sql.address import Address
    from mate.sql.dialects import dialect_of

    return dialect_of(Address.parse(address).kind).usual_hash


def is_database(address: str) -> bool:
    """Tell whether an index is in a database."""
    return _DATABASE.match(address) is not None
