"""The blocks of a DuckDB file and their checksums, read without DuckDB.

DuckDB checks a block when it reads it; what no query reads stays unseen. Here every block is read, and what is damaged
is told by its place. A file begins with three headers of 4,096 bytes; blocks follow, whose size the headers
tell. All of them begin with 8 bytes of checksum: 5381 XOR, over the other 8-byte words, word * 0xbf58476d1ce4e5b9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt

HEADER = 4_096
HEADERS = 3
_MAGIC = b"DUCK"
_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_START = np.uint64(5_381)
_READ = 64
"""Blocks that are read at a time."""


def damage(path: Path, told: Callable[[int, int], None] = lambda *_: None) -> Iterator[str]:
    """Yield what is wrong with a file, block by block; `told` hears how many of how many blocks were read."""
    size = path.stat().st_size
    with path.open("rb") as stream:
        head = stream.read(HEADERS * HEADER)
        if len(head) < HEADERS * HEADER or head[8:12] != _MAGIC:
            yield "it does not begin as a DuckDB file does"
            return
        headers = np.frombuffer(head, np.uint64).reshape(HEADERS, -1)
        good = [_right(header) for header in headers]
        yield from (f"header {number} is damaged" for number, right in enumerate(good) if not right)
        # Of the last two headers the one with the higher number of writes is in use.
        used = max(
            (header for header, right in zip(headers[1:], good[1:], strict=True) if right), key=_writes, default=None
        )
        if used is None:
            return
        block_size = int(used[5])
        # The number of blocks in the header does not tell how many there must be: free ones at the end are cut off.
        whole, rest = divmod(size - HEADERS * HEADER, block_size)
        if rest:
            yield f"it ends in the middle of a block, after {size:,} bytes"
        for start in range(0, whole, _READ):
            count = min(_READ, whole - start)
            words = np.frombuffer(stream.read(count * block_size), np.uint64).reshape(count, -1)
            for place in np.flatnonzero([not _right(block) for block in words]).tolist():
                first = HEADERS * HEADER + (start + place) * block_size
                yield f"block {start + place} is damaged (bytes {first:,} to {first + block_size:,})"
            told(start + count, whole)


def _right(words: npt.NDArray[np.uint64]) -> bool:
    """Tell whether a checksum fits; a block that was never written is all zero."""
    return bool(words[0] == _START ^ np.bitwise_xor.reduce(words[1:] * _FACTOR)) or not words.any()


def _writes(header: npt.NDArray[np.uint64]) -> int:
    return int(header[1])
