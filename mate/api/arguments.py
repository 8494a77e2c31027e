"""Arguments as people give them, brought to one form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from operator import index
from os import PathLike, fspath
from typing import Literal, SupportsIndex, TypeAlias

from mate.errors import MateError, QueryError, StoreError, did_you_mean
from mate.lake.records import TableInfo
from mate.storage import is_remote
from mate.stores import is_database

Paths: TypeAlias = "str | PathLike[str] | Iterable[str | PathLike[str]]"
TableRef: TypeAlias = "int | str | TableInfo"
"""A table of a lake by its number, file or name."""
Tables: TypeAlias = "Iterable[TableRef] | Literal['self']"
"""Tables of a lake; "self": those that were read from the query's own file."""
Key: TypeAlias = "str | Iterable[str]"

FORMATS = {"auto": None, "csv": "delimited", "parquet": "parquet", "json": "json", "dwtc": "dwtc"}
"""Readers of files by the names that people use."""


def whole_number(name: str, value: SupportsIndex, least: int = 1, most: int | None = None) -> int:
    """Return a whole number within bounds, also one of NumPy."""
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise QueryError(f"{name} must be a whole number {bounds}, not {value!r}")
    return number


def text_list(given: Paths) -> list[str]:
    """Return one or several texts or paths as a list of texts."""
    return list(map(str, [given] if isinstance(given, str | PathLike) else given))


def reader_name(format: str | None) -> str | None:
    """Return the reader of a format; None: it is detected per file."""
    format = "auto" if format is None else format
    if format not in FORMATS:
        raise MateError(f'there is no format "{format}"; {did_you_mean(format, FORMATS)}')
    return FORMATS[format]


def lake_address(address: str | PathLike[str]) -> str:
    """Return the path of a folder, or the address of a store or database with its scheme in small letters.

    An unknown address is never shown: it may hold a password.
    """
    text = fspath(address)
    bare = text.strip()
    if not bare or "\0" in bare:
        raise StoreError("a lake is named by a path or the address of a database")
    if is_database(bare) or is_remote(bare):
        scheme, colon, rest = bare.partition(":")
        return scheme.lower() + colon + rest
    if "://" in bare or (bare.startswith("//") and "@" in bare):
        scheme = bare.partition("://")[0]
        shown = f"{scheme}://" if re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]+", scheme) else "this"
        raise StoreError(
            f"{shown} is no address of an index; "
            "it is the path of a folder, s3://bucket/folder, or a database's address"
        )
    return text
