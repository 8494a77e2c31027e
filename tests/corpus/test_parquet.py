import base64
import datetime
import decimal
import io
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate.corpus import parquet
from mate.corpus.formats import File, cut_file
from mate.corpus.table import Chunk, Limits, Reject
from tests.corpus.reading import Found, cells_of, header_of, read_bytes, rejects_of


def file_of(columns: dict[str, Any], **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, **options)
    return out.getvalue()


def read(data: bytes, limits: Limits | None = None) -> Found:
    return read_bytes("parquet", data, limits)


def test_dictionaries_are_decoded_in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "CHARACTERS", 1_000)
    words = pa.array(["x" * 200, "y"] * 50).dictionary_encode()
    for column in (words, pa.ListArray.from_arrays(list(range(101)), words)):
        chunks = [item for item in read(file_of({"a": column})) if isinstance(item, Chunk)]
        assert sum(chunk.rows for chunk in chunks) == 100
        assert max(chunk.cells.nbytes for chunk in chunks) < 2_000


def test_long_lists_are_read_in_small_pieces_and_endless_ones_not_at_all() -> None:
    data = file_of({"a": [[0] * 1_000] * 900})
    chunks = [chunk for chunk in read(data, Limits(chunk_cells=50_000)) if isinstance(chunk, Chunk)]
    assert {chunk.rows for chunk in chunks} == {50}
    lists = pa.ListArray.from_arrays(
        pa.array(range(0, 6_000_001, 1_000_000), pa.int32()), pa.array(np.zeros(6_000_000, np.int8))
    )
    data = file_of({"a": lists, "b": list(range(6))})
    reason = f"6,000,000 values in lists, too many for a file of {len(data):,} bytes"
    assert rejects_of(read(data)) == [(None, "file", reason, 1)]


def test_short_memory_is_no_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    def short(*_: Any, **__: Any) -> Any:
        raise pa.ArrowMemoryError("malloc of size 64 failed")

    data = file_of({"a": [1, 2]})
    for name in ("ParquetFile.iter_batches", "ParquetFile"):
        with monkeypatch.context() as patch:
            patch.setattr(f"pyarrow.parquet.{name}", short)
            with pytest.raises(MemoryError, match="malloc of size 64 failed"):
                read(data)


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
    assert cells_of(read(file_of({"x": pa.array(values, kind)}))) == texts


def test_values_that_python_cannot_hold_have_a_text_too() -> None:
    far = pa.array([[10**18], [0]], pa.list_(pa.timestamp("us")))
    lost = pa.array([0, 1], pa.timestamp("s", "Mars/Base"))
    data = file_of({"far": far, "lost": lost})
    assert cells_of(read(data)) == [
        "<value out of range>",
        "1970-01-01 00:00:00Z",
        '["1970-01-01 00:00:00"]',
        "1970-01-01 00:00:01Z",
    ]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_bytes_that_only_call_themselves_text(kind: pa.DataType) -> None:
    binary = pa.binary() if kind == pa.string() else pa.large_binary()
    column = pa.array([b"K\xf6ln", "Köln".encode(), None], binary).view(kind)
    assert cells_of(read(file_of({"town": column}))) == ["K\ufffdln", "Köln", None]


def test_parquet_is_given_row_by_row_in_chunks() -> None:
    data = file_of({"a": list(range(10)), "b": [f"x{n}" for n in range(10)]}, row_group_size=4)
    found = read(data, Limits(chunk_cells=6))
    assert header_of(found) == ["a", "b"]
    assert cells_of(found) == [text for n in range(10) for text in (str(n), f"x{n}")]
    chunks = [item for item in found if isinstance(item, Chunk)]
    assert max(len(chunk.cells) for chunk in chunks) <= 6
    assert [chunk.first_row for chunk in chunks] == [0, 3, 4, 7, 8]  # a chunk ends where its row group does


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (file_of({"a": pa.array([], pa.string())}), "no data rows"),
        (pa.BufferOutputStream().getvalue().to_pybytes(), "not a readable Parquet file"),
        (b"PAR1 nonsense PAR1", "not a readable Parquet file"),
        (b"id,town\n1,Bonn\n", "not a readable Parquet file"),
        (file_of({"a": list(range(1_000))})[:-20], "not a readable Parquet file"),
    ],
)
def test_parquet_that_is_no_table(data: bytes, reason: str) -> None:
    ((line, kind, found, count),) = rejects_of(read(data))
    assert (line, kind, count) == (None, "file", 1)
    assert found.startswith(reason)


def test_corrupt_parquet_data() -> None:
    data = bytearray(file_of({"a": [f"text {n}" for n in range(50_000)]}, compression="zstd", use_dictionary=False))
    data[60:2_000] = b"\xff" * 1_940
    ((_, kind, reason, _),) = rejects_of(read(bytes(data)))
    assert kind == "file"
    assert reason.startswith("corrupt Parquet data after 0 rows: ")


@pytest.mark.parametrize(
    ("values", "name", "reason"),
    [
        ([[1, 2], [3]], b"element", "not a readable Parquet file: "),
        ([{"b": 1}], b"b", "corrupt Parquet data after 0 rows: "),
    ],
)
def test_metadata_that_contradicts_the_schema(tmp_path: Path, values: list[Any], name: bytes, reason: str) -> None:
    """Arrow ends the process where it is asked for the metadata of such a column."""
    may_be_null, never_null = (b"\x25" + kind + b"\x18" + bytes([len(name)]) + name for kind in (b"\x02", b"\x00"))
    data = file_of({"a": values})
    assert data.count(may_be_null) == 1
    data = data.replace(may_be_null, never_null)
    ((_, kind, found, _),) = rejects_of(read(data))
    assert kind == "file"
    assert found.startswith(f"{reason}Definition level histogram size mismatch")
    (tmp_path / "t").write_bytes(data)
    assert cut_file(File(str(tmp_path / "t"), "parquet"), Limits(), 1) is None


@pytest.mark.parametrize("inside", [False, True])
def test_a_time_zone_that_is_no_text(inside: bool) -> None:
    noon = pa.array([datetime.datetime(2026, 1, 1, 12)], pa.timestamp("us", "Europe/Rome"))
    data = file_of({"at": pa.StructArray.from_arrays([noon], ["when"]) if inside else noon})
    schema = pq.ParquetFile(io.BytesIO(data)).metadata.metadata[b"ARROW:schema"]
    spoiled = base64.b64encode(base64.b64decode(schema).replace(b"Europe/Rome", b"Eu\xf2ope/Rome"))
    assert spoiled != schema
    ((_, kind, reason, _),) = rejects_of(read(data.replace(schema, spoiled)))
    assert kind == "file"
    assert reason == "not a readable Parquet file: the name of a column or time zone is not UTF-8"


def test_what_arrow_says_of_damage_is_one_visible_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise pa.ArrowInvalid("do not know type \x0e.\nMore.")

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fails)
    [reject] = read(file_of({"a": ["x"]}))
    assert isinstance(reject, Reject)
    assert reject.reason == "corrupt Parquet data after 0 rows: do not know type ␎"
