"""A query joined with a table of the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate.errors import QueryError, StoreError
from mate.index.base import Index
from mate.search.joins import enrich, write
from tests.lakes import lake

CAPITALS = [["Berlin", "DE", " 3.6 M "], ["Paris", "FR", None], ["BERLIN", "de", "3.7 M"], ["Bern", "CH", "0.1 M"]]
OTHERS = [["x", "y"]]
QUERY = pa.table({"iso": ["ch", "XX", None, "de", "fr"], "city": ["bern", "nowhere", "bern", "Berlin", "Paris"]})


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    path = tmp_path_factory.mktemp("enrich") / "lake.mate"
    with lake(path, [OTHERS, CAPITALS], headers=[["a", "b"], ["city", "code", ""]]) as opened:
        yield opened


def test_every_row_is_kept_and_gets_the_first_match(index: Index) -> None:
    joined = enrich(index, QUERY, ["iso", "city"], 1)
    assert joined.table.to_pydict() == {
        **QUERY.to_pydict(),
        "column 3": ["0.1 M", None, None, " 3.6 M ", None],
    }
    assert joined.mapping == {"iso": "code", "city": "city"}
    assert (joined.added, joined.matched_rows) == (["column 3"], 3)


def test_all_matches_in_the_order_of_the_table(index: Index) -> None:
    joined = enrich(index, QUERY, ["iso", "city"], 1, all_matches=True)
    assert joined.table.column("column 3").to_pylist() == ["0.1 M", None, None, " 3.6 M ", "3.7 M", None]
    assert joined.table.column("city").to_pylist() == ["bern", "nowhere", "bern", "Berlin", "Berlin", "Paris"]
    assert joined.matched_rows == 4


def test_names_never_clash(index: Index) -> None:
    query = pa.table({"town": ["Bern"], "code": ["x"], "column 3": ["y"], "code (table 1)": ["z"]})
    joined = enrich(index, query, ["town"], 1)
    assert joined.added == ["code (table 1) (2)", "column 3 (table 1)"]
    assert joined.table.to_pylist()[0] == {
        "town": "Bern",
        "code": "x",
        "column 3": "y",
        "code (table 1)": "z",
        "code (table 1) (2)": "CH",
        "column 3 (table 1)": "0.1 M",
    }


def test_a_data_frame_may_be_the_query(index: Index) -> None:
    frame = pd.DataFrame({"City": ["Paris", "Bern", None], "n": [1.5, None, 2]})
    joined = enrich(index, frame, ["city"], 1)
    assert joined.table.column("code").to_pylist() == ["FR", "CH", None]
    assert joined.table.column("n").to_pylist() == ["1.5", None, "2.0"]


@pytest.mark.parametrize("table_id", [-1, 2, 10**12])
def test_a_table_that_is_not_there(index: Index, table_id: int) -> None:
    with pytest.raises(StoreError, match=f"has no table {table_id}; see: mate stats --tables"):
        enrich(index, QUERY, ["city"], table_id)


def test_a_table_that_does_not_join(index: Index) -> None:
    with pytest.raises(QueryError, match=r"table 0 \(table 0\) does not join with query on iso, city"):
        enrich(index, QUERY, ["iso", "city"], 0)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    table = pa.table({"a, b": ['say "hi"', "two\nlines", None], "é": ["😀", "", " x "]})
    write(table, str(tmp_path / "x.parquet"))
    assert pq.read_table(tmp_path / "x.parquet").to_pydict() == table.to_pydict()
    write(table, str(tmp_path / "x.csv"))
    assert (tmp_path / "x.csv").read_bytes().decode() == ('"a, b",é\r\n"say ""hi""",😀\r\n"two\nlines",\r\n, x \r\n')


@pytest.mark.parametrize("name", ["x.csv", "x.parquet", "x.PQ"])
def test_a_folder_that_is_not_there(tmp_path: Path, name: str) -> None:
    with pytest.raises(QueryError, match=rf"cannot write .*none/{name}: No such file or directory$"):
        write(pa.table({"a": ["x"]}), str(tmp_path / "none" / name))
