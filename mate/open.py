"""Open an index by its address, to read or to change it: the folder of a lake, or a database."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from mate.errors import StoreError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mate.build.change import Writer
    from mate.index.base import Index


def open_index(address: str) -> Index:
    """Open a published index: the path of a lake, or ``vertica://...``."""
    if is_database(address):
        from mate.sql.vertica import VerticaIndex

        return VerticaIndex(address)
    from mate.index.lake import open_lake

    return open_lake(address)


def open_writer(address: str, wait: float) -> AbstractContextManager[Writer]:
    """Return the right to change an index, waiting so many seconds for others to end."""
    if is_database(address):
        from mate.sql.vertica_changes import VerticaWriter

        return VerticaWriter(address, wait)
    from mate.build.lake_writer import LakeWriter

    return LakeWriter(address, wait)


def is_database(address: str) -> bool:
    """Tell whether an index is in Vertica, which needs the client that the extra "vertica" installs."""
    if not address.startswith("vertica:"):
        return False
    if find_spec("vertica_python") is None:
        raise StoreError("Vertica needs its client: pip install 'mate-discovery[vertica]'")
    return True
