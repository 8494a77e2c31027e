"""Which tables have all values of which key tuples, against plain sets."""

from __future__ import annotations

import numpy as np
import pytest

from mate.search.bits_kernel import members
from mate.search.held_kernel import bound_by_held, hold_tuples
from mate.values.kernels import kernel


@kernel
def tuples_by_table(tuple_value, has, tables):  # type: ignore[no-untyped-def]
    """Call what only kernels can call."""
    held = hold_tuples(tuple_value, has, tables)
    return [members(held[table]) for table in range(tables)], bound_by_held(held, np.full(tables, 5))


@pytest.mark.parametrize("tuples", [1, 63, 64, 65, 200])
@pytest.mark.parametrize("tables", [1, 64, 65, 130])
@pytest.mark.parametrize("width", [1, 2, 3])
def test_a_table_holds_the_key_tuples_all_of_whose_values_it_has(width: int, tables: int, tuples: int) -> None:
    random = np.random.default_rng(tables * tuples + width)
    values = random.integers(0, 40, (width, tuples))
    present = random.random((40, tables)) < 0.6
    has = np.zeros((40, (tables + 63) // 64), np.uint64)
    for value, table in np.argwhere(present).tolist():
        has[value, table // 64] |= np.uint64(1) << np.uint64(table % 64)
    held, bound = tuples_by_table(values, has, tables)
    for table in range(tables):
        expected = np.flatnonzero(present[values, table].all(axis=0)).tolist()
        assert held[table].tolist() == expected
        assert bound[table] == min(5, len(expected))
