"""Length first: the answers and candidates of MATE, and what the length segment rejects alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.lake.manifest import HashSpec
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from tests.search import oracle
from tests.search.memory_lake import MemoryLake
from tests.search.test_algorithm_1 import WAYS, counted, decided, replaced
from tests.search.test_exactness import Case, assert_right, cases, query_of, search

OWN = ("rows_compared", "rows_cut_by_first_bits", "pairs_compared", "pairs_cut_by_first_bits")
SIZES = st.sampled_from([64, 128, 256, 512])
SPECS = st.one_of(
    SIZES.map(lambda bits: HashSpec("xash", bits, {"alpha": 5})),
    SIZES.map(lambda bits: HashSpec("xash-released", bits, {"characters": 5})),
    st.sampled_from([HashSpec("bf", 128, {"hashes": 6}), HashSpec("ht", 128)]),
)
OPTIONS = st.fixed_dictionaries(
    {"table_filters": st.booleans(), "tight_bound": st.booleans(), "semi_join": st.booleans()}
)


def facts(found: Any) -> dict[str, object]:
    """Return what a search counted, but for what length first alone counts."""
    return {name: value for name, value in counted(found.statistics).items() if name not in (*OWN, "system")}


@settings(max_examples=100)
@given(case=cases(), spec=SPECS, options=OPTIONS, parts=st.integers(1, 3))
def test_answers_and_candidates_are_those_of_mate(
    case: Case, spec: HashSpec, options: dict[str, bool], parts: int
) -> None:
    lake = MemoryLake.of(case.tables, parts, hashes=[spec])
    first, usual = (search(lake, case, system, **options) for system in ("mate-length-first", "mate"))
    if first is not None and usual is not None:
        assert facts(first) == facts(usual)
        assert not any(getattr(usual.statistics, name) for name in OWN)
    assert_right(first, case)


@pytest.mark.parametrize("way", ["usual", "few candidates held, without masks", "growing blocks, in parts"])
@settings(max_examples=40)
@given(case=cases(), spec=SPECS, options=OPTIONS)
def test_native_loops_count_what_plain_python_counts(
    case: Case, spec: HashSpec, options: dict[str, bool], way: str
) -> None:
    lake = MemoryLake.of(case.tables, hashes=[spec])
    found = []
    for one in (way, "plain Python"):
        with replaced(**WAYS[one]):
            found.append(search(lake, case, "mate-length-first", **options))
    native, plain = found
    if native is not None and plain is not None and not (way.startswith("growing") and options["table_filters"]):
        assert [getattr(native.statistics, name) for name in OWN] == [getattr(plain.statistics, name) for name in OWN]
        assert decided(native, case.k) == decided(plain, case.k)


WORDS = st.text("ab", min_size=1, max_size=3)
TABLES = st.lists(st.lists(st.tuples(WORDS, WORDS, WORDS), min_size=1, max_size=6), min_size=1, max_size=4)


@settings(max_examples=100)
@given(tables=TABLES, query=st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=8))
def test_a_row_is_cut_if_it_has_no_value_as_long(
    tables: list[list[tuple[str, str, str]]], query: list[tuple[str, str]]
) -> None:
    """Section 5.3.3, told without keys: every posting of the initial column's values against its key tuples."""
    tuples = sorted(set(query))
    found = find_system("mate-length-first")(
        MemoryLake.of(tables),
        pa.table({"one": [one for one, _ in query], "two": [two for _, two in query]}),
        ["one", "two"],
        settings=SearchSettings(filters=FilterSettings(initial_column="one", table_filters=False)),
    )
    decided = []
    for row in (row for rows in tables for row in rows):
        lengths = {len(value) for value in row}
        decided += [[len(two) not in lengths for one, two in tuples if one == value] for value in row]
    decided = [pairs for pairs in decided if pairs]
    counts = found.statistics
    assert (counts.rows_compared, counts.rows_cut_by_first_bits) == (len(decided), sum(map(all, decided)))
    assert (counts.pairs_compared, counts.pairs_cut_by_first_bits) == (sum(map(len, decided)), sum(map(sum, decided)))


@pytest.mark.parametrize("spec", [HashSpec("wide", 20), HashSpec("fingerprint", 16)])
def test_keys_that_follow_the_width_have_no_length_segment(spec: HashSpec) -> None:
    with pytest.raises(QueryError, match=rf"^mate-length-first needs keys of one size, which {spec} does not have; "):
        find_system("mate-length-first")(
            MemoryLake.of([[["a", "b"]]], hashes=[spec]), pa.table({"x": ["a"], "y": ["b"]}), ["x", "y"]
        )


@given(case=cases())
def test_without_a_row_filter_it_is_scr(case: Case) -> None:
    assume(oracle.key_tuples(case.query, case.key))
    lake = MemoryLake.of(case.tables)
    off = SearchSettings(filters=FilterSettings(row_filter=False))
    found, scr = (find_system(name)(lake, *query_of(case), case.k, off) for name in ("mate-length-first", "scr"))
    assert facts(found) == facts(scr)
