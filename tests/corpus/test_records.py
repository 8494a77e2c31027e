import base64
import datetime
import decimal
import gzip
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.corpus import dwtc, records
from mate.corpus.parts import CUTTERS
from mate.corpus.table import Chunk, Limits, Reject

Found = list[Chunk | Reject]


def read_json(data: bytes | str, limits: Limits | None = None) -> Found:
    stream = io.BytesIO(data if isinstance(data, bytes) else data.encode())
    return list(records.read_json("towns.json", stream, limits))


def parquet(columns: dict[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def read_parquet(data: bytes, limits: Limits | None = None) -> Found:
    return list(records.read_parquet("towns.parquet", io.BytesIO(data), limits))


def cells_of(found: Found) -> list[str | None]:
    return [cell for item in found if isinstance(item, Chunk) for cell in item.cells.to_pylist()]


def header_of(found: Found) -> tuple[str, ...]:
    return next(item.table.header for item in found if isinstance(item, Chunk))


def rejects_of(found: Found) -> list[tuple[int | None, str, str, int]]:
    return [(r.line, r.kind, r.reason, r.count) for r in found if isinstance(r, Reject)]


OBJECTS = [
    {"town": "Köln", "people": 5},
    {"people": 6.5, "river": None, "open": True},
    {"town": "", "tags": ["a", {"b": 1}]},
]
HEADER = ("town", "people", "river", "open", "tags")
CELLS = ["Köln", "5", None, None, None, None, "6.5", None, "true", None, "", None, None, None, '["a", {"b": 1}]']


@pytest.mark.parametrize(
    "data",
    [
        json.dumps(OBJECTS),
        json.dumps(OBJECTS, indent=2),
        "\ufeff \n" + json.dumps(OBJECTS, ensure_ascii=False),
        "\n".join(map(json.dumps, OBJECTS)),
        "\n\n".join(map(json.dumps, OBJECTS)) + "\n",
    ],
)
def test_json_objects_as_an_array_or_as_lines(data: str) -> None:
    for packed in (data.encode(), gzip.compress(data.encode())):
        found = read_json(packed)
        assert rejects_of(found) == []
        assert header_of(found) == HEADER
        assert cells_of(found) == CELLS


def test_an_element_longer_than_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "BLOCK", 7)
    assert cells_of(read_json(json.dumps(OBJECTS, ensure_ascii=False))) == CELLS


@pytest.mark.parametrize(
    ("data", "rejects"),
    [
        ("", [(None, "file", "empty file", 1)]),
        ("  \n", [(None, "file", "empty file", 1)]),
        ("[]", [(None, "file", "no data rows", 1)]),
        ('[{"a": 1}', [(None, "file", "invalid JSON: end of file where , is expected", 1)]),
        ('[{"a": 1} {"a": 2}]', [(None, "file", "invalid JSON: { where , is expected", 1)]),
        ('[{"a": }]', [(None, "file", "invalid JSON: Expecting value", 1)]),
        (b'[{"a": "\xff"}]', [(None, "file", "invalid UTF-8", 1)]),
        ("[" * 100_000, [(None, "file", "invalid JSON: nested too deeply or a number too long", 1)]),
        ("[1, 22]", [(1, "record", "a number where an object is expected", 2), (None, "file", "no data rows", 1)]),
        (gzip.compress(json.dumps(OBJECTS).encode(), mtime=0)[:-9], [(None, "file", "truncated gzip stream", 1)]),
    ],
)
def test_json_that_is_no_table(data: bytes | str, rejects: list[tuple[int | None, str, str, int]]) -> None:
    assert rejects_of(read_json(data)) == rejects
    assert cells_of(read_json(data)) == []


def test_bad_json_records_are_left_out() -> None:
    lines = ['{"a": 1}', "{", '"x"', "{}", rb'{"a": "\ud800"}'.decode(), '{"a": 2}']
    found = read_json("\n".join(lines))
    assert cells_of(found) == ["1", "2"]
    assert rejects_of(found) == [
        (2, "record", "invalid JSON: Expecting property name enclosed in double quotes at column 2", 1),
        (3, "record", "a string where an object is expected", 1),
        (4, "record", "an object without keys", 1),
        (5, "record", r"half a surrogate pair (\ud800), which is not text", 1),
    ]


def test_a_line_that_is_too_long_is_one_bad_record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dwtc, "LONGEST_RECORD", 20)
    found = read_json('{"a": 1}\n{"a": "' + "x" * 90 + '"}\n{"a": 2}\n{\n')
    assert cells_of(found) == ["1", "2"]
    assert [(line, count) for line, _, _, count in rejects_of(found)] == [(2, 1), (4, 1)]


def test_json_limits() -> None:
    data = json.dumps([{"a": n, "b": n} for n in range(10)])
    assert rejects_of(read_json(data, Limits(columns=1))) == [(None, "file", "2 columns, more than the limit of 1", 1)]
    found = read_json(data, Limits(rows=7, chunk_cells=6))
    assert [(item.first_row, item.rows) for item in found if isinstance(item, Chunk)] == [(0, 3), (3, 3), (6, 1)]
    assert rejects_of(found) == [(8, "row", "beyond the limit of 7 rows", 3)]


def test_json_records_that_would_be_nearly_empty_are_left_out() -> None:
    wide = {f"k{n}": 1 for n in range(101)}
    for data in (json.dumps([{"k1": 1}, wide, {"k1": 1}]), "\n".join(map(json.dumps, [{"k1": 1}, wide, {"k1": 1}]))):
        found = read_json(data)
        assert cells_of(found) == ["1"] * 101
        assert rejects_of(found) == [(1, "record", "too few keys to be a row of 101", 2)]
    del wide["k0"]
    assert len(cells_of(read_json(json.dumps([{"k1": 1}, wide])))) == 200
    alone = read_json(json.dumps([{f"k{n}": 1} for n in range(101)]))
    assert [reject[2] for reject in rejects_of(alone)] == ["too few keys to be a row of 101", "no data rows"]


def test_dictionaries_are_decoded_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "CHARACTERS", 1_000)
    words = pa.array(["x" * 200, "y"] * 50).dictionary_encode()
    for column in (words, pa.ListArray.from_arrays(list(range(101)), words)):
        chunks = [item for item in read_parquet(parquet({"a": column})) if isinstance(item, Chunk)]
        assert sum(chunk.rows for chunk in chunks) == 100
        assert max(chunk.cells.nbytes for chunk in chunks) < 2_000


def test_long_lists_are_read_in_small_pieces_and_endless_ones_not_at_all() -> None:
    data = parquet({"a": [[0] * 1_000] * 900})
    chunks = [chunk for chunk in read_parquet(data, Limits(chunk_cells=50_000)) if isinstance(chunk, Chunk)]
    assert {chunk.rows for chunk in chunks} == {50}
    lists = pa.ListArray.from_arrays(
        pa.array(range(0, 6_000_001, 1_000_000), pa.int32()), pa.array(np.zeros(6_000_000, np.int8))
    )
    data = parquet({"a": lists, "b": list(range(6))})
    reason = f"6,000,000 values in lists, too many for a file of {len(data):,} bytes"
    assert rejects_of(read_parquet(data)) == [(None, "file", reason, 1)]


def test_short_memory_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: Any, **__: Any) -> Any:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    data = parquet({"a": [1, 2]})
    for name in ("ParquetFile.iter_batches", "ParquetFile"):
        with monkeypatch.context() as patch:
            patch.setattr(f"pyarrow.parquet.{name}", short)
            with pytest.raises(MemoryError, match="malloc of size 64 failed"):
                read_parquet(data)


FEW = st.dictionaries(st.text(max_size=5), st.text(max_size=8), min_size=1, max_size=12)
"""Together no more keys than a row may lack most of: objects with few of over a hundred keys are rejects."""


@given(st.lists(FEW, min_size=1, max_size=8))
def test_any_json_text_comes_back(objects: list[dict[str, str]]) -> None:
    found = read_json(json.dumps(objects))
    header = header_of(found)
    assert header == tuple(dict.fromkeys(key for item in objects for key in item))
    assert cells_of(found) == [item.get(key) for item in objects for key in header]


@pytest.mark.parametrize(
    ("values", "kind", "texts"),
    [
        (["Köln", "", None], pa.string(), ["Köln", "", None]),
        (["a", "b", None], pa.dictionary(pa.int8(), pa.string()), ["a", "b", None]),
        (["a", "b", None], pa.large_string(), ["a", "b", None]),
        ([1, -2, None], pa.int64(), ["1", "-2", None]),
        ([2**64 - 1], pa.uint64(), ["18446744073709551615"]),
        ([1.0, 0.1, 1e20, None, float("nan")], pa.float64(), ["1.0", "0.1", "1e+20", None, "nan"]),
        ([1.0, 0.1, None], pa.float32(), ["1.0", "0.1", None]),
        ([2023.0, -0.0, None, float("nan"), -7.0], pa.float64(), ["2023", "0", None, None, "-7"]),
        ([2.0, 3.0, None], pa.float16(), ["2", "3", None]),
        ([1.0, float("inf")], pa.float64(), ["1.0", "inf"]),
        ([1.0, 1e300], pa.float64(), ["1.0", "1e+300"]),
        (
            [datetime.datetime(2024, 5, 1), None, datetime.datetime(1, 1, 1)],
            pa.timestamp("us"),
            ["2024-05-01", None, "0001-01-01"],
        ),
        ([datetime.datetime(1969, 5, 1)], pa.timestamp("ns"), ["1969-05-01"]),
        ([datetime.datetime(2024, 5, 1)], pa.timestamp("ms", "UTC"), ["2024-05-01 00:00:00Z"]),
        ([True, False, None], pa.bool_(), ["true", "false", None]),
        ([decimal.Decimal("1.50"), None], pa.decimal128(5, 2), ["1.50", None]),
        ([datetime.date(2024, 5, 1), None], pa.date32(), ["2024-05-01", None]),
        ([datetime.datetime(2024, 5, 1, 12, 30), None], pa.timestamp("us"), ["2024-05-01 12:30:00", None]),
        ([datetime.datetime(2024, 5, 1, 12, 30, 1, 5)], pa.timestamp("us"), ["2024-05-01 12:30:01.000005"]),
        ([datetime.datetime(2024, 5, 1, 12, 30)], pa.timestamp("ms", "UTC"), ["2024-05-01 12:30:00Z"]),
        ([datetime.time(12, 30)], pa.time32("s"), ["12:30:00"]),
        ([b"\x00\xff", None], pa.binary(), ["00ff", None]),
        ([[1, 2], [], None], pa.list_(pa.int64()), ["[1, 2]", "[]", None]),
        ([{"a": "ü", "b": datetime.date(2024, 5, 1)}], None, ['{"a": "ü", "b": "2024-05-01"}']),
        ([None, None], pa.null(), [None, None]),
    ],
)
def test_every_type_has_one_text(values: list[Any], kind: pa.DataType | None, texts: list[str | None]) -> None:
    assert cells_of(read_parquet(parquet({"x": pa.array(values, kind)}))) == texts


def test_values_that_python_cannot_hold_have_a_text_too() -> None:
    far = pa.array([[10**18], [0]], pa.list_(pa.timestamp("us")))
    lost = pa.array([0, 1], pa.timestamp("s", "Mars/Base"))
    data = parquet({"far": far, "lost": lost})
    assert cells_of(read_parquet(data)) == [
        "<value out of range>",
        "1970-01-01 00:00:00Z",
        '["1970-01-01 00:00:00"]',
        "1970-01-01 00:00:01Z",
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_bytes_that_only_call_themselves_text(kind: pa.DataType) -> None:
    binary = pa.binary() if kind == pa.string() else pa.large_binary()
    column = pa.array([b"K\xf6ln", "Köln".encode(), None], binary).view(kind)
    assert cells_of(read_parquet(parquet({"town": column}))) == ["K\ufffdln", "Köln", None]


def test_parquet_is_given_row_by_row_in_chunks() -> None:
    data = parquet({"a": list(range(10)), "b": [f"x{n}" for n in range(10)]}, row_group_size=4)
    found = read_parquet(data, Limits(chunk_cells=6))
    assert header_of(found) == ("a", "b")
    assert cells_of(found) == [text for n in range(10) for text in (str(n), f"x{n}")]
    chunks = [item for item in found if isinstance(item, Chunk)]
    assert max(len(chunk.cells) for chunk in chunks) <= 6
    assert [chunk.first_row for chunk in chunks] == [0, 3, 4, 7, 8]  # a chunk ends where its row group does


def test_parquet_limits() -> None:
    data = parquet({"a": list(range(10)), "b": list(range(10))})
    assert rejects_of(read_parquet(data, Limits(columns=1))) == [
        (None, "file", "2 columns, more than the limit of 1", 1)
    ]
    found = read_parquet(data, Limits(rows=7, chunk_cells=6))
    assert len(cells_of(found)) == 14
    assert rejects_of(found) == [(8, "row", "beyond the limit of 7 rows", 3)]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (parquet({"a": pa.array([], pa.string())}), "no data rows"),
        (pa.BufferOutputStream().getvalue().to_pybytes(), "not a readable Parquet file"),
        (b"PAR1 nonsense PAR1", "not a readable Parquet file"),
        (b"id,town\n1,Bonn\n", "not a readable Parquet file"),
        (parquet({"a": list(range(1_000))})[:-20], "not a readable Parquet file"),
    ],
)
def test_parquet_that_is_no_table(data: bytes, reason: str) -> None:
    ((line, kind, found, count),) = rejects_of(read_parquet(data))
    assert (line, kind, count) == (None, "file", 1)
    assert found.startswith(reason)


def test_corrupt_parquet_data() -> None:
    data = bytearray(parquet({"a": [f"text {n}" for n in range(50_000)]}, compression="zstd", use_dictionary=False))
    data[60:2_000] = b"\xff" * 1_940
    ((_, kind, reason, _),) = rejects_of(read_parquet(bytes(data)))
    assert kind == "file"
    assert reason.startswith("corrupt Parquet data after 0 rows: ")


@pytest.mark.parametrize(
    ("values", "name", "reason"),
    [
        ([[1, 2], [3]], b"element", "not a readable Parquet file: "),
        ([{"b": 1}], b"b", "corrupt Parquet data after 0 rows: "),
    ],
)
def test_metadata_that_contradicts_the_schema(values: list[Any], name: bytes, reason: str) -> None:
    """Arrow ends the process where it is asked for the metadata of such a column."""
    may_be_null, never_null = (b"\x25" + kind + b"\x18" + bytes([len(name)]) + name for kind in (b"\x02", b"\x00"))
    data = parquet({"a": values})
    assert data.count(may_be_null) == 1
    data = data.replace(may_be_null, never_null)
    ((_, kind, found, _),) = rejects_of(read_parquet(data))
    assert kind == "file"
    assert found.startswith(f"{reason}Definition level histogram size mismatch")
    cutting = CUTTERS["parquet"]("t", io.BytesIO(data), Limits(), 1)
    assert cutting is None or len(cutting.spans) == 1


@pytest.mark.parametrize("inside", [False, True])
def test_a_time_zone_that_is_no_text(inside: bool) -> None:
    noon = pa.array([datetime.datetime(2026, 1, 1, 12)], pa.timestamp("us", "Europe/Rome"))
    data = parquet({"at": pa.StructArray.from_arrays([noon], ["when"]) if inside else noon})
    schema = pq.ParquetFile(io.BytesIO(data)).metadata.metadata[b"ARROW:schema"]
    spoiled = base64.b64encode(base64.b64decode(schema).replace(b"Europe/Rome", b"Eu\xf2ope/Rome"))
    assert spoiled != schema
    ((_, kind, reason, _),) = rejects_of(read_parquet(data.replace(schema, spoiled)))
    assert kind == "file"
    assert reason == "not a readable Parquet file: the name of a column or time zone is not UTF-8"


def test_what_arrow_says_of_damage_is_one_visible_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where parts of a file are read, whose rejects are put together elsewhere."""

    def fails(*_: object) -> None:
        raise pa.ArrowInvalid("do not know type \x0e.\nMore.")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fails)
    file = pq.ParquetFile(io.BytesIO(parquet({"a": ["x"]})))
    assert records.look_at(file, [0], Limits()).damage == "do not know type ␎"


def test_the_callers_stream_stays_open() -> None:
    stream = io.BytesIO(parquet({"a": [1]}))
    list(records.read_parquet("towns.parquet", stream))
    assert not stream.closed
