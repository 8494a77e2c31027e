"""XASH: the paper's figure, the definition's parts, and the native loop that must equal the definition."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.errors import HashError, TextError
from mate.hashing import CorpusStatistics, Xash, bits_set, fit, get
from mate.hashing.xash import SEGMENTS, BitLayout, Features, Rotation, alpha_for, fold, fold_table, rarest, xash
from tests.keys import to_ints

SIZES = (64, 128, 256, 512)

any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
alphabet_text = st.text(SEGMENTS, max_size=80)
few_characters = st.text("ab ", max_size=600)
values = st.lists(any_text | alphabet_text | few_characters, max_size=20)
orders = st.one_of(st.just(""), st.permutations(SEGMENTS).map("".join))
features = st.builds(Features, st.booleans(), st.booleans(), st.booleans(), st.sampled_from(list(Rotation)), orders)


def places(key: int, bits: int) -> list[int]:
    """Return the 1-based numbers of the bits that are set, from the left, as the paper counts them."""
    return [place for place, bit in enumerate(f"{key:0{bits}b}", start=1) if bit == "1"]


class TestFigure:
    """The worked example of section 5: "muhammad" in 128 bits with alpha = 4."""

    def test_before_rotation(self) -> None:
        first_bit = {c: 17 + 3 * SEGMENTS.index(c) for c in "udh"}
        expected = [8, first_bit["d"] + 3, first_bit["h"] + 2, first_bit["u"] + 1]
        assert first_bit["u"] + 1 == 108
        assert places(xash("muhammad", 128, 4, Features(rotation=Rotation.OFF)), 128) == expected

    def test_after_rotation(self) -> None:
        assert places(xash("muhammad", 128, 4), 128) == [8, 51, 62, 100]

    def test_layout(self) -> None:
        assert [(BitLayout.of(bits).beta, BitLayout.of(bits).length_bits) for bits in SIZES] == [
            (1, 27),
            (3, 17),
            (6, 34),
            (13, 31),
        ]


class TestAlpha:
    """Equation 5."""

    @pytest.mark.parametrize(
        ("bits", "distinct", "alpha"),
        [(128, 700_000_000, 6), (512, 700_000_000, 4), (128, 0, 1), (128, 127, 1), (128, 128, 2), (128, 8_128, 3)],
    )
    def test_examples(self, bits: int, distinct: int, alpha: int) -> None:
        assert alpha_for(bits, distinct) == alpha

    def test_never_more_than_the_alphabet_and_the_length(self) -> None:
        assert alpha_for(64, 10**30) == len(SEGMENTS) + 1

    def test_chosen_for_a_corpus(self) -> None:
        chosen = fit("xash", 128, CorpusStatistics(distinct_tokens=700_000_000, mean_columns=5))
        assert chosen == get("xash", bits=128, alpha=6)


class TestParts:
    def test_ties_are_lexicographical_with_the_space_first(self) -> None:
        assert (rarest("b a1", 2), rarest("muhammad", 3)) == ([" ", "1"], ["d", "h", "u"])

    def test_location_is_the_mean_place(self) -> None:
        only_place = Features(length=False, rotation=Rotation.OFF)
        segment = 17 + 3 * SEGMENTS.index("a")
        for value, bit in [("abbbbb", 1), ("babbbb", 1), ("bbabbb", 2), ("bbbbba", 3), ("abbbba", 2)]:
            assert segment + bit in places(xash(value, 128, 2, only_place), 128)

    def test_length_wraps_around(self) -> None:
        only_length = Features(characters=False)
        assert [places(xash("x" * n, 128, 6, only_length), 128) for n in (1, 17, 18)] == [[1], [17], [1]]

    def test_rotation_moves_character_bits_only(self) -> None:
        plain = places(xash("mate", 128, 6, Features(rotation=Rotation.OFF)), 128)
        turned = places(xash("mate", 128, 6), 128)
        assert turned == sorted([plain[0], *(17 + (p - 18 - 4) % 111 + 1 for p in plain[1:])])

    def test_without_location_the_first_bit_of_a_segment_is_set(self) -> None:
        parts = Features(length=False, location=False, rotation=Rotation.OFF)
        assert places(xash("zzz", 128, 6, parts), 128) == [17 + 3 * SEGMENTS.index("z") + 1]

    @pytest.mark.parametrize(
        ("character", "folded"), [("é", "e"), ("ß", "s"), ("Å", "a"), ("Ж", SEGMENTS[ord("Ж") % 37]), ("½", "1")]
    )
    def test_fold(self, character: str, folded: str) -> None:
        assert fold(character) == folded

    def test_fold_table_is_fold_for_every_code_point(self) -> None:
        table = fold_table()
        code_points = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        assert "".join(map(fold, SEGMENTS)) == SEGMENTS
        listed = [SEGMENTS[table[c] if c < len(table) else c % 37] for c in code_points]
        assert listed == [fold(chr(c)) for c in code_points]

    def test_no_script_hashes_to_its_length_alone(self) -> None:
        for value in ("東京", "Москва", "القاهرة", "👩‍🔬"):
            assert bits_set(get("xash").hash([value]))[0] > 1


class TestBatches:
    """A batch equals the definition, bit for bit, on any text and for any parameters."""

    @given(values, st.sampled_from(SIZES), st.integers(1, 38), features)
    def test_equals_the_definition(self, texts: list[str], bits: int, alpha: int, parts: Features) -> None:
        hash_ = Xash(bits, alpha)
        hash_.features = parts
        assert to_ints(hash_.hash(texts)) == [xash(text, bits, alpha, parts) for text in texts]

    def test_equals_the_definition_on_every_code_point(self) -> None:
        texts = [f"a{chr(c)}bc" for c in range(0x110000) if not 0xD800 <= c < 0xE000]
        assert to_ints(Xash(128, 6).hash(texts)[::37]) == [xash(text, 128, 6) for text in texts[::37]]

    def test_slices_and_nulls(self) -> None:
        texts = pa.array(["zero", None, "two", "", "four"])
        keys = Xash().hash(texts)
        assert (Xash().hash(texts[2:]) == keys[2:]).all()
        assert bits_set(keys).tolist() == [5, 0, 4, 0, 5]

    def test_long_values_and_batches_that_are_hashed_in_parts(self) -> None:
        texts = [f"value {i}" for i in range(150_000)]
        texts[::50_000] = "ab" * 50_000, "x" * 100_000 + "y", "é" * 70_000
        assert to_ints(Xash().hash(texts)[::5_000]) == [xash(text, 128, 6) for text in texts[::5_000]]


@given(any_text, st.sampled_from(SIZES), st.integers(1, 38))
def test_at_most_alpha_bits(text: str, bits: int, alpha: int) -> None:
    assert xash(text, bits, alpha).bit_count() <= alpha


def test_parameters_make_the_same_hash_again() -> None:
    for hash_ in (Xash(256, 5), Xash(128, 6, rotation=Rotation.OFF, length=False)):
        again = get("xash", hash_.bits, **hash_.parameters)
        assert again == hash_
        assert (again.hash(["one", "two"]) == hash_.hash(["one", "two"])).all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        *(
            ({"bits": bits}, "xash has no .*-bit version; it has: 64, 128, 256, 512")
            for bits in (0, 63, 1024, "128", True)
        ),
        *(({"alpha": alpha}, "alpha must be a whole number from 1") for alpha in (0, -1, 39, 2.5, "6", True)),
        ({"colour": True}, "xash does not take these parameters: .*colour"),
        ({"rotation": "right"}, "rotation must be one of length, off, not 'right'"),
    ],
)
def test_parameters_that_it_does_not_have(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(HashError, match=message):
        get("xash", **parameters)


@pytest.mark.parametrize("bad", [[1], ["a", 2.0], [b"a"], ["\ud800"], 5, "text", pa.array([1])])
def test_non_strings(bad: object) -> None:
    with pytest.raises(
        TextError, match=r"value \d is not a string but|lone surrogate|expected (many|an array of)? ?strings"
    ):
        Xash().hash(bad)
