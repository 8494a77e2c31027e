"""Token to number: 63 bits of a hash of its UTF-8 bytes, so that no machine has to ask another for the next number.

Two of a billion tokens share a number with a chance of about 5 %, two of ten million with 0.0005 %. A segment keeps
such texts as two tokens, and a search compares texts, so that a number never stands for two of them. A database cannot
tell them apart and refuses them.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.values._text import hash_bytes
from mate.values.arrow import string_buffers

TokenIds: TypeAlias = npt.NDArray[np.int64]

NO_TOKEN = -1
"""Stands for a null."""

_MASK = 2**64 - 1
_PRIME = 0x100000001B3
_BASIS = 0xCBF29CE484222325


def token_ids(tokens: pa.StringArray) -> TokenIds:
    """Return the number of each token, `NO_TOKEN` for null."""
    ids: TokenIds = hash_bytes(*string_buffers(tokens))
    if tokens.null_count:
        ids[tokens.is_null().to_numpy(zero_copy_only=False)] = NO_TOKEN
    return ids


def token_id(token: str) -> int:
    """Return the number of one token: FNV-1a over its bytes, then the finaliser of MurmurHash3, top bit cleared."""
    h = _BASIS
    for byte in token.encode():
        h = ((h ^ byte) * _PRIME) & _MASK
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & _MASK
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK
    return (h ^ (h >> 33)) >> 1
