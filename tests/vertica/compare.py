"""Two indexes compared cell by cell, through the protocol that both meet."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pyarrow as pa

from mate.hashing.superkey import to_ints
from mate.store import IndexStore, Manifest
from mate.token_ids import NO_TOKEN


def plain(manifest: Manifest) -> Manifest:
    """Return a manifest without what tells when and by what it was built."""
    return replace(manifest, built="", versions={})


def same(one: IndexStore, other: IndexStore) -> None:
    """Assert that two indexes hold the same, nothing twice and nothing missing."""
    assert plain(one.manifest) == plain(other.manifest)
    assert one.tables() == other.tables()
    assert one.sources() == other.sources()
    assert one.rejects() == other.rejects()
    every = np.arange(one.manifest.rows)
    for mine, theirs in zip(one.rows(every), other.rows(every), strict=True):
        assert mine.tolist() == theirs.tolist()
    cells = one.cells(every)
    assert cells == other.cells(every)
    for number in range(len(one.manifest.hashes)):
        assert to_ints(one.super_keys(every, number)) == to_ints(other.super_keys(every, number))
    known = np.unique(one.rows(every).token_id)
    known = known[known != NO_TOKEN]
    assert _counted(one, known) == _counted(other, known)
    texts = pa.array(sorted({c.casefold() for row in cells.values() for c in row if c}))
    for mine, theirs in zip(one.tokens(texts), other.tokens(texts), strict=True):
        assert mine.tolist() == theirs.tolist()


def _counted(store: IndexStore, tokens: np.ndarray) -> Counter[tuple[int, ...]]:
    found = store.postings(tokens)
    assert len(found.token_id) == store.manifest.cells
    return Counter(zip(*(column.tolist() for column in found), strict=True))
