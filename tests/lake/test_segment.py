"""Posting counts against the postings themselves."""

from __future__ import annotations

import numpy as np
import pytest

from mate.lake.layout import NO_PLACE, WIDE_ROWS, SegmentArrays, Shapes, make_arrays
from mate.lake.segment import SearchSegment
from tests.lake.test_layout import texts
from tests.lakes import postings_of

TABLES = 120
TOKENS = 8


@pytest.fixture(scope="module")
def arrays() -> SegmentArrays:
    """Many tables, two of them so long that their postings take two units; some tokens are in few tables."""
    chance = np.random.default_rng(1)
    rows, columns = chance.integers(0, 5, TABLES), chance.integers(1, 4, TABLES)
    rows[[7, 80]], columns[[7, 80]] = WIDE_ROWS, 1
    cells = chance.integers(-1, TOKENS - 3, int((rows * columns).sum())).astype(np.int32)
    cells[:9] = TOKENS - 2
    return make_arrays(Shapes(np.arange(TABLES), rows, columns), texts(TOKENS), cells)


@pytest.mark.parametrize("gone", [[], [3], [80, 81], list(range(0, TABLES, 2))], ids=["none", "one", "long", "half"])
def test_only_tables_in_use_count(arrays: SegmentArrays, gone: list[int]) -> None:
    live = np.ones(TABLES, np.bool_)
    live[gone] = False
    expected = [0] * TOKENS
    for token, table, *_ in postings_of(arrays):
        expected[token] += bool(live[table])
    places = np.array([*range(TOKENS), NO_PLACE, 0])
    assert SearchSegment(arrays, [], live, None).posting_counts(places).tolist() == [*expected, 0, expected[0]]
    assert expected[-1] == 0 < expected[0]
