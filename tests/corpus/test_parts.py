"""Files in parts give what the whole files give, wherever they are cut."""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mate.build.parts import FilePart
from mate.build.sources import FileSource
from mate.corpus import Chunk, File, Limits, Reject, delimited
from mate.corpus.formats import CUTTERS, cut_file
from mate.corpus.lines import Span, after_line_feed, after_lines, count_lines, even_cuts, line_start, spans_between
from mate.corpus.parts import Parts
from mate.errors import CorpusError
from tests.corpus.reading import read_bytes

LINE_START = {"delimited": line_start, "dwtc": after_line_feed, "json": after_line_feed}
Read = tuple[list[tuple[Any, ...]], list[Reject], Any]


def collect(items: Iterable[Chunk | Reject]) -> Read:
    """Return tables with their rows, cell by cell, and rejects in their order."""
    tables: list[tuple[Any, ...]] = []
    rejects: list[Reject] = []
    for item in items:
        if isinstance(item, Reject):
            rejects.append(item)
            continue
        if not tables or tables[-1][0] != item.table:
            tables.append((item.table, []))
        width, cells, rows = len(item.table.header), item.cells.to_pylist(), tables[-1][1]
        assert item.first_row == len(rows)
        rows += [cells[at : at + width] for at in range(0, len(cells), width)]
    return tables, rejects, None


def read_whole(format: str, data: bytes, limits: Limits) -> Read:
    return collect(read_bytes(format, data, limits))


def read_cut(format: str, data: bytes, limits: Limits, places: Sequence[int]) -> Read | None:
    """Read a file in parts, cut at the lines that begin next after these places; None if it is not cut at all."""
    stream = io.BytesIO(data)
    try:
        cutting: Any = CUTTERS[format]("towns", stream, limits, 1 << 40)
    except CorpusError:
        return None
    if cutting is None or not cutting.spans:
        return None
    first, last = cutting.spans[0].start, cutting.spans[-1].stop
    if format in LINE_START:
        places = [LINE_START[format](stream, place) for place in places]
    inside = [place for place in sorted(places) if first <= place <= last]
    spans = spans_between([first, *inside, last])
    return read_spans(cutting, spans, stream, limits)


def read_spans(cutting: Any, spans: Sequence[Span], stream: io.BytesIO, limits: Limits) -> Read | None:
    looks = [cutting.look(stream, span) for span in spans]
    for _ in range(3 * len(spans) + 3):
        found = cutting.settle(looks)
        if isinstance(found, Parts):
            break
        looks[found.first : found.stop] = [cutting.look(stream, found.span)]
    else:
        pytest.fail("the parts never settle")
    if not found.parts:
        return None
    one_table = found.parts[0].rows is not None
    assert [part.continues for part in found.parts] == [number > 0 and one_table for number in range(len(found.parts))]
    tables, rejects, _ = collect(item for part in found.parts for item in part.read(stream, limits))
    assert len(tables) == found.tables
    if one_table:
        assert len(tables[0][1]) == sum(part.rows or 0 for part in found.parts)
    return tables, rejects, None


def check(format: str, data: bytes, limits: Limits, places: Sequence[int]) -> bool:
    """Compare parts with the whole; return whether there were parts at all."""
    whole = read_whole(format, data, limits)
    parts = read_cut(format, data, limits, places)
    if parts is None:
        return False
    assert parts == whole
    return True


TEXTS = {
    "plain": b"id,town\n1,Bonn\n2,Ulm\n3,Aachen\n4,Trier\n",
    "no final line end": b"id,town\n1,Bonn\n2,Ulm\n3,Aachen",
    "crlf": b"id,town\r\n1,Bonn\r\n2,Ulm\r\n3,Aachen\r\n",
    "cr": b"id,town\r1,Bonn\r2,Ulm\r3,Aachen\r",
    "mixed ends": b"id,town\n1,Bonn\r\n2,Ulm\r3,Aachen\n\r4,Trier\r\n",
    "byte order mark": b"\xef\xbb\xbfid,town\n1,K\xc3\xb6ln\n2,\xef\xbb\xbfUlm\n\xef\xbb\xbf3,Aachen\n",
    "mark and no header": b"\xef\xbb\xbf1,2021,17\n2,2021,18\n3,2021,19\n4,2021,20\n",
    "multi-byte": "ort,wert\nKöln,1\n東京,2\nعمان,3\n😀,4\n".encode(),
    "latin-1": "ort,wert\nKöln,1\nMünchen,2\nGrüße,3\n".encode("latin-1"),
    "stray bytes": "ort,wert\nKöln,1\nZürich,2\nMünster,3\n".encode() + "Düren,4\n".encode("latin-1"),
    "blank lines": b"\n\nid,town\n\n1,Bonn\n\n\n2,Ulm\n \n3,Aachen\n\n",
    "quoted line ends": b'id,motto\n1,"a\nb"\n2,"c\r\n\r\nd"\n3,e\n4,"f,\n""g"""\n5,h\n',
    "cells like rows": b'id,motto\n1,"x\n2,y\n3,z\n"\n4,"p\n5,q\n6,r"\n7,s\n',
    "stray quote": b'id,town\n1,"Bonn\n2,Ulm\n3,"Aachen"\n4,Trier\n5,"Jena\n',
    "quotes in cells": b'id,size\n1,5" pipe\n2,"a ""b"" c"\n3,6" pipe\n4,"x"y\n5,z\n',
    "backslashes": b'id,motto\n1,"say \\"hi\\", go"\n2,"b\\"\n3,c"\n4,"d"\n',
    "ragged": b"id,a,b\n1,x,y\n2,x\n3,x,y,,\n4,x,y,z\n5\n6,x,y\n7,x,y\n8,a,b,c,d\n9,x,y\n",
    "above and below": b"Table 12;;\n\nTowns;;\ntown;year;n\nBonn;2020;5\nUlm;2020;6\nJena;2020;7\n____\nStand: 20\n\n",
    "long footer": b"town;year;n\nBonn;2020;5\nUlm;2020;6\nJena;2020;7\nNote: a\nb\nc\n\nd\n\n",
    "ends with one cell": b"town;year;n\nBonn;2020;5\nUlm;2020;6\nJena;;\n;;\n",
    "wide": b"a,b,c\n1,2,3\n",
    "two header rows": b";;women;\n;;number;share\n1;Bonn;5;10\n2;Ulm;6;11\n3;Jena;7;12\n",
}


@pytest.mark.parametrize("data", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("footer_rows", [2, 1_000])
def test_a_delimited_file_cut_at_every_byte(data: bytes, footer_rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also cut in two by every line inside quoted cells, which a good guess would avoid."""
    monkeypatch.setattr(delimited, "FOOTER_ROWS", footer_rows)
    for limits in (Limits(), Limits(chunk_cells=4), Limits(rows=2)):
        for place in range(len(data) + 1):
            assert check("delimited", data, limits, [place])
    assert check("delimited", data, Limits(), range(len(data)))  # a part for every line
    assert check("delimited", data, Limits(rows=3, chunk_cells=2), range(len(data)))


def table_record(name: str, cells: int, **fields: Any) -> bytes:
    relation = [["town", *(f"{name} {n} ü" for n in range(cells))], ["n", *map(str, range(cells))]]
    return json.dumps({"relation": relation, "pageTitle": name, "headerPosition": "FIRST_ROW", **fields}).encode()


SHARDS = {
    "plain": b"\n".join([table_record("a", 2), table_record("b", 3), table_record("c", 1), b""]),
    "no final line end": b"\n".join([table_record("a", 2), table_record("b", 3)]),
    "crlf": b"\r\n".join([table_record("a", 2), table_record("b", 3), b""]),
    "broken lines": b"\n".join(
        [b"", table_record("a", 2), b"{", b"\xff", b" ", table_record("b", 1), b'{"relation": ']
    ),
    "layout": b"\n".join(
        [table_record("a", 1), *[table_record("l", 1, tableType="LAYOUT")] * 3, table_record("b", 1), b"[1]", b""]
    ),
    "byte order mark": b"\xef\xbb\xbf" + b"\n".join([table_record("a", 2), "{ü".encode(), table_record("b", 1)]),
}
RECORDS = {
    "plain": b'{"a": 1}\n{"b": 2, "a": 3}\n{"c": null, "a": 4}\n',
    "no final line end": b'{"a": 1}\n{"b": "x"}',
    "crlf": b'{"a": 1}\r\n\r\n{"b": 2}\r\n{"a": "\xc3\xbc"}\r\n',
    "byte order mark": b'\xef\xbb\xbf{"a": 1}\n{"b": 2}\n\n\n',
    "broken lines": b'\n{"a": 1}\n{\n{}\n"x"\n{"b": "\xff"}\n{"b": "\\ud800"}\n{"b": 5}\n{"a"',
    "rows late": b'{}\n{\n\n{\n{"a": 1}\n{"a": 2}\n',
}


def test_json_lines_with_few_keys_cut_at_every_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mate.corpus.json_records.MOST_PADDING", 2)
    data = b'{"a": 1}\n{"a": 1, "b": 2}\n\n{"a": 5}\n{"c": 3, "a": 4}\n{"b": 3}\n'
    for limits in (Limits(), Limits(rows=1)):
        for place in range(len(data) + 1):
            assert check("json", data, limits, [place])


ONE_ROW = Limits(rows=1, chunk_cells=2)
LINES = {f"shard: {name}": ("dwtc", data) for name, data in SHARDS.items()}
LINES |= {f"records: {name}": ("json", data) for name, data in RECORDS.items()}


@pytest.mark.parametrize(("format", "data"), LINES.values(), ids=LINES)
def test_lines_of_json_cut_at_every_byte(format: str, data: bytes) -> None:
    for limits in (Limits(), Limits(layout_tables=True), ONE_ROW, replace(ONE_ROW, rows=2), Limits(columns=1)):
        cut = [check(format, data, limits, [place]) for place in range(len(data) + 1)]
        cut.append(check(format, data, limits, range(len(data))))
        assert all(cut) or (format == "json" and limits.columns == 1)


def parquet(rows: int, group: int) -> bytes:
    out = io.BytesIO()
    columns: dict[str, Any] = {"n": list(range(rows)), "t": [f"text {n} ü" for n in range(rows)]}
    columns["f"] = [n / 7 for n in range(rows)]
    columns["year"] = [None if n == 4 else 2000.0 + n for n in range(rows)]
    columns["half at 8"] = [n + 0.5 if n == 8 else float(n) for n in range(rows)]
    days = [datetime(2024, 1, 1) + timedelta(days=n) for n in range(rows)]
    columns["day"] = days
    columns["noon at 6"] = [day + timedelta(hours=12 * (n == 6)) for n, day in enumerate(days)]
    pq.write_table(pa.table(columns), out, row_group_size=group, compression="zstd", use_dictionary=False)
    return out.getvalue()


def texts_as_parquet(rows: int, group: int) -> bytes:
    """As many rows and columns of texts, where there were numbers and times."""
    out = io.BytesIO()
    pq.write_table(pa.table({str(n): ["text"] * rows for n in range(7)}), out, row_group_size=group)
    return out.getvalue()


@pytest.mark.parametrize("limits", [Limits(), Limits(chunk_cells=7), Limits(rows=7), Limits(rows=6), Limits(rows=20)])
def test_a_parquet_file_cut_between_any_row_groups(limits: Limits) -> None:
    data = parquet(20, 3)
    for places in ([], *([n] for n in range(8)), *([n, m] for n in range(8) for m in range(n)), range(8)):
        assert check("parquet", data, limits, list(places))


def test_a_damaged_parquet_file_is_read_whole() -> None:
    data = bytearray(parquet(4_000, 1_000))
    group = pq.ParquetFile(io.BytesIO(bytes(data))).metadata.row_group(2)
    start = group.column(1).data_page_offset
    data[start + 30 : start + 300] = b"\xff" * 270
    assert not check("parquet", bytes(data), Limits(), [1, 2, 3])
    [reject] = read_whole("parquet", bytes(data), Limits())[1]
    assert reject.reason.startswith("corrupt Parquet data after 2000 rows: ")


def test_a_parquet_file_that_says_it_has_more_rows_than_there_are() -> None:
    data = parquet(20, 10)
    says_20, says_22 = b"\x16\x28\x19", b"\x16\x2c\x19"  # the number of rows, in front of the row groups
    assert data.count(says_20) == 1
    data = data.replace(says_20, says_22)
    for limits, reason in (
        (Limits(), "corrupt Parquet data after 20 rows: there should be 22"),
        (Limits(rows=20), "beyond the limit of 20 rows"),
    ):
        assert [reject.reason for reject in read_whole("parquet", data, limits)[1]] == [reason]
        assert not check("parquet", data, limits, [1])


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("delimited", gzip.compress(TEXTS["plain"], mtime=0)),
        ("delimited", "id,town\n1,Köln\n2,Ulm\n".encode("utf-16")),
        ("delimited", b""),
        ("delimited", b"\x89\x00\x01\x02\xff\xfe\x00\x03,\n" * 50),
        ("dwtc", gzip.compress(SHARDS["plain"], mtime=0)),
        ("json", gzip.compress(RECORDS["plain"], mtime=0)),
        ("json", b'\xef\xbb\xbf [{"a": 1},\n{"a": 2}]\n'),
        ("parquet", b"PAR1 and no more"),
        ("parquet", b""),
    ],
)
def test_what_is_not_cut(tmp_path: Path, format: str, data: bytes) -> None:
    (tmp_path / "towns").write_bytes(data)
    assert cut_file(File(str(tmp_path / "towns"), format), Limits(), 1) is None


@pytest.mark.parametrize(
    ("format", "data"),
    [
        ("delimited", b"id,town\n"),
        ("delimited", b"id,town\n\n\n"),
        ("dwtc", b"\n\n\n"),
        ("json", b"{}\n{}\n{\n"),
        ("json", b"\n"),
    ],
)
def test_without_a_row_the_reader_of_the_whole_has_the_word(format: str, data: bytes) -> None:
    assert read_cut(format, data, Limits(), range(len(data))) is None
    assert read_whole(format, data, Limits())[1]


# Any tables, any cuts


CELLS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8),
    st.sampled_from(['"', '""', ",", "\n", "\r\n", "\r", "a\n1,2\n", 'x"y', "1,2", "", " "]),
)


@st.composite
def hostile_texts(draw: st.DrawFn) -> bytes:
    """Tables as CSV, with lines thrown in that are no part of them."""
    width = draw(st.integers(1, 3))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=1, max_size=10))
    out = io.StringIO()
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    end = draw(st.sampled_from(["\n", "\r\n", "\r"]))
    csv.writer(out, quoting=quoting, lineterminator=end).writerows(
        [["n", *(f"c{n}" for n in range(width))], *([str(n), *row] for n, row in enumerate(rows))]
    )
    text = out.getvalue()
    for line in draw(
        st.lists(st.sampled_from(['7,"x\n', "\n", "a,b,c,d,e,f\n", '"\n', "z\n", '8,"y"z\n']), max_size=3)
    ):
        at = draw(st.integers(0, len(text)))
        text = text[:at] + line + text[at:]
    return text.encode(draw(st.sampled_from(["utf-8", "utf-8-sig"])))


@given(hostile_texts(), st.lists(st.integers(0, 400), max_size=6), st.sampled_from([2, 1_000]), st.integers(1, 12))
@example(b'n,c\n0,"a\n1,""2"\n', [9], 2, 12)
@settings(max_examples=400)
def test_any_delimited_text_cut_anywhere(data: bytes, places: list[int], footer_rows: int, rows: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "FOOTER_ROWS", footer_rows)
        for limits in (Limits(), Limits(chunk_cells=4, rows=rows)):
            check("delimited", data, limits, [place % (len(data) + 1) for place in places])


@given(st.lists(st.binary(max_size=12) | st.sampled_from(list(RECORDS.values())), max_size=6), st.data())
@settings(max_examples=150)
def test_any_lines_of_json_cut_anywhere(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"\n".join(lines)
    places = data.draw(st.lists(st.integers(0, len(whole)), max_size=5))
    for format in ("json", "dwtc"):
        check(format, whole, Limits(), places)


# Where to cut


def many_rows(rows: int) -> bytes:
    lines = ["id,town,motto"]
    lines += [f'{n},Köln,"line one of {n}\nline, two ""{n}""\n{n},x,y"' for n in range(rows)]
    return "\n".join(lines).encode()


def test_row_starts_are_guessed_right_amid_quoted_line_ends() -> None:
    data = many_rows(3_000)
    stream = io.BytesIO(data)
    cutting = delimited.cut("towns", stream, Limits(), 4_000)
    assert cutting is not None
    assert len(cutting.spans) > 10
    looks = [cutting.look(stream, span) for span in cutting.spans]
    assert isinstance(cutting.settle(looks), Parts)
    assert read_spans(cutting, cutting.spans, stream, Limits()) == read_whole("delimited", data, Limits())


@given(st.integers(0, 1_000), st.integers(0, 1_000), st.integers(1, 300))
def test_even_cuts_are_even_and_not_too_small(start: int, length: int, size: int) -> None:
    pieces = spans_between([start, *even_cuts(start, start + length, size), start + length])
    lengths = [piece.stop - piece.start for piece in pieces]
    assert sum(lengths) == length
    if length:
        assert max(lengths) - min(lengths) <= 1
        assert len(lengths) == 1 or min(lengths) >= size


@given(st.text("ab\r\n", max_size=30).map(str.encode), st.data())
def test_lines_by_their_place(data: bytes, draw: st.DataObject) -> None:
    lines = io.TextIOWrapper(io.BytesIO(data), "ascii", newline="").readlines()
    starts = [sum(map(len, lines[:number])) for number in range(len(lines) + 1)]
    at = draw.draw(st.integers(0, len(data)))
    assert line_start(io.BytesIO(data), at) == min(place for place in starts if place >= at)
    number = draw.draw(st.integers(0, len(starts) - 1))
    count = draw.draw(st.integers(0, 40))
    expected = starts[min(number + count, len(starts) - 1)]
    assert after_lines(io.BytesIO(data), starts[number], count) == expected
    begun = [place for place in starts[:-1] if starts[number] <= place < at]
    assert count_lines(io.BytesIO(data), starts[number], at) == len(begun)


# Files on disk


def test_a_file_is_cut_only_where_it_pays(tmp_path: Path) -> None:
    path = tmp_path / "towns.csv"
    path.write_bytes(many_rows(100))
    file = File(str(path), "delimited")
    assert cut_file(file, Limits(), 1 << 20) is None
    cutting = cut_file(file, Limits(), 500)
    assert cutting is not None
    assert len(cutting.spans) > 5
    assert cut_file(replace(file, format=None), Limits(), 500) is None
    assert cut_file(replace(file, path=str(tmp_path / "gone")), Limits(), 500) is None


@pytest.mark.parametrize(
    ("format", "data", "shorter"),
    [
        ("delimited", many_rows(50), many_rows(20)),
        ("json", RECORDS["plain"] * 9, RECORDS["plain"]),
        ("parquet", parquet(60, 20), parquet(25, 20)),
        ("parquet", parquet(60, 20), b"PAR1"),
        ("parquet", parquet(60, 20), texts_as_parquet(60, 20)),
    ],
)
def test_a_file_that_changes_between_look_and_read_is_an_error(
    tmp_path: Path, format: str, data: bytes, shorter: bytes
) -> None:
    file = File(str(tmp_path / "towns"), format)
    Path(file.path).write_bytes(data)
    cutting = cut_file(file, Limits(), 100)
    assert cutting is not None
    with Path(file.path).open("rb") as stream:
        found = cutting.settle([cutting.look(stream, span) for span in cutting.spans])
    assert isinstance(found, Parts)
    parts = [FilePart(FileSource.of(file), part, 0, None, None) for part in found.parts]
    Path(file.path).write_bytes(shorter)
    with pytest.raises(CorpusError, match="was changed while it was read"):
        list(parts[-1].read(Limits()))
    Path(file.path).unlink()
    with pytest.raises(CorpusError, match="was changed while it was read"):
        list(parts[0].read(Limits()))
