"""XASH as released: vectors from the authors' own functions, the definition step by step, and the native loop."""

import math
from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from baselines.hashes.released import ALPHABET, STOP_WORDS, Released, ReleasedCleaned, cleaned, released
from mate.errors import HashError
from mate.hashing import bits_set, fit, get
from mate.hashing.base import CorpusStatistics
from mate.hashing.xash import BitLayout
from tests.keys import to_ints

SIZES = (64, 128, 256, 512)

VECTORS = {
    ("muhammad", 128, 5): "00800401004000000000000400000800",
    ("lee", 128, 5): "00040000002000020000000000000000",
    ("us", 128, 5): "00020420000000000000000000000000",
    ("a", 128, 5): "00010000000000000000008000000000",
    ("mississippi", 128, 5): "04000000000000000001010020040000",
    ("new york", 128, 5): "00800002000000000020000000022040",
    ("new york", 128, 6): "00800002000000000020000008022040",
    ("2021-03-05", 128, 5): "02000000002044800000000000000000",
    ("2021-03-05", 128, 6): "02000000002044a00000000000000000",
    ("3.14", 128, 6): "00080000000000000000084200000000",
    ("são paulo", 128, 5): "01000000100000000400000404008000",
    ("são paulo", 128, 6): "01000000100000000400020404008000",
    ("o'brien & sons, inc.", 128, 5): "00040000000000000080000000000000",
    ("o'brien & sons, inc.", 128, 6): "00040000000000001080000000000000",
    ("the quick brown fox jumps over the lazy dog", 128, 6): "01000842600000000000000000000001",
    ("李小龙", 128, 6): "00040000000000000000000000000000",
    ("lee", 512, 6): "00000010" + 36 * "0" + "1" + 21 * "0" + "8" + 61 * "0",
}
"""Computed by the functions of the authors' index_generation.py and MATE.py."""

CLEANED = {
    "The Lord of the Rings": "lord rings",
    "  A   a a b ": "a b",
    "O'Brien, D.": "o brien",
    "in the": "in",
    "the of": "of",
    "it is the d": "d",
    "THE": "the",
    "São_Paulo": "so paulo",
    "New-York (US)": "new york us",
    "3.14": "3 14",
    "李": "",
    " _ ": "",
}
"""Computed by the function of the authors' base.py."""

texts = st.text("ab é-.中\U0001f600 z09", max_size=40) | st.text(ALPHABET, max_size=60) | st.text(max_size=30)
counts = st.integers(0, len(ALPHABET))


@pytest.mark.parametrize(("value", "bits", "characters"), VECTORS)
def test_the_authors_vectors(value: str, bits: int, characters: int) -> None:
    wanted = int(VECTORS[value, bits, characters], 16)
    assert released(value, bits, characters) == wanted
    assert to_ints(Released(bits, characters).hash([value])) == [wanted]


def step_by_step(value: str, bits: int, ones: int) -> int:
    """The released function, told again in its own order: a number that is shifted, and what falls off put back."""
    beta = {64: 1, 128: 3, 256: 6, 512: 13}[bits]
    wide = 37 * beta
    number = 0
    ranking = sorted(Counter(value).items(), key=lambda pair: (pair[1], pair[0]))
    for character, count in ranking[:ones]:
        if character not in ALPHABET:
            continue  # it had its turn
        mean = Fraction(sum(place for place, other in enumerate(value) if other == character), count)
        area = next(i for i in range(beta) if mean <= Fraction((i + 1) * len(value), beta))
        number |= 2 ** (ALPHABET.index(character) * beta + area)
    turn = math.floor(Fraction(wide * (len(value) % (bits - wide)), bits - wide))
    number = (number << turn | number >> (wide - turn)) % 2**wide
    return number | 2 ** (len(value) % (bits - wide) + wide)


@given(texts, st.sampled_from(SIZES), counts)
@example("", 128, 5)
@example("\x00", 64, 37)
def test_the_definition_step_by_step(value: str, bits: int, characters: int) -> None:
    assert released(value, bits, characters) == step_by_step(value, bits, characters)


@given(st.lists(texts, max_size=8), st.sampled_from(SIZES), counts)
@example(["", "\U0010ffff", "ba" * 40, "a" * 70 + "b"], 512, 2)
def test_batches_equal_the_definition(values: list[str], bits: int, characters: int) -> None:
    wanted = [released(value, bits, characters) for value in values]
    assert to_ints(Released(bits, characters).hash_tokens(pa.array(values, pa.string()))) == wanted
    assert to_ints(Released(bits, characters).hash(values)) == [
        key if value else 0 for value, key in zip(values, wanted, strict=True)
    ]


def test_long_values_and_batches_that_are_hashed_in_parts() -> None:
    values = [f"value {i}" for i in range(150_000)]
    values[::50_000] = "ab" * 50_000, "x" * 100_000 + "y", "é" * 70_000
    assert to_ints(Released().hash(values)[::5_000]) == [released(value, 128) for value in values[::5_000]]


@given(st.text(ALPHABET, min_size=1, max_size=60), st.sampled_from(SIZES), counts)
def test_the_length_segment_is_on_the_left(value: str, bits: int, characters: int) -> None:
    layout = BitLayout.of(bits)
    assert (released(value, bits, characters) >> layout.character_bits).bit_count() == 1


@given(texts.filter(bool), counts)
def test_at_most_a_bit_per_character_and_one(value: str, characters: int) -> None:
    assert 1 <= bits_set(Released(128, characters).hash([value]))[0] <= characters + 1


def test_other_characters_take_the_place_of_known_ones() -> None:
    """What is chosen first, as rarer or lower, is left out: "-" is lower than any letter."""
    assert released("abcde-", 128, 5) != released("abcde-", 128, 6)
    assert released("abcde-", 128, 5).bit_count() == 5
    assert released("abcde-", 128, 6).bit_count() == 6


@pytest.mark.parametrize("text", CLEANED)
def test_the_authors_cleaning(text: str) -> None:
    assert cleaned(text) == CLEANED[text]


@given(st.lists(st.sampled_from([*STOP_WORDS, "x", "york", "É", "A", "_", "-", "  "]), max_size=9).map(" ".join))
def test_cleaning_leaves_words_of_letters_and_digits(text: str) -> None:
    """Stop words between others go, once for each that stands there, in the order of the list."""
    words = cleaned(text).split(" ")
    assert set("".join(words)) <= set(ALPHABET) - {" "}
    assert all(words) or words == [""]


@given(st.lists(texts, max_size=8), st.sampled_from(SIZES), counts)
def test_cleaned_values_are_hashed(values: list[str], bits: int, characters: int) -> None:
    keys = to_ints(ReleasedCleaned(bits, characters).hash(values))
    clean = [cleaned(value) for value in values]
    assert keys == [released(value, bits, characters) if value else 0 for value in clean]


def test_parameters_are_recorded_and_do_not_depend_on_the_corpus() -> None:
    assert fit("xash-released", 256, CorpusStatistics(7, 3.0)) == Released(256)
    assert Released(256).parameters == {"characters": 5}
    assert get("xash-released", 512, characters=6) == Released(512, 6) != Released(512)
    assert get("xash-released-cleaned", 128).parameters == {"characters": 5}


@pytest.mark.parametrize("characters", [-1, 38, 2.0, "5", True, None])
def test_rejects_a_senseless_number_of_characters(characters: object) -> None:
    with pytest.raises(HashError, match=f"^characters must be a whole number from 0 to 37, not {characters!r}$"):
        get("xash-released", 128, characters=characters)


def test_keys_made_before_it_was_the_released_function_are_refused() -> None:
    with pytest.raises(HashError, match="does not take these parameters"):
        get("xash-released", 128, alpha=6)
