"""Normalise cells to tokens, in the corpus and in queries.

A token is the cell in Unicode NFKC, case-folded, trimmed, with single spaces. Empty cells and the usual spellings of
"no value" have no token. Two cells join if and only if their tokens are equal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Set
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import TextError
from mate.values._text import normalise_ascii
from mate.values.arrow import Bytes, Offsets, string_array, string_buffers, strings_from_buffers

NORMALISATION_VERSION = 1
"""Recorded in every index: tokens of different versions cannot be compared."""

UNICODE_VERSION = unicodedata.unidata_version
"""The Unicode tables of this interpreter; versions differ only in new characters."""

NULL_SPELLINGS = frozenset({"nan", "null", "none", "n/a", "na", "-", "–", "—", "?", "unknown"})
"""Tokens that mean "no value" by default."""


def token(value: str, nulls: Set[str] = NULL_SPELLINGS) -> str | None:
    """Return the token of one cell, or None if the cell has no value.

    >>> token("  Straße\\u00a0 42 "), token("ＭＡＴＥ"), token("N/A")
    ('strasse 42', 'mate', None)
    """
    if not isinstance(value, str):
        raise TextError(f"expected a string, got {type(value).__name__}: {value!r:.80}")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise TextError(f"a lone surrogate is not valid Unicode text: {value!r:.80}") from None
    normal = _normalise(value)
    return None if not normal or normal in nulls else normal


def tokens(values: Any, nulls: Set[str] = NULL_SPELLINGS) -> pa.StringArray:
    """Return the tokens of many cells; null for no value."""
    cells = string_array(values)
    normal = strings_from_buffers(*normal_buffers(cells))
    absent = pc.is_in(normal, value_set=_spellings(frozenset(nulls)))
    if cells.null_count:
        absent = pc.or_(absent, cells.is_null())
    return pc.if_else(absent, pa.scalar(None, pa.string()), normal)


def normal_buffers(cells: pa.StringArray) -> tuple[Bytes, Offsets]:
    """Return the bytes and offsets of normalised cells, including spellings of "no value"."""
    data, offsets, ascii_only = normalise_ascii(*string_buffers(cells))
    if ascii_only.all():
        return data, offsets
    foreign = pa.array(~ascii_only)
    encoded = cells.filter(foreign).dictionary_encode()
    distinct = pa.array([_normalise(cell) for cell in encoded.dictionary.to_pylist()], pa.string())
    normal = strings_from_buffers(data, offsets)
    return string_buffers(pc.replace_with_mask(normal, foreign, distinct.take(encoded.indices)))


@lru_cache(maxsize=16)
def null_buffers(nulls: frozenset[str]) -> tuple[Bytes, Offsets]:
    """Return the bytes and offsets of the tokens that mean "no value"."""
    return string_buffers(_spellings(nulls))


@lru_cache(maxsize=16)
def _spellings(nulls: frozenset[str]) -> pa.StringArray:
    return pa.array(sorted({"", *nulls}), pa.string())


def _normalise(value: str) -> str:
    if not value.isascii():
        value = unicodedata.normalize("NFKC", value).casefold()
        # Folding can decompose ("ΐ" becomes three code points), so normalise again.
        return " ".join(unicodedata.normalize("NFKC", value).split())
    return " ".join(value.lower().split())


def characters(values: pa.StringArray) -> npt.NDArray[np.int32]:
    """Return the length of each token in characters, 0 for null."""
    lengths: npt.NDArray[np.int32] = pc.fill_null(pc.utf8_length(values), 0).to_numpy(zero_copy_only=False)
    return lengths
