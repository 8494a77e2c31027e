"""The variants of XASH are XASH without some of its parts; fair Bloom filters set as many bits as XASH."""

import pickle

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.hashes import COMPONENTS, compared, components, described
from experiments.lakes import Request
from mate.hashing import CorpusStatistics, find, fit, get
from mate.hashing.superkey import from_ints
from mate.hashing.xash import Features, xash

FEATURES = {
    "xash-length": Features(characters=False, location=False, rotation=False),
    "xash-characters": Features(length=False, location=False, rotation=False),
    "xash-characters-location": Features(length=False, rotation=False),
    "xash-characters-length-location": Features(rotation=False),
    "xash-paper": Features(),
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
    assert all(fit(name, bits, LAKE).parameters == {"alpha": papers} for name in COMPONENTS)


def test_every_compared_hash_can_be_made_again_from_its_record() -> None:
    wanted = [*compared(), *components()]
    assert len(set(wanted)) == len(wanted) == 35
    for name, bits in wanted:
        spec = Request(name, bits).chosen(LAKE)
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert spec.function() == fit(name, bits, LAKE)
        assert bits in find(name).sizes


def test_variants_are_described() -> None:
    assert described("bf-fair") == ("bf", "fair")
    assert described("xash-length") == ("xash", "length")
    assert described("md5") == ("md5", "")
