"""What holds for every baseline hash: found by name, empty values, batches, sizes, parameters."""

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.errors import HashError
from mate.hashing import CorpusStatistics, available, bits_set, fit, get

FILTERS = ("bf", "lhbf", "ht", "simhash")
DIGESTS = ("md5", "murmur", "city")
XASHES = ("xash-released",)
HASHES = [*product((*FILTERS, *XASHES), (128, 256, 512)), *product(DIGESTS, (128,))]
CORPUS = CorpusStatistics(distinct_tokens=1_000_000, mean_columns=9.5)

every_hash = pytest.mark.parametrize(("name", "bits"), HASHES)
cells = st.none() | st.just("") | st.text(max_size=30)


def test_all_are_found_by_name() -> None:
    names = {*FILTERS, *XASHES, *DIGESTS, "xash-released-cleaned"}
    assert names <= set(available())
    assert all(get(name).name == name for name in names)


@every_hash
@settings(max_examples=30)
@given(values=st.lists(cells, max_size=12))
def test_only_empty_values_set_no_bit(name: str, bits: int, values: list[str | None]) -> None:
    keys = get(name, bits).hash(values)
    assert keys.shape == (len(values), bits // 64)
    assert keys.dtype == np.uint64
    assert (bits_set(keys) > 0).tolist() == [bool(value) for value in values]


@every_hash
@settings(max_examples=30)
@given(values=st.lists(cells, max_size=12))
def test_a_batch_is_its_values_one_by_one(name: str, bits: int, values: list[str | None]) -> None:
    function = get(name, bits)
    assert function.hash(values).tolist() == [function.hash([value])[0].tolist() for value in values]


@every_hash
def test_a_large_batch_is_its_parts(name: str, bits: int) -> None:
    function = get(name, bits)
    values = [None if i % 7 == 3 else "" if i % 7 == 5 else f"Wert {i}é" for i in range(1_001)]
    parts = np.concatenate([function.hash(values[i : i + 100]) for i in range(0, len(values), 100)])
    assert (function.hash(values) == parts).all()
    assert (function.hash(pa.array(values)[1:]) == parts[1:]).all()


@every_hash
def test_values_are_told_apart(name: str, bits: int) -> None:
    keys = get(name, bits).hash(["berlin", "paris", "münchen"])
    assert len(np.unique(keys, axis=0)) == 3


@every_hash
def test_parameters_make_the_same_hash_again(name: str, bits: int) -> None:
    fitted = fit(name, bits, CORPUS)
    again = get(name, bits, **fitted.parameters)
    assert again == fitted
    assert (again.hash(["a", "bc"]) == fitted.hash(["a", "bc"])).all()


@pytest.mark.parametrize(("name", "parameters"), [("bf", {"hashes": 6}), ("lhbf", {"probes": 6})])
def test_chosen_parameters_are_recorded(name: str, parameters: dict[str, int]) -> None:
    chosen = get(name, 256, **parameters)
    assert chosen.parameters == parameters
    assert chosen == get(name, 256, **chosen.parameters) != get(name, 256)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("bits", [0, 64, 100, 1024, True])
def test_filters_have_three_sizes(name: str, bits: int) -> None:
    with pytest.raises(HashError, match=f"^{name} has no {bits}-bit version; it has: 128, 256, 512$"):
        get(name, bits)


@pytest.mark.parametrize("name", DIGESTS)
@pytest.mark.parametrize("bits", [64, 256, 512])
def test_digests_have_one_size(name: str, bits: int) -> None:
    with pytest.raises(HashError, match=f"^{name} has no {bits}-bit version; it has: 128$"):
        get(name, bits)


@pytest.mark.parametrize("name", ["ht", "simhash", *DIGESTS])
def test_rejects_parameters_of_other_hashes(name: str) -> None:
    with pytest.raises(HashError, match=f"^{name} does not take these parameters: .*'hashes'"):
        get(name, 128, hashes=2)
