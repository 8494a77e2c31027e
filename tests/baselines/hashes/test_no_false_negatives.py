"""The lemma of section 6.3 for every hash: the super key never misses a joinable row.

The row's super key comes from a batch as the index hashes it; the key of the values looked for comes from a small batch
of its own, as a query hashes it.
"""

from itertools import product

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.hashing import Keys, SuperKeyHash, get, or_aggregate

Row = list[str | None]

HASHES = [
    *product(["xash", "xash-released", "xash-released-cleaned"], (64, 128, 256, 512)),
    *product(["bf", "lhbf", "ht", "simhash"], (128, 256, 512)),
    *product(["md5", "murmur", "city"], (128,)),
]
FILLING: Row = [f"cell {i}" for i in range(1_000)]

cells = st.none() | st.sampled_from(["", "a", "berlin", "Σ"]) | st.text(max_size=30)
tables = st.lists(st.lists(cells, min_size=1, max_size=30), min_size=1, max_size=5)


def super_keys(function: SuperKeyHash, rows: list[Row]) -> Keys:
    hashes = function.hash([cell for row in rows for cell in row])
    return or_aggregate(hashes, np.cumsum([0, *map(len, rows)]))


def covers(query: Keys, rows: Keys) -> npt.NDArray[np.bool_]:
    """Tell for each pair whether the row's key has every bit of the query's."""
    return ~np.any(query & ~rows, axis=1)


@pytest.mark.parametrize(("name", "bits"), HASHES)
@settings(max_examples=25)
@given(table=tables, large=st.booleans(), data=st.data())
def test_a_row_covers_any_of_its_values(
    name: str, bits: int, table: list[Row], large: bool, data: st.DataObject
) -> None:
    function = get(name, bits)
    wanted = [data.draw(st.lists(st.sampled_from(row), max_size=len(row))) for row in table]
    rows = super_keys(function, [*table, FILLING] if large else table)[: len(table)]
    assert covers(super_keys(function, wanted), rows).all()


@pytest.mark.parametrize(("name", "bits"), HASHES)
def test_a_row_does_not_cover_every_value(name: str, bits: int) -> None:
    """Else the lemma would hold for a hash that sets all bits."""
    function = get(name, bits)
    rows = super_keys(function, [["berlin", "germany"]] * len(FILLING))
    assert covers(function.hash(FILLING), rows).mean() < 0.5
