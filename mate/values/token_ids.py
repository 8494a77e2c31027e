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

from mate.values.arrow import string_buffers
from mate.values.compiled import is_worth

TokenIds: TypeAlias = npt.NDArray[np.int64]

NO_TOKEN = -1
"""Stands for a null."""

_SMALL = 500_000
"""Fewer tokens are numbered before the compiler is loaded."""
_LONG = 256
"""Bytes from which a token is numbered alone."""
_MASK = 2**64 - 1
_PRIME = 0x100000001B3
_BASIS = 0xCBF29CE484222325


def token_ids(tokens: pa.StringArray) -> TokenIds:
    """Return the number of each token, `NO_TOKEN` for null."""
    if not is_worth(len(tokens), _SMALL):
        ids = _hash_arrays(tokens)
    else:
        from mate.values.token_ids_kernel import hash_bytes

        ids = hash_bytes(*string_buffers(tokens), np.uint64(_BASIS))
    if tokens.null_count:
        ids[tokens.is_null().to_numpy(zero_copy_only=False)] = NO_TOKEN
    return ids


def _hash_arrays(tokens: pa.StringArray) -> TokenIds:
    """Number tokens byte after byte, all that are long enough at once."""
    data, offsets = string_buffers(tokens)
    size = np.diff(offsets)
    longest_first = np.argsort(-size, kind="stable")
    shorter = longest_first[np.count_nonzero(size > _LONG) :]
    start, lengths = offsets[shorter], size[shorter]
    left = np.searchsorted(-lengths, -np.arange(lengths[0] if len(lengths) else 0))  # tokens longer than 0, 1, 2 ...
    h = np.full(len(shorter), _BASIS, np.uint64)
    for place, count in enumerate(left.tolist()):
        h[:count] ^= data[start[:count] + place]
        h[:count] *= np.uint64(_PRIME)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        h = (h ^ (h >> np.uint64(33))) * np.uint64(factor)
    ids = np.empty(len(tokens), np.int64)
    ids[shorter] = (h ^ (h >> np.uint64(33))) >> np.uint64(1)
    for number in longest_first[: len(ids) - len(shorter)].tolist():
        ids[number] = token_id(tokens[number].as_py())
    return ids


def token_id(token: str) -> int:
    """Return the number of one token: FNV-1a over its bytes, then the finaliser of MurmurHash3, top bit cleared."""
    h = _BASIS
    for byte in token.encode():
        h = ((h ^ byte) * _PRIME) & _MASK
    h = ((h ^ (h >> 33)) * 0xFF51AFD7ED558CCD) & _MASK
    h = ((h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53) & _MASK
    return (h ^ (h >> 33)) >> 1
