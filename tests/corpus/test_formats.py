import gzip
import io
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate.corpus import READERS, Chunk, File, Limits, Reject, detect, discover, read
from mate.errors import CorpusError
from tests.corpus.reading import cells_of, read_bytes, rejects_of

CSV = b"id,town\n1,Bonn\n2,Ulm\n"
DWTC = json.dumps({"relation": [["a", "1"]], "headerPosition": "FIRST_ROW"}).encode()
OBJECTS = b'[{"id": 1}]'


@pytest.mark.parametrize(
    ("path", "head", "name"),
    [
        ("a.csv", CSV, "delimited"),
        ("A.TSV", CSV, "delimited"),
        ("a.txt", CSV, "delimited"),
        ("a.csv.gz", gzip.compress(CSV, mtime=0), "delimited"),
        ("a.csv.xz", b"", "delimited"),
        ("a.gz", gzip.compress(CSV, mtime=0), "delimited"),
        ("a.json", DWTC, "dwtc"),
        ("dwtc-000.json.gz", gzip.compress(DWTC, mtime=0), "dwtc"),
        ("dwtc-000.json.gz", gzip.compress(DWTC * 9_000, mtime=0)[:9_000], "dwtc"),
        ("dwtc-000.gz", gzip.compress(DWTC, mtime=0), "dwtc"),
        ("a.json", OBJECTS, "json"),
        ("a.jsonl", b'{"id": 1}\n', "json"),
        ("records", OBJECTS, "json"),
        ("a.parquet", b"", "parquet"),
        ("a.bin", b"PAR1....", "parquet"),
        ("a.csv", b"PAR1....", "parquet"),
        ("a.png", b"\x89PNG", None),
        ("a.md", b"# title", None),
        ("a.zip", b"PK\x03\x04", None),
        ("LICENSE", b"MIT", None),
        ("a.tar.gz", gzip.compress(b"x", mtime=0), None),
    ],
)
def test_formats_are_found_by_ending_and_content(path: str, head: bytes, name: str | None) -> None:
    assert detect(path, head) == name


def lake(folder: Path) -> Path:
    (folder / "b").mkdir()
    (folder / ".git").mkdir()
    for path in ("b/towns.csv", "a.csv", ".hidden.csv", ".git/config.csv"):
        (folder / path).write_bytes(CSV)
    (folder / "b/shard.json.gz").write_bytes(gzip.compress(DWTC, mtime=0))
    (folder / "picture.png").write_bytes(b"\x89PNG")
    return folder


def test_discover_lists_every_visible_file_sorted(tmp_path: Path) -> None:
    found = discover([lake(tmp_path)])
    assert [(Path(file.path).relative_to(tmp_path).as_posix(), file.format) for file in found] == [
        ("a.csv", "delimited"),
        ("b/shard.json.gz", "dwtc"),
        ("b/towns.csv", "delimited"),
        ("picture.png", None),
    ]


FETCHED = b"file,url,title,licence,dataset,checksum,size,status,reason\na.csv,http://x,t,l,d,c,1,fetched,\n"


@pytest.mark.parametrize(
    ("files", "listed"),
    [
        ({"checksums.sha256": b"", "a.csv": CSV, "b.csv.part": CSV, "sources.csv": FETCHED}, ["a.csv"]),
        ({".b.csv.part.json": b"{}", "a.csv": CSV, "b.csv.part": CSV}, ["a.csv"]),
        ({"a.csv": CSV, "sources.csv": FETCHED.replace(b"\n", b"\r\n")}, ["a.csv"]),
        ({"checksums.sha256": b"", "sources.csv": CSV}, ["sources.csv"]),
        ({"a.csv": CSV, "b.csv.part": CSV, "sources.csv": b""}, ["a.csv", "b.csv.part", "sources.csv"]),
        ({"list.csv": FETCHED, "SOURCES.CSV": FETCHED}, ["SOURCES.CSV", "list.csv"]),
    ],
    ids=["all", "unfinished only", "list only", "somebody's list", "somebody's part", "other names"],
)
def test_what_fetch_writes_for_itself_is_left_out(tmp_path: Path, files: dict[str, bytes], listed: list[str]) -> None:
    (tmp_path / "sub").mkdir()
    for name, data in files.items():
        (tmp_path / "sub" / name).write_bytes(data)
    assert [Path(file.path).name for file in discover([tmp_path])] == listed
    every = [tmp_path / "sub" / name for name in files]
    assert len(discover(every)) == len(files)  # what is named is taken


def test_a_file_named_twice_or_hidden_is_listed_once(tmp_path: Path) -> None:
    lake(tmp_path)
    hidden = str(tmp_path / ".hidden.csv")
    assert discover([hidden, hidden]) == [File(hidden, "delimited")]


def test_a_given_format_holds_for_every_file(tmp_path: Path) -> None:
    assert {file.format for file in discover([lake(tmp_path)], "json")} == {"json"}


def test_links_to_folders_and_pipes_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe.csv")
    assert [(Path(file.path).name, bool(file.problem)) for file in discover([tmp_path])] == [
        ("a.csv", False),
        ("loop", True),
        ("pipe.csv", True),
    ]


def test_what_cannot_be_discovered(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="missing: no such file or folder"):
        discover([tmp_path / "missing"])
    with pytest.raises(CorpusError, match="no file found"):
        discover([tmp_path])
    with pytest.raises(CorpusError, match='unknown format "dwct": did you mean "dwtc"'):
        discover([lake(tmp_path)], "dwct")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(CSV)
    (tmp_path / "a.csv").chmod(0)
    [file] = discover([tmp_path])
    assert file.problem == "cannot be read: Permission denied"


def test_read_chooses_the_reader(tmp_path: Path) -> None:
    files = {"a.csv": CSV, "b.json": DWTC, "c.json": OBJECTS, "d.parquet": parquet_of({"id": ["1"]})}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    found = discover([tmp_path])
    assert {file.format for file in found} == set(READERS)
    assert all(isinstance(item, Chunk) for file in found for item in read(file))


@pytest.mark.parametrize(
    ("name", "reason"),
    [("a.png", "unsupported file type .png"), ("LICENSE", "unsupported file type without an ending")],
)
def test_a_file_without_a_reader_is_a_reject(name: str, reason: str) -> None:
    assert list(read(File(name, None))) == [Reject(name, None, "file", reason)]


def test_a_file_that_is_gone_is_a_reject(tmp_path: Path) -> None:
    path = str(tmp_path / "gone.csv")
    assert list(read(File(path, "delimited"))) == [
        Reject(path, None, "file", "cannot be read: No such file or directory")
    ]


def parquet_of(columns: dict[str, list[str]]) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out)
    return out.getvalue()


DIGITS = list("0123456789")
TEN_ROWS = {
    "delimited": ("a,b\n" + "".join(f"{n},{n}\n" for n in DIGITS)).encode(),
    "dwtc": json.dumps({"relation": [["a", *DIGITS], ["b", *DIGITS]]}).encode(),
    "json": json.dumps([{"a": n, "b": n} for n in DIGITS]).encode(),
    "parquet": parquet_of({"a": DIGITS, "b": DIGITS}),
}


@pytest.mark.parametrize(("format", "data"), TEN_ROWS.items())
def test_every_format_keeps_to_the_limits_and_leaves_the_stream_open(format: str, data: bytes) -> None:
    [(_, _, reason, count)] = rejects_of(read_bytes(format, data, Limits(columns=1)))
    assert (reason, count) == ("2 columns, more than the limit of 1", 1)
    stream = io.BytesIO(data)
    found = list(READERS[format]("towns", stream, Limits(rows=7, chunk_cells=6)))
    assert [(item.first_row, item.rows) for item in found if isinstance(item, Chunk)] == [(0, 3), (3, 3), (6, 1)]
    assert cells_of(found) == [n for n in DIGITS[:7] for _ in "ab"]
    assert rejects_of(found) == [(1 if format == "dwtc" else 8, "row", "beyond the limit of 7 rows", 3)]
    assert not stream.closed
