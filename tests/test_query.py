"""The query table: whatever it comes from, its key columns, its distinct key tuples, and where a search begins."""

from __future__ import annotations

import datetime
import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.errors import CorpusError, QueryError
from mate.search.query import (
    STRATEGIES,
    KeyTuples,
    QueryTable,
    from_arrow,
    from_pandas,
    initial_column,
    key_columns,
    key_tuples,
    read_query,
    unique_names,
)
from mate.values.text import NULL_SPELLINGS, tokens


def table(**columns: list[str | None]) -> QueryTable:
    return from_arrow(pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()}))


def tuples(query: QueryTable, *key: str) -> KeyTuples:
    return key_tuples(query, key, NULL_SPELLINGS)


def texts(key: KeyTuples) -> list[tuple[str, ...]]:
    """The key tuples, by number."""
    values = key.tokens.to_pylist()
    return [tuple(values[place] for place in row) for row in key.place]


# Files


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("semicolons.csv", "city;year\r\nBerlin;2020\r\nKöln;2021\r\n".encode("latin-1")),
        ("tabs.tsv", "city\tyear\nBerlin\t2020\nKöln\t2021\n".encode("utf-16")),
        ("packed.csv.gz", gzip.compress("city,year\nBerlin,2020\nKöln,2021\n".encode(), mtime=0)),
        ("lines.jsonl", '{"city": "Berlin", "year": 2020}\n{"year": 2021, "city": "Köln"}\n'.encode()),
    ],
)
def test_a_file_of_any_dialect(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    query = read_query(path)
    assert query.columns.to_pydict() == {"city": ["Berlin", "Köln"], "year": ["2020", "2021"]}
    assert (query.name, query.source) == (name.split(".")[0], str(path))


def test_a_parquet_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [1, None], "x": [0.5, 2.0], "s": ["é", None]}), tmp_path / "q.parquet")
    query = read_query(str(tmp_path / "q.parquet"))
    assert query.columns.to_pydict() == {"n": ["1", None], "x": ["0.5", "2.0"], "s": ["é", None]}


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    """More cells than a reader gives at once."""
    (tmp_path / "q.csv").write_text("a,b,c\n" + "".join(f"{i},x{i % 7},\n" for i in range(70_000)))
    query = read_query(tmp_path / "q.csv")
    assert query.columns.num_rows == 70_000
    assert query.columns.column("a").to_pylist()[::10_000] == [str(i) for i in range(0, 70_000, 10_000)]


def test_a_row_that_cannot_be_read_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "q.csv"
    path.write_text("a,b\n1,x\n2,y,surplus\n3,z\n")
    assert read_query(path).columns.column("a").to_pylist() == ["1", "3"]
    assert caplog.messages == [f"{path}, line 3: 3 cells where the header has 2 (1 in all)"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("empty.csv", b"", "empty file"),
        ("header.csv", b"a,b\n", "no data rows"),
        ("binary.csv", b"\x00\x01\x02\xff" * 50, "binary content"),
        ("sheet.xlsx", b"PK", "unsupported file type .xlsx"),
        ("broken.json", b"{nope", "invalid JSON"),
        ("broken.parquet", b"PAR1xx", "not a readable Parquet file"),
    ],
)
def test_a_file_that_is_no_table(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(QueryError, match=rf"{name} cannot be used as a query table: {reason}"):
        read_query(tmp_path / name)


def test_a_missing_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nothing\.csv: no such file"):
        read_query(tmp_path / "nothing.csv")
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(QueryError, match="is a folder; a query table is one file"):
        read_query(tmp_path)


TWO_HEADER_ROWS = "town,women,,men,\n,number,share,number,rate\nBonn,1,2,3,4\nUlm,5,6,7,8\nJena,9,10,11,12\n"


@pytest.mark.parametrize(
    ("key", "found", "first"),
    [
        (["town", "women / share"], ("town", "women / share"), ["Bonn", "2"]),
        (["Town", " Share"], ("town", "women / share"), ["Bonn", "2"]),
        (["rate"], ("men / rate",), ["4"]),
        (["town", "MEN"], ("town", "men"), ["", "number"]),
    ],
)
def test_a_key_in_either_row_of_a_header(
    tmp_path: Path, key: list[str], found: tuple[str, ...], first: list[str]
) -> None:
    (tmp_path / "q.csv").write_text(TWO_HEADER_ROWS)
    query = read_query(tmp_path / "q.csv").for_key(key)
    assert key_columns(query, key) == found
    assert [query.columns.column(name)[0].as_py() for name in found] == first


def test_a_part_of_several_names_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text(TWO_HEADER_ROWS)
    query = read_query(tmp_path / "q.csv")
    with pytest.raises(QueryError, match='q has several columns "number": women / number, men / number'):
        key_columns(query.for_key(["number"]), ["number"])
    with pytest.raises(QueryError, match='q has no column "children"'):
        key_columns(query.for_key(["women", "children"]), ["children"])


# Data frames and Arrow tables


def test_a_data_frame_of_every_usual_type() -> None:
    frame = pd.DataFrame(
        {
            "whole": [1, -2, 30_000_000_000],
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "float": [1.5, np.nan, 2.0],
            "time": pd.to_datetime(["2024-05-01 12:30", None, "2024-05-02 00:00"]),
            "date": [datetime.date(2024, 5, 1), None, datetime.date(2024, 5, 2)],
            "category": pd.Categorical(["x", None, "y"]),
            "text": ["a", None, np.nan],
            "truth": [True, False, True],
        },
        index=[7, 8, 9],
    )
    assert from_pandas(frame).columns.to_pydict() == {
        "whole": ["1", "-2", "30000000000"],
        "nullable": ["1", None, "3"],
        "float": ["1.5", None, "2.0"],
        "time": ["2024-05-01 12:30:00", None, "2024-05-02 00:00:00"],
        "date": ["2024-05-01", None, "2024-05-02"],
        "category": ["x", None, "y"],
        "text": ["a", None, None],
        "truth": ["true", "false", "true"],
    }


def test_a_column_of_several_types() -> None:
    frame = pd.DataFrame({"a": ["x", 1, 2.5, None, pd.NaT, datetime.date(2024, 5, 1)]})
    assert from_pandas(frame).columns.to_pydict() == {"a": ["x", "1", "2.5", None, None, "2024-05-01"]}


def test_a_data_frame_with_odd_column_labels() -> None:
    assert from_pandas(pd.DataFrame([[1, 2, 3]], columns=["a", "a", ""])).header == ["a", "a (2)", "column 3"]
    numbered = from_pandas(pd.DataFrame([["x", "y"]]))
    assert numbered.header == ["0", "1"]
    assert key_columns(numbered, [1, 0]) == ("1", "0")  # type: ignore[list-item]


def test_an_arrow_table_in_chunks_and_slices() -> None:
    chunked = pa.table({"a": pa.chunked_array([["x"], ["y", None]]), "b": pa.chunked_array([[1, 2], [3]])})
    assert from_arrow(chunked).columns.to_pydict() == {"a": ["x", "y", None], "b": ["1", "2", "3"]}
    assert from_arrow(chunked.slice(1)).columns.to_pydict() == {"a": ["y", None], "b": ["2", "3"]}
    encoded = pa.table({"a": pa.array(["x", "y", "x"]).dictionary_encode()})
    assert from_arrow(encoded).columns.to_pydict() == {"a": ["x", "y", "x"]}


# Column names


@pytest.mark.parametrize(
    ("header", "names"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a (2)", "a (3)"]),
        (["a (2)", "a", "a"], ["a (2)", "a", "a (3)"]),
        (["", " ", "b"], ["column 1", "column 2", "b"]),
        (["column 2", ""], ["column 2", "column 2 (2)"]),
        ([" a ", "a"], ["a", "a (2)"]),
    ],
)
def test_every_column_has_a_name_of_its_own(header: list[str], names: list[str]) -> None:
    assert unique_names(header) == names


def test_a_file_with_nameless_and_repeated_columns(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("a,a,,b\n1,2,3,4\n5,6,7,8\n")
    query = read_query(tmp_path / "q.csv")
    assert texts(tuples(query, "a (2)", "column 3")) == [("2", "3"), ("6", "7")]


def test_key_columns_are_found_regardless_of_case_and_space() -> None:
    query = table(**{"First Name": ["x"], "straße": ["y"]})
    assert key_columns(query, [" first NAME", "STRASSE"]) == ("First Name", "straße")
    assert key_columns(table(a=["x"], A=["y"]), ["A", "a"]) == ("A", "a")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (["Frist name"], '(?i)query has no column "Frist name"; did you mean "first name"?'),
        (["zzz"], '(?i)query has no column "zzz"; known: country, first name'),
        ([], "a query needs at least one key column"),
        (["Country", " COUNTRY "], 'the key names the column "Country" twice'),
        ("Country", r'the key is a list of column names, such as \["Country"\]'),
    ],
)
def test_a_key_that_makes_no_sense(key: list[str], message: str) -> None:
    with pytest.raises(QueryError, match=message):
        key_columns(table(**{"First Name": ["x"], "Country": ["y"]}), key)


# Key tuples


def test_distinct_tuples_and_the_tuple_of_each_row() -> None:
    query = table(
        a=["x", "X ", "y", None, "y", "-", "x"],
        b=["1", "1", "2", "3", "1", "1", " 1"],
        other=[None, "p", "q", "r", "s", "t", "u"],
    )
    key = tuples(query, "b", "A")
    assert key.columns == ("b", "a")
    assert sorted(texts(key)) == [("1", "x"), ("1", "y"), ("2", "y")]
    assert [number if number < 0 else texts(key)[number] for number in key.row_tuple] == [
        ("1", "x"), ("1", "x"), ("2", "y"), -1, ("1", "y"), -1, ("1", "x"),
    ]  # fmt: skip
    assert (len(key), key.dropped_rows) == (3, 2)


@pytest.mark.parametrize("width", [1, 2, 3])
@given(
    cells=st.lists(st.sampled_from([None, "", "-", " N/A", "a", "A ", "b  c", "B C", "ß", "SS", "é", "e\u0301"])),
    more=st.lists(st.text(max_size=3)),
)
def test_tokens_and_tuples_are_numbered_as_they_come(cells: list[str | None], more: list[str], width: int) -> None:
    rows = (cells + more)[: len(cells + more) // width * width]
    columns = [rows[place::width] for place in range(width)]
    expected = tokens([cell for column in columns for cell in column]).to_pylist()
    whole = [row for row in zip(*(tokens(column).to_pylist() for column in columns), strict=True) if None not in row]
    if not whole:
        return
    key = tuples(table(**{f"{place}": column for place, column in enumerate(columns)}), *map(str, range(width)))
    assert key.tokens.to_pylist() == list(dict.fromkeys(token for token in expected if token is not None))
    assert texts(key) == list(dict.fromkeys(whole))
    assert [texts(key)[number] for number in key.row_tuple if number >= 0] == whole
    assert key.dropped_rows == len(columns[0]) - len(whole)


def test_the_nulls_are_the_indexs() -> None:
    query = table(a=["-", "none", "x"])
    assert texts(key_tuples(query, ["a"], frozenset({"x"}))) == [("-",), ("none",)]
    assert texts(tuples(query, "a")) == [("x",)]


@pytest.mark.parametrize("cells", [[], [None], ["", " ", "N/A", "-", None]])
def test_no_row_with_a_value_in_every_key_column(cells: list[str | None]) -> None:
    with pytest.raises(QueryError, match=r"no row of query has a value in every key column \(a, b\)"):
        tuples(table(a=cells, b=["x"] * len(cells)), "a", "b")


def test_an_error_is_one_line_whatever_columns_are_called() -> None:
    with pytest.raises(QueryError, match=r"in every key column \(two␊lines, ␛\[31m\)$"):
        tuples(table(**{"two\nlines": [None], "\x1b[31m": ["x"]}), "two\nlines", "\x1b[31m")


def test_many_tuples() -> None:
    rows = [(f"Name {i % 4_000}", f"{i % 3}") for i in range(6_000)]
    key = tuples(table(a=[a for a, _ in rows], b=[b for _, b in rows]), "a", "b")
    assert set(texts(key)) == {(a.lower(), b) for a, b in rows}
    assert [texts(key)[number] for number in key.row_tuple[:5]] == [(a.lower(), b) for a, b in rows[:5]]


def test_a_query_table_has_2_gb_of_text_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "q.csv").write_text("a,b\n" + "x,y\n" * 9_000)
    assert read_query(tmp_path / "q.csv").columns.num_rows == 9_000
    monkeypatch.setattr("mate.search.query.MOST_BYTES", 50_000)
    with pytest.raises(QueryError, match=r"q\.csv has more than 50,000 bytes of text, too many for a query table$"):
        read_query(tmp_path / "q.csv", most_bytes=10**12)


# The initial column


def by_hand() -> tuple[KeyTuples, np.ndarray]:
    """A key where every strategy has a reason of its own.

    ============ ======= ========== ============= ========= ========================
    column       values  longest    postings      in all    pairs of known tuples
    ============ ======= ========== ============= ========= ========================
    first        4       6          9, 9, 9, 9    36        27
    few          2       1          30, 10        40        30 + 30 + 10
    long         4       12         1, 8, 8, 0    17        17
    popular      3       1          4, 4, 2       10        4 + 4 + 4
    ============ ======= ========== ============= ========= ========================
    """
    query = table(
        first=["aaa", "bbb", "cccccc", "ddd"],
        few=["1", "1", "2", "2"],
        long=["www", "a long value", "yyy", "zzz"],
        popular=["p", "p", "q", "r"],
    )
    key = tuples(query, "first", "few", "long", "popular")
    postings = {"aaa": 9, "bbb": 9, "cccccc": 9, "ddd": 9, "1": 30, "2": 10, "www": 1, "a long value": 8, "yyy": 8}
    postings |= {"zzz": 0, "p": 4, "q": 4, "r": 2}
    return key, np.array([postings[token] for token in key.tokens.to_pylist()])


@pytest.mark.parametrize(
    ("strategy", "column"),
    [
        ("order", "first"),
        ("cardinality", "few"),
        ("longest", "long"),
        ("postings", "popular"),
        ("pairs", "popular"),
        ("worst", "few"),
        ("long", "long"),
        ("first", "first"),
    ],
)
def test_each_strategy(strategy: str, column: str) -> None:
    key, postings = by_hand()
    assert key.columns[initial_column(key, strategy, postings)] == column


def test_pairs_count_a_posting_once_a_tuple_and_postings_once() -> None:
    """A value that every tuple shares has few postings, and many pairs."""
    key = tuples(table(shared=["s"] * 4, own=["a", "b", "c", "d"]), "shared", "own")
    postings = np.array([5 if token == "s" else 2 for token in key.tokens.to_pylist()])
    assert key.columns[initial_column(key, "postings", postings)] == "shared"
    assert key.columns[initial_column(key, "pairs", postings)] == "own"


def test_pairs_look_at_known_tuples_only() -> None:
    """The tuple of the frequent value has a value that the index does not know."""
    key = tuples(table(a=["frequent", "x"], b=["nowhere", "y"]), "a", "b")
    known = {"frequent": 1_000, "x": 1, "nowhere": 0, "y": 2}
    postings = np.array([known[token] for token in key.tokens.to_pylist()])
    assert key.columns[initial_column(key, "pairs", postings)] == "a"
    assert key.columns[initial_column(key, "postings", postings)] == "b"


def test_every_strategy_answers_if_the_index_knows_nothing() -> None:
    key, postings = by_hand()
    for strategy in STRATEGIES:
        assert 0 <= initial_column(key, strategy, np.zeros_like(postings)) < 4


def test_an_unknown_strategy() -> None:
    key, postings = by_hand()
    with pytest.raises(QueryError, match='no strategy or key column is called "carinality"; did you mean "cardi'):
        initial_column(key, "carinality", postings)
