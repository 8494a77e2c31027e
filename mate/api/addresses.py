"""Where an index is: the path of a folder, the address of a store such as s3://bucket/lake.mate, or of a database."""

from __future__ import annotations

import re
from os import PathLike, fspath
from pathlib import Path

from mate.errors import StoreError
from mate.storage import is_remote
from mate.stores import is_database

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def address_of(given: str | PathLike[str]) -> str:
    """Return an address as stores know it: the scheme of a database or store in small letters.

    An address that nobody knows is never shown: it may hold a password.
    """
    if not isinstance(given, str | PathLike):
        raise StoreError(f"a lake is named by a path or the address of a database, not {type(given).__name__}")
    text = fspath(given)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise StoreError("a lake is named by a path or the address of a database")
    bare = text.strip()
    if is_database(bare.lower()) or is_remote(bare):
        text = bare
    match = _SCHEME.match(text)
    if match is None or not (is_database(text) or is_remote(text)):
        _refuse_urls(bare)
        return text
    lower = match[1].lower() + text[match.end(1) :]
    return lower


def _refuse_urls(text: str) -> None:
    """Refuse what looks like the address of something else."""
    scheme, mark, _ = text.partition("://")
    if not mark and not (text.startswith("//") and "@" in text):
        return
    known = _SCHEME.fullmatch(f"{scheme}:") if mark else None
    shown = f"{known[1]}://" if known else "this"
    raise StoreError(
        f"{shown} is no address of an index; it is the path of a folder, s3://bucket/folder, or a database's address"
    )


def is_inside(path: Path, address: str) -> bool:
    """Tell whether a file is in the folder of a lake."""
    if is_database(address) or is_remote(address):
        return False
    lake, own = Path(address).resolve(), path.resolve()
    return own == lake or lake in own.parents
