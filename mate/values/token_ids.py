"""Token ids: 63 bits of a hash of the UTF-8 bytes, so that machines number tokens independently.

Among a billion tokens two share an id with a probability of about 5 %, among ten million with 0.0005 %. A segment
stores such texts as two tokens, and a search compares texts. A database cannot tell them apart and refuses them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.values._text import hash_bytes
from mate.values.arrow import string_buffers

NO_TOKEN = -1
"""The id of a null."""


def token_ids(tokens: pa.StringArray) -> npt.NDArray[np.int64]:
    """Return the id of each token, `NO_TOKEN` for null: FNV-1a, the finaliser of MurmurHash3, top bit cleared."""
    ids: npt.NDArray[np.int64] = hash_bytes(*string_buffers(tokens))
    if tokens.null_count:
        ids[tokens.is_null().to_numpy(zero_copy_only=False)] = NO_TOKEN
    return ids
