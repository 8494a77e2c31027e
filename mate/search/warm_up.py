"""Have the search compiled, which takes some seconds once on a machine: better now than in somebody's first search."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from mate.lake.folder import LakeFolder
from mate.search.query import from_arrow
from mate.search.systems import DEFAULT, find_system
from mate.values.text import token

_ROWS = 100


def warm_up(index: object) -> None:
    """Search a lake for two values of its own, with the loops that searches of any size run on."""
    import numba  # noqa: F401  (the compiler is used wherever it is loaded)

    if not isinstance(index, LakeFolder) or not index.segments:
        return
    nulls = frozenset(index.manifest.nulls)
    arrays = index.segments[0].arrays
    for place in range(min(_ROWS, len(arrays.table_id))):
        rows = int(np.diff(arrays.table_row_first[place : place + 2])[0])
        for cells in index.cells(int(arrays.table_id[place]), np.arange(min(rows, 1))):
            values = [cell for cell in cells if cell and token(cell, nulls)]
            if len(values) >= 2:
                query = from_arrow(pa.table({"first": values[:1], "second": values[1:2]}))
                for result in find_system(DEFAULT)(index, query, query.header, 1):
                    result.find_matches()
                    _ = result.evidence
                return
