"""Have the search compiled, which takes some seconds once on a machine: better now than in somebody's first search."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mate.search import scan_kernel
from mate.search.discovery import search
from mate.search.query import from_arrow
from mate.store.base import IndexStore
from mate.values.text import token

_ROWS = 100


def warm_up(store: IndexStore) -> None:
    """Search an index for two values of its own, with the loops that searches of any size run on."""
    if store.flat is None:
        return
    scan_kernel.compile_all()
    nulls = frozenset(store.manifest.nulls)
    for cells in store.cells(np.arange(min(_ROWS, store.manifest.rows))).values():
        values = [cell for cell in cells if cell and token(cell, nulls)]
        if len(values) >= 2:
            query = from_arrow(pa.table({"first": values[:1], "second": values[1:2]}))
            for result in search(store, query, query.header, 1):
                result.find_matches()
            return
