"""Arguments as people give them, checked and brought to one form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from operator import index
from os import PathLike, fspath
from typing import TYPE_CHECKING, Literal, SupportsIndex, TypeAlias

from mate.display import size_of
from mate.errors import CorpusError, MateError, QueryError, StoreError, did_you_mean
from mate.storage import is_remote
from mate.stores import is_database

if TYPE_CHECKING:
    from mate.lake.records import TableInfo

Paths: TypeAlias = "str | PathLike[str] | Iterable[str | PathLike[str]]"
TableRef: TypeAlias = "int | str | TableInfo"
"""A table of a lake by its number, file or name."""
Tables: TypeAlias = "Iterable[TableRef] | Literal['self']"
"""Tables of a lake; "self": those that were read from the query's own file."""
Key: TypeAlias = "str | Sequence[str]"

FORMATS = {"auto": None, "csv": "delimited", "parquet": "parquet", "json": "json", "dwtc": "dwtc"}
"""Readers of files by the names that people use."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):")


def whole_number(name: str, value: SupportsIndex, least: int = 1, most: int | None = None) -> int:
    """Return a whole number, also one of NumPy."""
    try:
        number = None if isinstance(value, bool) else index(value)
    except TypeError:
        number = None
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise QueryError(f"{name} must be a whole number {bounds}, not {value!r}")
    return number


def texts(name: str, value: str | Iterable[str]) -> list[str]:
    """Return one or several texts as a list."""
    found = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [None]
    if not all(isinstance(text, str) for text in found):
        raise MateError(f"{name} takes a text or a list of texts, not {_type_of(value)}")
    return [text for text in found if text is not None]


def size(name: str, value: SupportsIndex | str) -> int:
    """Return a number of bytes, which may be a text such as 2GB."""
    if not isinstance(value, str):
        return whole_number(name, value)
    found = size_of(value)
    if found is None:
        raise MateError(f"{name} takes a number of bytes or a size such as 2GB, not {value!r}")
    return found


def seconds(name: str, value: float) -> float:
    """Return a number of seconds."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        shown = f"{value:g}" if isinstance(value, int | float) else repr(value)
        raise MateError(f"{name} takes a number of seconds from 0 on, not {shown}")
    return value


def require_type(name: str, value: object, kind: type, example: str) -> None:
    """Refuse a value of another type."""
    if not isinstance(value, kind):
        raise MateError(f"{name} takes {example}, not {_type_of(value)}")


def _type_of(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def column_names(columns: Key) -> list[str]:
    """Return one or several names of columns as a list."""
    if isinstance(columns, str):
        return [columns]
    if not isinstance(columns, Iterable):
        raise QueryError(f"columns are given as a list of names, not as {type(columns).__name__}")
    return list(map(str, columns))


def path_list(paths: Paths) -> list[str]:
    """Return one or several paths as texts."""
    if isinstance(paths, str | PathLike):
        return [fspath(paths)]
    found = list(paths) if isinstance(paths, Iterable) else [None]
    if not all(isinstance(path, str | PathLike) for path in found):
        raise CorpusError("paths are given as one path, or as a list of them")
    return [fspath(path) for path in found if path is not None]


def reader_name(format: str | None) -> str | None:
    """Return the reader of a format; None: it is detected per file."""
    if format is None:
        return None
    if not isinstance(format, str) or format not in FORMATS:
        raise MateError(f'there is no format "{format}"; {did_you_mean(format, FORMATS)}')
    return FORMATS[format]


def lake_address(address: str | PathLike[str]) -> str:
    """Return the path of a folder, or the address of a store or database with its scheme in small letters.

    An unknown address is never shown: it may hold a password.
    """
    if not isinstance(address, str | PathLike):
        raise StoreError(f"a lake is named by a path or the address of a database, not {type(address).__name__}")
    text = fspath(address)
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise StoreError("a lake is named by a path or the address of a database")
    bare = text.strip()
    scheme = _SCHEME.match(bare)
    if scheme and (is_database(bare) or is_remote(bare)):
        return scheme[1].lower() + bare[scheme.end(1) :]
    if "://" in bare or (bare.startswith("//") and "@" in bare):
        shown = f"{scheme[1]}://" if scheme and bare.startswith("://", scheme.end(1)) else "this"
        raise StoreError(
            f"{shown} is no address of an index; "
            "it is the path of a folder, s3://bucket/folder, or a database's address"
        )
    return text
