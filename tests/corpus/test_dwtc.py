import gzip
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.corpus.table import Chunk, Limits, Reject
from tests.corpus.reading import read_bytes, rejects_of

COLUMNS = [["town", "Bonn", "Köln"], ["people", "5", "6"]]


def record(relation: object = COLUMNS, **fields: Any) -> bytes:
    whole = {"relation": relation, "pageTitle": "Towns", "hasHeader": True, "headerPosition": "FIRST_ROW", **fields}
    return json.dumps(whole).encode()


def read(data: bytes, limits: Limits | None = None) -> list[Chunk | Reject]:
    return read_bytes("dwtc", data, limits)


def only_chunk(data: bytes) -> Chunk:
    (chunk,) = read(data)
    assert isinstance(chunk, Chunk)
    return chunk


def test_header_in_the_first_row() -> None:
    chunk = only_chunk(record())
    assert chunk.table.header == ("town", "people")
    assert chunk.table.name == "Towns"
    assert chunk.cells.to_pylist() == ["Bonn", "5", "Köln", "6"]


def test_header_in_the_first_column_turns_the_table() -> None:
    chunk = only_chunk(record([["town", "people"], ["Bonn", "5"], ["Köln"]], headerPosition="FIRST_COLUMN"))
    assert chunk.table.header == ("town", "people")
    assert chunk.cells.to_pylist() == ["Bonn", "5", "Köln", None]


@pytest.mark.parametrize("fields", [{"headerPosition": "NONE"}, {"headerPosition": "MIXED"}, {"hasHeader": False}])
def test_without_a_header_every_row_is_data(fields: dict[str, Any]) -> None:
    chunk = only_chunk(record(**fields))
    assert chunk.table.header == ("", "")
    assert chunk.rows == 3


def test_header_row_of_the_wdc_corpus() -> None:
    chunk = only_chunk(record([["Towns", "town", "Bonn"], ["", "people", "5"]], headerRowIndex=1))
    assert chunk.table.header == ("town", "people")
    assert chunk.cells.to_pylist() == ["Towns", "", "Bonn", "5"]


def test_ragged_columns_are_padded() -> None:
    assert only_chunk(record([["a", "1", "2"], ["b", "3"]])).cells.to_pylist() == ["1", "3", "2", None]


def test_the_title_names_a_table_without_a_page_title() -> None:
    assert only_chunk(record(pageTitle="", title="Table 1")).table.name == "Table 1"


def test_lines_and_positions() -> None:
    found = read(b"\xef\xbb\xbf" + b"\n".join([record(), b"", b"{", record(), b""]))
    tables = [(item.table.position, item.table.line) for item in found if isinstance(item, Chunk)]
    assert tables == [(0, 1), (1, 4)]
    assert [reject[0] for reject in rejects_of(found)] == [3]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", "invalid JSON: Expecting property name enclosed in double quotes at column 2"),
        (b'{"relation": [["a"', "invalid JSON: Expecting ',' delimiter at column 19"),
        (b"[" * 100_000, "invalid JSON: nested too deeply or a number too long"),
        (b"[1]", "a list where an object is expected"),
        (b'{"pageTitle": "x"}', "no relation"),
        (record([]), "empty relation"),
        (record([[], []]), "empty relation"),
        (record("x"), "relation is a string, not a list of columns"),
        (record(None), "relation is null, not a list of columns"),
        (record(["x"]), "column 1 is a string, not a list of cells"),
        (record([["a", "1"], ["b", 2]]), "column 2 holds a number where a string is expected"),
        (record([["a", None]]), "column 1 holds null where a string is expected"),
        (record([[1, "a"]]), "column 1 holds a number where a string is expected"),
        (record([["a"], ["b"]]), "no data rows"),
        (record([["a", "b"]], headerPosition="FIRST_COLUMN"), "no data rows"),
        (b'{"relation": [["a", "\xff"]]}', "invalid UTF-8 at byte 22"),
        (rb'{"relation": [["a", "x\ud800"]]}', r"half a surrogate pair (\ud800), which is not text"),
        (rb'{"relation": [["a\udc00", "x"]]}', r"half a surrogate pair (\udc00), which is not text"),
    ],
)
def test_a_bad_record_is_one_reject(line: bytes, reason: str) -> None:
    found = read(record() + b"\n" + line + b"\n" + record())
    assert rejects_of(found) == [(2, "record", reason, 1)]
    assert len(found) == 3


def test_layout_tables_are_counted() -> None:
    data = b"\n".join([record(), record(tableType="LAYOUT"), record(tableType="LAYOUT")])
    assert rejects_of(read(data)) == [(2, "record", "layout table", 2)]
    assert len(read(data, Limits(layout_tables=True))) == 3


def test_a_shard_that_is_cut_off_keeps_what_was_read() -> None:
    whole = b"\n".join(record(pageTitle=f"{n} {hash(str(n))}") for n in range(3_000))
    found = read(gzip.compress(whole)[:-2_000])
    tables = sum(isinstance(item, Chunk) for item in found)
    assert tables > 100
    assert rejects_of(found) == [(None, "file", f"truncated gzip stream after {tables} records", 1)]


def test_a_table_that_is_too_wide_or_too_long_is_a_reject_of_its_line() -> None:
    many = record([["a", *map(str, range(10))], ["b", *map(str, range(10))]])
    assert rejects_of(read(many, Limits(columns=1))) == [(1, "record", "2 columns, more than the limit of 1", 1)]
    assert rejects_of(read(many, Limits(rows=7))) == [(1, "row", "beyond the limit of 7 rows", 3)]


def test_an_empty_shard() -> None:
    assert rejects_of(read(b"")) == [(None, "file", "empty file", 1)]
    assert rejects_of(read(gzip.compress(b"\n"))) == [(None, "file", "empty file", 1)]


@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(st.lists(st.text(max_size=8), min_size=width, max_size=width), min_size=2, max_size=8)
    )
)
def test_any_text_comes_back(rows: list[list[str]]) -> None:
    chunk = only_chunk(gzip.compress(record(list(zip(*rows, strict=True)))))
    assert list(chunk.table.header) == rows[0]
    assert chunk.cells.to_pylist() == [cell for row in rows[1:] for cell in row]


def test_a_table_is_not_filled_up_with_millions_of_cells() -> None:
    """Every cell of the file may stand for a hundred, as long as they are few."""
    record = {"relation": [["x"] * 30_000] + [[]] * 60, "hasHeader": True, "headerPosition": "FIRST_ROW"}
    [reject] = read(json.dumps(record).encode())
    assert isinstance(reject, Reject)
    assert "columns of very different lengths" in reject.reason
