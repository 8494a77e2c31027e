"""Raw cell to token: the one normalisation, used for the corpus and for the query alike.

A token is the cell in Unicode NFKC, case-folded, every run of white space one space, trimmed. Empty cells
and the usual spellings of "no value" have no token. Two cells join if and only if their tokens are equal.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Set
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import TextError
from mate.values.arrow import string_array, string_buffers, strings_from_buffers
from mate.values.compiled import is_worth

NORMALISATION_VERSION = 1
"""Recorded in every index: a change of the rule above makes old tokens incomparable."""

UNICODE_VERSION = unicodedata.unidata_version
"""The Unicode tables of this interpreter; they differ only in characters that are new to Unicode."""

NULL_SPELLINGS = frozenset({"nan", "null", "none", "n/a", "na", "-", "–", "—", "?", "unknown"})
"""Tokens that mean "no value" unless the caller says otherwise."""

_SMALL = 20_000
"""Below this many values the plain loop is done before the compiled kernel is loaded."""


def token(value: str, nulls: Set[str] = NULL_SPELLINGS) -> str | None:
    """Return the token of one cell, or None if the cell holds no value.

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
    """Return the tokens of many cells, null where `token` gives None; nulls stay null."""
    cells = string_array(values)
    if not is_worth(len(cells), _SMALL):
        return _tokens_scalar(cells, nulls)
    return _tokens_kernel(cells, nulls)


def _normalise(value: str) -> str:
    if not value.isascii():
        value = unicodedata.normalize("NFKC", value).casefold()
        # Folding can undo the composition ("ΐ" becomes three code points), so it is composed again.
        return " ".join(unicodedata.normalize("NFKC", value).split())
    return " ".join(value.lower().split())


def _tokens_scalar(cells: pa.StringArray, nulls: Set[str]) -> pa.StringArray:
    normal = [None if cell is None else _normalise(cell) for cell in cells.to_pylist()]
    return pa.array([None if not t or t in nulls else t for t in normal], pa.string())


def _tokens_kernel(cells: pa.StringArray, nulls: Set[str]) -> pa.StringArray:
    """ASCII cells in one compiled pass; the few others by way of their distinct values."""
    from mate.values.text_kernel import normalise_ascii

    data, offsets, ascii_only = normalise_ascii(*string_buffers(cells))
    normal = strings_from_buffers(data, offsets)
    if not ascii_only.all():
        foreign = pa.array(~ascii_only)
        encoded = cells.filter(foreign).dictionary_encode()
        distinct = pa.array([_normalise(cell) for cell in encoded.dictionary.to_pylist()], pa.string())
        normal = pc.replace_with_mask(normal, foreign, distinct.take(encoded.indices))
    absent = pc.is_in(normal, value_set=pa.array(sorted({"", *nulls}), pa.string()))
    if cells.null_count:
        absent = pc.or_(absent, cells.is_null())
    return pc.if_else(absent, pa.scalar(None, pa.string()), normal)


def characters(values: pa.StringArray) -> npt.NDArray[np.int32]:
    """Return the length of each token in characters, 0 for null."""
    lengths: npt.NDArray[np.int32] = pc.fill_null(pc.utf8_length(values), 0).to_numpy(zero_copy_only=False)
    return lengths
