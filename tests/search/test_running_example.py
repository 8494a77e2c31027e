"""The paper's running example (figure 1; examples 2 and 3; section 6.2), rebuilt from what the text says of it."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pyarrow as pa
import pytest

from mate.hashing import Keys, SuperKeyHash, base, get, or_aggregate
from mate.lake.manifest import HashSpec
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from mate.values.text import tokens
from tests.keys import to_ints
from tests.search.memory_lake import XASH, MemoryLake
from tests.search.test_exactness import EVERY_SYSTEM

search = find_system("mate")

KEY = ["F. Name", "L. Name", "Country"]

D = pa.table(
    {
        "F. Name": ["Muhammad", "Ansel", "Ansel", "Muhammad", "Helmut"],
        "L. Name": ["Lee", "Adams", "Adams", "Lee", "Newton"],
        "Country": ["US", "UK", "US", "Germany", "Germany"],
        "Salary": ["60k", "50k", "400k", "90k", "300k"],
    }
)
T1_HEADER = ["Vorname", "Nachname", "Land", "Beruf"]
T1 = [
    ["Helmut", "Newton", "Germany", "Photographer"],
    ["Muhammad", "Lee", "US", "Dancer"],
    ["Ansel", "Adams", "UK", "Dancer"],
    ["Ansel", "Adams", "US", "Photographer"],
    ["Muhammad", "Ali", "US", "Boxer"],
    ["Muhammad", "Lee", "Germany", "Birder"],
    ["Gretchen", "Lee", "Germany", "Artist"],
    ["Adam", "Sandler", "US", "Actor"],
]
FOUR_HITS = [[first, "Nobody", "Nowhere"] for first in ("Muhammad", "Ansel", "Ansel", "Helmut")]


class PaperHash(SuperKeyHash):
    """The eight hash values of example 3, in the leftmost byte; the text gives no bit to any other value.

    "Muhammad" is printed with seven digits, 1001000; all sums of the example come out if a 0 stands before them.
    """

    name = "example3"
    sizes = (64,)
    values: ClassVar[dict[str, int]] = {
        "muhammad": 0b01001000,
        "lee": 0b01100000,
        "us": 0b00010100,
        "ali": 0b00010001,
        "germany": 0b10001001,
        "dancer": 0b10000010,
        "boxer": 0b10000001,
        "birder": 0b00001001,
    }

    def hash_tokens(self, tokens: pa.StringArray) -> Keys:
        return np.array([[self.values.get(token, 0) << 56] for token in tokens.to_pylist()], np.uint64)


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base._registered, PaperHash.name, PaperHash)


@pytest.fixture(params=[1, 2], ids=["one segment", "two segments"])
def lake(request: pytest.FixtureRequest) -> MemoryLake:
    headers = {0: ["a", "b", "c"], 1: T1_HEADER}
    return MemoryLake.of([FOUR_HITS, T1], request.param, hashes=[XASH, HashSpec(PaperHash.name, 64)], headers=headers)


def joined_under(mapping: dict[str, str]) -> int:
    """Equation 1 for one mapping of key columns."""
    query = set(zip(*(D.column(name).to_pylist() for name in mapping), strict=True))
    return len(query & {tuple(row[T1_HEADER.index(column)] for column in mapping.values()) for row in T1})


@EVERY_SYSTEM
def test_joinability_is_5_under_the_right_mapping_only(lake: MemoryLake, system: str) -> None:
    right = {"F. Name": "Vorname", "L. Name": "Nachname", "Country": "Land"}
    swapped = {"F. Name": "Nachname", "L. Name": "Vorname", "Country": "Land"}
    assert (joined_under(right), joined_under(swapped)) == (5, 0)
    (result,) = find_system(system)(lake, D, KEY)
    assert (result.table_id, result.joinability, result.mapping) == (1, 5, right)


@EVERY_SYSTEM
def test_row_1_is_bound_to_the_5th_row_of_the_query(lake: MemoryLake, system: str) -> None:
    found = find_system(system)(lake, D, KEY)
    (result,) = found
    partner = dict(zip(result.matches.row.tolist(), result.matches.tuple_id.tolist(), strict=True))
    bound = {row + 1: found.key.row_tuple.tolist().index(number) + 1 for row, number in partner.items()}
    assert bound == {1: 5, 2: 1, 3: 2, 4: 3, 6: 4}


def test_example_2_three_rows_hold_muhammad(lake: MemoryLake) -> None:
    """Without super keys all three are compared, and one of them holds."""
    settings = SearchSettings(
        exclude=frozenset({0}), filters=FilterSettings(initial_column="F. Name", row_filter=False)
    )
    done = search(lake, D.slice(0, 1), KEY, settings=settings).statistics
    assert (done.candidates, done.rows_read, done.true_positives, done.false_positives) == (3, 3, 1, 2)


def test_example_3_super_keys() -> None:
    function = get("example3", 64)
    rows = [T1[number - 1] for number in (2, 5, 6)]
    hashes = function.hash(tokens([cell for row in rows for cell in row]))
    keys = or_aggregate(hashes, np.array([0, 4, 8, 12]))
    assert [f"{key >> 56:08b}" for key in to_ints(keys)] == ["11111110", "11011101", "11101001"]
    query = or_aggregate(function.hash(tokens(["Muhammad", "Lee", "US"])), np.array([0, 3]))
    assert [f"{key >> 56:b}" for key in to_ints(query)] == ["1111100"]
    assert (~np.any(query[[0, 0, 0]] & ~keys, axis=1)).tolist() == [True, False, False]


def test_example_3_rows_5_and_6_are_filtered_out(lake: MemoryLake) -> None:
    settings = SearchSettings(
        exclude=frozenset({0}), filters=FilterSettings(hash_name="example3", initial_column="F. Name")
    )
    found = search(lake, D.slice(0, 1), KEY, settings=settings)
    done = found.statistics
    assert (done.hash, done.candidates, done.rows_read, done.precision) == ("example3:64", 1, 1, 1.0)
    (result,) = found
    assert (result.matches.row + 1).tolist() == [2]


def test_a_table_with_four_posting_list_items_cannot_replace_t1() -> None:
    """Section 6.2, rule 1: T1 has joinability 5, so that the search ends at a table with 4 PL items."""
    settings = SearchSettings(
        k=1, filters=FilterSettings(initial_column="F. Name", row_filter=False, tight_bound=False)
    )
    found = search(MemoryLake.of([FOUR_HITS, T1]), D, KEY, settings=settings)
    assert [result.joinability for result in found] == [5]
    assert (found.statistics.tables, found.statistics.tables_cut_rule_1, found.statistics.tables_checked) == (2, 1, 1)
