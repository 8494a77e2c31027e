"""The variants of XASH are XASH without some of its parts; fair Bloom filters set as many bits as XASH."""

import pickle
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.hashes import COMPONENTS, RARE_FIRST, compared, components, described
from experiments.lakes import Request
from mate.hashing import CorpusStatistics, find, fit, get
from mate.hashing.xash import SEGMENTS, Features, Rotation, xash
from tests.keys import from_ints

FEATURES = {
    "xash-length": Features(characters=False, location=False, rotation=Rotation.OFF),
    "xash-characters": Features(length=False, location=False, rotation=Rotation.OFF),
    "xash-characters-location": Features(length=False, rotation=Rotation.OFF),
    "xash-characters-length-location": Features(rotation=Rotation.OFF),
    "xash-paper": Features(),
    "xash-released": Features(rotation=Rotation.SPREAD, first_place=0),
    "xash-corpus-rare": Features(rare_first=RARE_FIRST),
}
LAKE = CorpusStatistics(distinct_tokens=1_000_000, mean_columns=9.0)


@given(st.lists(st.text(min_size=1, max_size=12), min_size=1, max_size=5), st.sampled_from(sorted(FEATURES)))
def test_variants_are_xash_without_some_parts(values: list[str], name: str) -> None:
    for bits in (128, 512):
        function = get(name, bits, alpha=5)
        wanted = from_ints([xash(value, bits, 5, FEATURES[name]) for value in values], bits)
        assert (function.hash(pa.array(values)) == wanted).all()


@given(st.text(SEGMENTS, min_size=1, max_size=40), st.sampled_from([128, 256, 512]))
def test_the_released_code_step_by_step(value: str, bits: int) -> None:
    """Five characters; the first third, sixth, ... that holds their mean place from 0; lengths spread over all bits."""
    beta = {128: 3, 256: 6, 512: 13}[bits]
    wide, length = 37 * beta, bits - 37 * beta
    expected = 1 << (bits - 1 - (len(value) - 1) % length)
    for character in sorted(set(value), key=lambda c: (value.count(c), c))[:5]:
        places = [place for place, other in enumerate(value) if other == character]
        mean = Fraction(sum(places), len(places))
        third = next(i for i in range(beta) if mean <= Fraction((i + 1) * len(value), beta))
        turned = (SEGMENTS.index(character) * beta + third - wide * (len(value) % length) // length) % wide
        expected |= 1 << (bits - 1 - length - turned)
    assert (get("xash-released", bits).hash([value]) == from_ints([expected], bits)).all()


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
    assert fit("xash-released", bits, LAKE).parameters == {"alpha": 6}
    assert fit("bf-fair-released", bits, LAKE).parameters == {"hashes": 6}
    assert all(fit(name, bits, LAKE).parameters == {"alpha": papers} for name in COMPONENTS)


def test_every_compared_hash_can_be_made_again_from_its_record() -> None:
    wanted = [*compared(), *components()]
    assert len(set(wanted)) == len(wanted) == 43
    for name, bits in wanted:
        spec = Request(name, bits).chosen(LAKE)
        assert pickle.loads(pickle.dumps(spec)) == spec
        assert spec.function() == fit(name, bits, LAKE)
        assert bits in find(name).sizes


def test_variants_are_described() -> None:
    assert described("bf-fair") == ("bf", "fair")
    assert described("xash-length") == ("xash", "length")
    assert described("md5") == ("md5", "")
