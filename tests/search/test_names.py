"""Names: words that a key and a table share."""

import pytest

from mate.lake.records import TableInfo
from mate.search.evidence.names import is_among, similarity, words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tmIDWinner", {"tm", "id", "winner"}),
        ("Birth_Year 2", {"birth", "year", "2"}),
        ("HTTPServer", {"http", "server"}),
        ("ÜBER Straße", {"über", "strasse"}),
        ("", set()),
    ],
)
def test_words(name: str, expected: set[str]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize(
    ("key", "table", "columns", "expected"),
    [
        (["country"], "country", ["code"], 1.0),  # the table's name stands for the column
        (["year", "tmID"], "Teams", ["year", "tmID"], 1.0),  # "tm" is short for teams
        (["year", "tmID"], "TeamSplits", ["year", "tmID"], 0.75),
        (["country"], "economy", ["Country"], 0.5),
        (["id"], "people", ["number"], 0.0),
        (["a"], "", [""], 0.0),
    ],
)
def test_similarity(key: list[str], table: str, columns: list[str], expected: float) -> None:
    info = TableInfo(0, table, "source", 0, 1, tuple(columns), 1)
    assert similarity(key, info, range(len(columns))) == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("country", "country", True),
        ("cou", "country", True),
        ("co", "country", False),  # two letters begin too many words
        ("cntry", "country", True),
        ("tm", "teams", True),
        ("tms", "teams", True),
        ("tea", "meat", False),
        ("a" * 40, "a" * 50_000, True),
    ],
)
def test_words_that_stand_for_each_other(one: str, other: str, expected: bool) -> None:
    assert is_among(one, frozenset({"x", other})) == is_among(other, frozenset({one, "x"})) == expected
