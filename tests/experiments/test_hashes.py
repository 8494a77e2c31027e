"""The variants of XASH are XASH without some of its parts; fair Bloom filters set as many bits as XASH."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.hashes import COMPONENTS, RARE_FIRST, compared, components, described
from experiments.lakes import Request
from mate.hashing import CorpusStatistics, find, fit, get, or_aggregate
from mate.hashing.xash import Features, Rotation, xash
from tests.keys import from_ints

FEATURES = {
    "xash-length": Features(characters=False, location=False, rotation=Rotation.OFF),
    "xash-characters": Features(length=False, location=False, rotation=Rotation.OFF),
    "xash-characters-location": Features(length=False, rotation=Rotation.OFF),
    "xash-characters-length-location": Features(rotation=Rotation.OFF),
    "xash-paper": Features(),
    "xash-corpus-rare": Features(rare_first=RARE_FIRST),
}
LAKE = CorpusStatistics(distinct_tokens=1_000_000, mean_columns=9.0)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5), st.sampled_from(sorted(FEATURES)))
def test_variants_are_xash_without_some_parts(values: list[str], name: str) -> None:
    for bits in (128, 512):
        function = get(name, bits, alpha=5)
        wanted = from_ints([xash(value, bits, 5, FEATURES[name]) for value in values], bits)
        assert (function.hash(pa.array(values)) == wanted).all()


def test_the_definition_and_the_kernel_agree_on_variants() -> None:
    values = pa.array([f"value {i} äß" for i in range(2_000)])
    for name in COMPONENTS:
        function = get(name, 128, alpha=5)
        assert (function.hash(values)[:50] == function.hash(values[:50])).all()


@pytest.mark.parametrize(("bits", "lakes", "papers"), [(128, 4, 6), (256, 3, 5), (512, 3, 4)])
def test_alpha_is_that_of_the_lake_or_the_papers(bits: int, lakes: int, papers: int) -> None:
    assert fit("xash", bits, LAKE).parameters == {"alpha": lakes}
    assert fit("xash-paper", bits, LAKE).parameters == {"alpha": papers}
    assert fit("bf-fair", bits, LAKE).parameters == {"hashes": lakes}
    assert fit("bf-fair-paper", bits, LAKE).parameters == {"hashes": papers}
    assert fit("xash-released", bits, LAKE).parameters == {"characters": 5}
    assert fit("xash-released-six", bits, LAKE).parameters == {"characters": 6}
    assert fit("bf-fair-released", bits, LAKE).parameters == {"hashes": 6}
    assert all(fit(name, bits, LAKE).parameters == {"alpha": papers} for name in COMPONENTS)


@pytest.mark.parametrize("lake", [LAKE, CorpusStatistics(distinct_tokens=10, mean_columns=73.0)])
def test_the_papers_h_is_that_of_its_set_up(lake: CorpusStatistics) -> None:
    for name, hashes in {"bf-paper-5": (18, 35, 71), "bf-paper-26": (3, 7, 14)}.items():
        assert [fit(name, bits, lake).parameters["hashes"] for bits in (128, 256, 512)] == [*hashes]
        assert get(name).parameters == {"hashes": hashes[0]}
    assert fit("bf", 128, CorpusStatistics(10, 73.0)).parameters == {"hashes": 1}


@pytest.mark.parametrize("name", ["bf-paper-5", "bf-paper-26", "bf-fair-released", "xash-released-six", *COMPONENTS])
@given(rows=st.lists(st.lists(st.text(max_size=12), min_size=1, max_size=8), min_size=1, max_size=4))
def test_variants_lose_no_row(name: str, rows: list[list[str]]) -> None:
    function = get(name, 128)
    hashes = function.hash(pa.array([value for row in rows for value in row], pa.string()))
    keys = or_aggregate(hashes, np.cumsum([0, *map(len, rows)]))
    assert not (hashes & ~np.repeat(keys, [len(row) for row in rows], axis=0)).any()


def test_every_compared_hash_can_be_made_again_from_its_record() -> None:
    wanted = [*compared(), *components()]
    assert len(set(wanted)) == len(wanted) == 53
    for name, bits in wanted:
        spec = Request(name, bits).chosen(LAKE)
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert spec.function() == fit(name, bits, LAKE)
        assert bits in find(name).sizes


def test_variants_are_described() -> None:
    assert described("bf-fair") == ("bf", "fair")
    assert described("bf-paper-5") == ("bf", "paper's H, V = 5")
    assert described("xash-released") == ("xash", "released")
    assert described("xash-released-six") == ("xash", "released, six characters")
    assert described("xash-length") == ("xash", "length")
    assert described("md5") == ("md5", "")
