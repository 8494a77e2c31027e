"""Tokens: the scalar rule, and the array version that must equal it."""

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.errors import TextError
from mate.values.text import NULL_SPELLINGS, characters, token, tokens

anything = st.text(st.characters(exclude_categories=["Cs"]))
ascii_like = st.text(st.characters(codec="ascii"))
awkward = st.text(
    st.sampled_from(
        "aA ßẞİıΐςΣéé\u0301ﬁ\u00a0\u200b\u200d\u3000\t\r\n\x0b\x0c\x1c\x85\u2028\ufeff李한\U0001f469العربية-–?\x00"
    )
)
cells = st.lists(st.none() | anything | ascii_like | awkward | st.sampled_from(sorted(NULL_SPELLINGS)))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("  New \t York\n", "new york"),
        ("Straße", "strasse"),
        ("STRASSE", "strasse"),
        ("non\u00a0breaking", "non breaking"),
        ("Cafe\u0301", "caf\u00e9"),
        ("ＭＡＴＥ　１", "mate 1"),
        ("ﬁn", "fin"),
        ("東京", "東京"),
        ("القاهرة", "القاهرة"),
        ("👩‍🔬", "👩‍🔬"),
        ("zero\u200bwidth", "zero\u200bwidth"),
        ("İstanbul", "i\u0307stanbul"),
        ("nul\x00inside", "nul\x00inside"),
        ("'; DROP TABLE rows;--", "'; drop table rows;--"),
        *((cell, None) for cell in ("", "\u00a0\t", "NaN", "N/A", " null ", "-", "–", "—", "?", "Unknown", "Ｎａ")),
    ],
)
def test_examples(cell: str, expected: str | None) -> None:
    assert token(cell) == expected
    assert tokens([cell]).to_pylist() == [expected]


def test_null_spellings_are_the_callers_choice() -> None:
    assert token("unknown", nulls=frozenset()) == "unknown"
    assert tokens(["x", "NA"], nulls={"x"}).to_pylist() == [None, "na"]


@given(cells)
def test_arrays_equal_scalars(values: list[str | None]) -> None:
    expected = [None if value is None else token(value) for value in values]
    array = pa.array(values, pa.string())
    assert tokens(array).to_pylist() == expected
    assert tokens(array[1:]).to_pylist() == expected[1:]


def test_every_code_point_arrays_equal_scalars() -> None:
    alphabet = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    array = pa.array([f"X{character} {character}y" for character in alphabet])
    found = tokens(array).to_pylist()
    assert found == [token(cell) for cell in array.to_pylist()]


@given(anything | awkward)
def test_a_token_is_its_own_token(value: str) -> None:
    normal = token(value)
    assert normal is None or token(normal) == normal


@given(anything | awkward)
def test_tokens_are_composed_folded_and_trimmed(value: str) -> None:
    normal = token(value, nulls=frozenset())
    if normal is not None:
        assert unicodedata.is_normalized("NFKC", normal)
        assert normal == " ".join(normal.split())


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (["ok", "\udc80"], "value 1 holds a lone surrogate"),
        (["ok", None, float("nan")], "value 2 is not a string but float: nan"),
        ([b"bytes"], "value 0 is not a string but bytes"),
        (7, "expected strings, got int"),
        ("one string", "expected many strings, got one"),
        (pa.array([1, 2]), "expected an array of strings, got an array of int64"),
    ],
)
def test_what_is_not_text_is_refused(bad: object, message: str) -> None:
    with pytest.raises(TextError, match=message):
        tokens(bad)


@pytest.mark.parametrize(("bad", "message"), [("\ud800", "lone surrogate"), (3, "expected a string, got int: 3")])
def test_a_cell_that_is_not_text_is_refused(bad: str, message: str) -> None:
    with pytest.raises(TextError, match=message):
        token(bad)


@pytest.mark.parametrize(
    "array",
    [
        pa.chunked_array([["A", None], ["B"]], pa.string()),
        pa.array(["A", None, "B"], pa.large_string()),
        pa.array(["A", None, "B"]).dictionary_encode(),
        pa.array(["A", None, "B"], pa.string_view()),
    ],
)
def test_any_arrow_string_type(array: pa.Array) -> None:
    assert tokens(array).to_pylist() == ["a", None, "b"]


def test_length_counts_characters() -> None:
    assert characters(pa.array(["é", None, "東京", "👩‍🔬", "abc"])).tolist() == [1, 0, 2, 3, 3]
