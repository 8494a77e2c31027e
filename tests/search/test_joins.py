"""A query joined with a table of the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.errors import QueryError
from mate.lake.base import Index
from mate.search.engine import match_table
from mate.search.joins import Enrichment, enrich
from mate.search.query import from_arrow
from tests.lakes import lake

CAPITALS = [["Berlin", "DE", " 3.6 M "], ["Paris", "FR", None], ["BERLIN", "de", "3.7 M"], ["Bern", "CH", "0.1 M"]]
OTHERS = [["x", "y"]]
NUMBERS = [["a", "1", "007"], ["a", "3", "007"], ["b", " 4.5 ", "12"], ["a", "", "12"], ["c", "", None]]
QUERY = pa.table({"iso": ["ch", "XX", None, "de", "fr"], "city": ["bern", "nowhere", "bern", "Berlin", "Paris"]})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    path = tmp_path_factory.mktemp("enrich") / "lake.mate"
    headers = [["a", "b"], ["city", "code", ""], ["key", "n", "code"]]
    with lake(path, [OTHERS, CAPITALS, NUMBERS], headers=headers) as opened:
        yield opened


def joined(index: Index, table: pa.Table, key: list[str], table_id: int, matches: str = "first") -> Enrichment:
    query = from_arrow(table)
    found = match_table(index, query, key, table_id)
    return enrich(index, query.header, found.key, found.results[0], matches)


def test_every_row_is_kept_and_gets_the_first_match(index: Index) -> None:
    found = joined(index, QUERY, ["iso", "city"], 1)
    assert found.query_rows.tolist() == [0, 1, 2, 3, 4]
    assert found.columns.to_pydict() == {"column 3": ["0.1 M", None, None, " 3.6 M ", None]}
    assert found.matched_rows == 3


def test_all_matches_in_the_order_of_the_table(index: Index) -> None:
    found = joined(index, QUERY, ["iso", "city"], 1, "all")
    assert found.query_rows.tolist() == [0, 1, 2, 3, 3, 4]
    assert found.columns.column("column 3").to_pylist() == ["0.1 M", None, None, " 3.6 M ", "3.7 M", None]
    assert found.matched_rows == 4


def test_matches_become_one(index: Index) -> None:
    """Numbers their mean, codes and texts their distinct values; what is empty has no say."""
    found = joined(index, pa.table({"k": ["a", "b", "c", "d", None, "a"]}), ["k"], 2, "aggregate")
    assert found.columns.to_pydict() == {
        "n": [2.0, 4.5, None, None, None, 2.0],
        "code": ["007; 12", "12", None, None, None, "007; 12"],
        "matching rows": [3, 1, 1, None, None, 3],
    }
    assert (found.query_rows.tolist(), found.matched_rows) == ([0, 1, 2, 3, 4, 5], 4)


def test_names_never_clash(index: Index) -> None:
    query = pa.table({"town": ["Bern"], "code": ["x"], "column 3": ["y"], "code (table 1)": ["z"]})
    found = joined(index, query, ["town"], 1)
    assert found.columns.to_pydict() == {"code (table 1) (2)": ["CH"], "column 3 (table 1)": ["0.1 M"]}
    counted = joined(index, pa.table({"matching rows": ["Bern"]}), ["matching rows"], 1, "aggregate")
    assert counted.columns.column_names[-1] == "matching rows (table 1)"


def test_what_matches_cannot_become(index: Index) -> None:
    with pytest.raises(QueryError, match=r'matches can be first, all, aggregate, not "frist"; did you mean "first"\?'):
        joined(index, QUERY, ["city"], 1, "frist")


cells = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", "x", "", "-0.5"])), min_size=1, max_size=8
)


@given(cells, st.lists(st.sampled_from([*"abcd", None]), min_size=1, max_size=6))
def test_joins_are_those_of_a_nested_loop(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], query: list[str | None]
) -> None:
    keys = {key for key, _ in rows}
    if not keys & set(query):
        return
    with lake(tmp_path_factory.mktemp("loop") / "x.mate", [[list(row) for row in rows]]) as index:
        table = pa.table({"k": pa.array(query, pa.string())})
        partners = [[value for key, value in rows if key == wanted] for wanted in query]
        expected = [found[:1] or [None] for found in partners]
        first, every, one = (joined(index, table, ["k"], 0, how) for how in ("first", "all", "aggregate"))
        assert first.columns.column(0).to_pylist() == [value for [value] in expected]
        assert every.columns.column(0).to_pylist() == [value for found in partners for value in found or [None]]
        assert one.columns.column("matching rows").to_pylist() == [len(found) or None for found in partners]
        assert [_distinct(value) for value in one.columns.column(0).to_pylist()] == [
            _distinct(_aggregated(found, rows, query)) for found in partners
        ]


def _aggregated(found: list[str], rows: list[tuple[str, str]], query: list[str | None]) -> float | str | None:
    """Say in plain Python what several values become; whether a column has numbers is told by all that match."""
    filled = [value for value in found if value]
    if not filled:
        return None
    if all(value != "x" for key, value in rows if key in query):
        return sum(map(float, filled)) / len(filled)
    return "; ".join(dict.fromkeys(filled))


def _distinct(value: float | str | None) -> object:
    return round(value, 9) if isinstance(value, float) else value


def test_values_of_one_row_stay_in_the_order_of_the_table(tmp_path: Path) -> None:
    """Arrow's groups of two columns come in an order of their own."""
    rows: list[list[str | None]] = [["a", "x"], ["a", "1"], ["b", "2"], ["c", "1"], ["a", "x"]]
    with lake(tmp_path / "x.mate", [rows]) as index:
        one = joined(index, pa.table({"k": ["c", "b", "a"]}), ["k"], 0, "aggregate")
        assert one.columns.column(0).to_pylist() == ["1", "2", "x; 1"]
