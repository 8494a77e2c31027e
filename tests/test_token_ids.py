"""Token numbers: the native loop equals the definition, numbers are stable and spread."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from mate.values.token_ids import NO_TOKEN, token_ids
from tests.keys import token_id

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"])))


@given(texts)
def test_arrays_equal_the_definition(values: list[str]) -> None:
    expected = [token_id(value) for value in values]
    array = pa.array(values, pa.string())
    assert token_ids(array).tolist() == expected
    assert token_ids(array[1:]).tolist() == expected[1:]


def test_numbers_never_change() -> None:
    """An index on disk depends on them."""
    assert token_id("new york") == 8611238174015786042


def test_nulls_and_signs() -> None:
    ids = token_ids(pa.array(["x", None, "y"]))
    assert ids[1] == NO_TOKEN
    assert (ids[[0, 2]] >= 0).all()


def test_spread_and_uniqueness() -> None:
    ids = token_ids(pa.array([f"{i}" for i in range(200_000)]))
    assert len(np.unique(ids)) == len(ids)
    halves = (ids >> 62).mean()
    assert 0.49 < halves < 0.51
