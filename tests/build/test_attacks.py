"""Files and folders made to stop a build, to fill memory, or to make it delete what is not ours."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate.build import session, stage
from mate.build.build import BuildSettings, Summary, build
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.build.sources import FileSource, Item
from mate.corpus import READERS, Chunk, File, Limits, Reject, delimited, dwtc, json_records, parquet, read
from mate.corpus.encoding import TextEncoding
from mate.errors import StoreError
from mate.lake.folder import open_folder
from tests.lakes import cells_of, sync

GOOD = "name,city\nLee,Bonn\nKim,Ulm\n"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "good.csv").write_text(GOOD)
    return folder


def index(lake: Path, **settings: object) -> tuple[Summary, dict[str, str]]:
    """Build; return the summary and the reason of every reject by file name."""
    store = lake.with_suffix(".mate")
    with LakeTarget(store) as target:
        summary = build([str(lake)], target, BuildSettings(**{"master": "none", **settings}))  # type: ignore[arg-type]
    with open_folder(store) as opened:
        assert cells_of(opened, opened.tables_named("good")[0])[0] == ["Lee", "Bonn"]
        return summary, {Path(reject["source"]).name: reject["reason"] for reject in opened.rejects()}


def broken_name() -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table({"abcdefgh": ["x"], "b": ["y"]}), stream)
    return stream.getvalue().to_pybytes().replace(b"abcdefgh", b"abcd\xff\xfegh")


def parquet_file(word: str) -> bytes:
    stream = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [word], "y": [1]}), stream)
    return stream.getvalue().to_pybytes()


# One file never stops a build


@pytest.mark.parametrize("data", [b"\n,\n", b"\n1\n2\n3\n,q", b"\n\n\n,,,\n", b",\n\n", b'"\n', b"\r\r,\r", b"\n \n;"])
def test_small_files_that_have_no_header(lake: Path, data: bytes) -> None:
    (lake / "a.csv").write_bytes(data)
    summary, rejects = index(lake)
    assert summary.manifest.counts.tables + len(rejects) == 2
    assert not any("Error" in reason for reason in rejects.values())


def test_a_parquet_file_with_a_broken_column_name(lake: Path) -> None:
    (lake / "a.parquet").write_bytes(broken_name())
    assert "name of a column or time zone is not UTF-8" in index(lake)[1]["a.parquet"]


def test_file_names_that_are_no_text(lake: Path) -> None:
    (lake / os.fsdecode(b"\xff\xfe.csv")).write_text(GOOD)
    assert index(lake)[1] == {r"\xff\xfe.csv": "the name of this file is not valid UTF-8: rename it"}
    assert not Updates(str(lake.with_suffix(".mate"))).compare([str(lake)])


@pytest.mark.parametrize("master", ["none", "local[2]"])
def test_a_reader_that_fails_in_a_way_nobody_thought_of(
    lake: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, master: str
) -> None:
    if master != "none":
        request.getfixturevalue("spark")

    def fails(source: str, *_: object) -> Iterator[Chunk | Reject]:
        raise ZeroDivisionError(f"division\nby zero in {source}")
        yield

    if master == "none":
        monkeypatch.setitem(READERS, "json", fails)  # type: ignore[arg-type]
    (lake / "a.json").write_text('{"a": 1}\n' if master == "none" else '{"a": 9' + "9" * 5_000 + "}\n")
    reason = index(lake, master=master)[1]["a.json"]
    assert reason == "cannot be read: ZeroDivisionError: division" if master == "none" else "too long" in reason


def test_what_only_looks_like_a_file_is_reported(lake: Path) -> None:
    (lake / "dangling.csv").symlink_to("nowhere.csv")
    (lake / "loop.csv").symlink_to("loop.csv")
    (lake / "folder").symlink_to(lake)
    os.mkfifo(lake / "pipe.csv")
    (lake / "link.csv").symlink_to("good.csv")
    summary, rejects = index(lake)
    assert summary.manifest.counts.tables == 2
    assert rejects == {
        "dangling.csv": "a link to nothing",
        "loop.csv": "cannot be read: Too many levels of symbolic links",
        "folder": "a link to a folder, which is not followed: name the folder itself",
        "pipe.csv": "no regular file but a pipe, a socket or a device",
    }
    with open_folder(lake.with_suffix(".mate")) as opened:
        assert all(len(record["sha256"]) == 64 for record in opened.sources())


def test_a_disk_that_fails_while_it_is_read(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (lake / "a.csv").write_text(GOOD)

    real = Path.open

    def fails(path: Path, *rest: Any, **more: Any) -> Any:
        if path.name == "a.csv":
            raise OSError(5, "Input/output error")
        return real(path, *rest, **more)

    monkeypatch.setattr(Path, "open", fails)
    assert index(lake)[1] == {"a.csv": "cannot be read: Input/output error"}


# Limits before expansion


def dwtc_record(relation: list[list[str]], **more: object) -> bytes:
    return json.dumps({"relation": relation, "tableType": "RELATION", "hasHeader": True, **more}).encode()


@pytest.mark.parametrize("position", ["FIRST_ROW", "FIRST_COLUMN", "NONE"])
def test_web_tables_of_empty_columns(position: str) -> None:
    for empty, full in ((20_000, 20_000), (1_500, 1_000_000)):
        record = dwtc_record([["x"] * full, *([[]] * empty)], headerPosition=position)
        reading = dwtc.ShardReader("a.json", Limits())
        [reject] = reading.record(1, record)
        assert isinstance(reject, Reject)
        assert "columns" in reject.reason


def test_a_row_of_one_cell_in_a_wide_table(lake: Path) -> None:
    header = ",".join(f"c{n}" for n in range(1_000))
    full = ",".join("x" for _ in range(1_000))
    (lake / "a.csv").write_text(f"{header}\n{full}\n{full}\n{full}\n1\n1,2\n" + ",".join("x" * 11) + "\n")
    summary, rejects = index(lake)
    assert rejects["a.csv"] == "too few cells to be a row of 1000"
    assert summary.manifest.counts.rows == 2 + 4


def test_one_long_string_in_an_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_records, "LONGEST_RECORD", 1 << 21)
    data = gzip.compress(b'[{"a":"' + b"x" * (64 << 20) + b'"}]')
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    import io

    [reject] = read(File("a.json.gz", "json"), opened=lambda: io.BytesIO(data))
    assert isinstance(reject, Reject)
    assert reject.reason == "a record of more than 2 MB"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000


def test_text_of_a_batch_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(parquet, "CHARACTERS", 10_000)
    monkeypatch.setattr(stage, "BATCH_BYTES", 20_000)
    texts = [str(n) * 500 for n in range(100)]
    pq.write_table(pa.table({"a": texts, "b": texts}), tmp_path / "a.parquet")
    with LakeTarget(tmp_path / "a.mate") as target:
        build([str(tmp_path / "a.parquet")], target, BuildSettings(master="none"))
    with open_folder(tmp_path / "a.mate") as opened:
        assert cells_of(opened, 0) == [[text, text] for text in texts]
        assert len(opened.segments[0].folder.pieces.rows) > 5


# Files that change


FILES = {
    "a.csv": (b"x,y\nold,1\n", b"x,y\nnew,1\n"),
    "a.jsonl": (b'{"x": "old", "y": 1}\n', b'{"x": "new", "y": 1}\n'),
    "a.csv.gz": (gzip.compress(b"x,y\nold,1\n", mtime=0), gzip.compress(b"x,y\nnew,1\n", mtime=0)),
    "a.parquet": (parquet_file("old"), parquet_file("new")),
    "a.zzz": (b"old", b"new"),
}
"""Two versions of files, of one size each."""


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("after", ["before", "first", "last"])
def test_a_file_that_is_rewritten_while_it_is_read(
    lake: Path, monkeypatch: pytest.MonkeyPatch, name: str, after: str
) -> None:
    """Same size, other bytes, at the worst moments: what is indexed is one version, or the file is a reject.

    In both cases `mate sync` reads the file again.
    """
    old, new = FILES[name]
    path = lake / name
    path.write_bytes(old)
    real = FileSource.read

    def read(source: FileSource, limits: Limits) -> Iterator[Item]:
        items = real(source, limits)
        if source.name != str(path):
            yield from items
            return
        if after == "before":
            path.write_bytes(new)
        for item in items:
            if after == "first":
                path.write_bytes(new)
            yield item
        path.write_bytes(new)

    monkeypatch.setattr(FileSource, "read", read)
    _, rejects = index(lake)
    monkeypatch.undo()
    rejects.pop("a.zzz", None)
    updates = Updates(str(lake.with_suffix(".mate")))
    difference = updates.compare([str(lake)])
    with open_folder(lake.with_suffix(".mate")) as opened:
        [record] = opened.sources([str(path)])
        tables = [cells_of(opened, number) for number in opened.tables_named("a")]
    if record["sha256"]:
        version = {hashlib.sha256(data).hexdigest(): word for data, word in ((old, "old"), (new, "new"))}
        word = version[record["sha256"]]
        assert tables == ([] if name == "a.zzz" else [[[word, "1"]]])
        assert not rejects
        assert [source.name for source in difference.changed] == ([str(path)] if word == "old" else [])
    else:
        assert rejects == {name: "changed while it was read; mate sync reads it again"}
        assert [source.name for source in difference.changed] == [str(path)]
    updates.apply(difference)
    with open_folder(lake.with_suffix(".mate")) as opened:
        tables = [cells_of(opened, number) for number in opened.tables_named("a")]
        assert tables == ([] if name == "a.zzz" else [[["new", "1"]]])
        assert [Path(reject["source"]).name for reject in opened.rejects()] == (["a.zzz"] if name == "a.zzz" else [])
    assert not updates.compare([str(lake)])


def test_a_file_that_is_rewritten_between_its_passes_is_a_reject(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The encoding is found in one version, the rows in another: no version has these rows in this encoding."""
    path = lake / "a.csv"
    path.write_text("x,y\nold,1\n")
    real = delimited.find_encoding

    def rewriting(reopen: Callable[[], BinaryIO], named: str | None = None) -> TextEncoding:
        found = real(reopen, named)
        if path.read_text() == "x,y\nold,1\n" and next(reopen()) == b"x,y\n":
            path.write_text("x,y\nnew,1\n")
        return found

    monkeypatch.setattr(delimited, "find_encoding", rewriting)
    _, rejects = index(lake)
    assert rejects == {"a.csv": "changed while it was read; mate sync reads it again"}
    with open_folder(lake.with_suffix(".mate")) as opened:
        assert [record["sha256"] for record in opened.sources([str(path)])] == [""]
    assert [table.name for table in sync(Updates(str(lake.with_suffix(".mate"))), [str(lake)]).changed] == ["a"]


def test_a_file_and_a_link_to_it_are_two_sources(lake: Path) -> None:
    (lake / "link.csv").symlink_to("good.csv")
    index(lake)
    updates = Updates(str(lake.with_suffix(".mate")))
    assert not updates.compare([str(lake)])
    (lake / "good.csv").write_text("name,city\nLee,Kiel\n")
    assert sorted(table.name for table in sync(updates, [str(lake)]).changed) == ["good", "link"]
    with open_folder(lake.with_suffix(".mate")) as opened:
        assert [cells_of(opened, table.table_id) for table in opened.tables()] == [[["Lee", "Kiel"]]] * 2
    (lake / "link.csv").unlink()
    assert [Path(name).name for name in updates.compare([str(lake)]).gone] == ["link.csv"]
    (lake / "link.csv").symlink_to("nothing.csv")
    report = sync(updates, [str(lake)])
    assert [table.name for table in report.removed] == ["link"]


# Places that others may have prepared


@pytest.mark.parametrize("place", [".build", "segments", ".manifest.json.new"])
def test_a_link_where_we_write_is_not_followed(lake: Path, tmp_path: Path, place: str) -> None:
    index(lake)
    store = lake.with_suffix(".mate")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("mine")
    if place == "segments":
        (store / "segments").rename(tmp_path / "moved")
    (store / place).symlink_to(precious / "file" if place.endswith("new") else precious)
    if place == "segments":
        with pytest.raises(StoreError, match="is a link or somebody else's"):
            index(lake)
    else:
        index(lake)
    assert {path.name: path.read_text() for path in precious.iterdir()} == {"file": "mine"}


def test_work_folders_are_private(lake: Path) -> None:
    index(lake)
    with LakeTarget(lake.with_suffix(".mate")) as workspace:
        for folder in (workspace.directory, workspace.directory.parent):
            found = folder.lstat()
            assert (stat.S_IMODE(found.st_mode), found.st_uid) == (0o700, os.geteuid())


def test_a_folder_of_somebody_else_is_refused(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index(lake)
    monkeypatch.setattr(os, "geteuid", lambda: 12_345)
    with pytest.raises(StoreError, match="is a link or somebody else's"), LakeTarget(lake.with_suffix(".mate")):
        pass


def test_scratch_folders_of_others_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    precious, theirs = tmp_path / "precious", tmp_path / "mate-spark-theirs"
    precious.mkdir()
    theirs.mkdir()
    (tmp_path / "mate-spark-link").symlink_to(precious)
    monkeypatch.setattr(session.tempfile, "tempdir", str(tmp_path))
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    with session._scratch_folder():
        pass
    assert theirs.exists()
    assert precious.exists()
    monkeypatch.undo()
    monkeypatch.setattr(session.tempfile, "tempdir", str(tmp_path))
    with session._scratch_folder():
        pass
    assert not theirs.exists()
    assert precious.exists()


# The end of a process

MATE = [sys.executable, "-c", "import sys; from mate.cli.program import main; sys.exit(main())"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_build_that_is_ended_cleans_up(lake: Path, number: signal.Signals) -> None:
    (lake / "b.csv").write_text("a,b,c\n" + "".join(f"v{n},w{n % 97},z{n * 7}\n" for n in range(600_000)))
    store = lake.with_suffix(".mate")
    command = [*MATE, "index", str(lake), "--store", str(store), "--master", "none"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while not any(store.glob(".build/*/staged")):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(number)
    assert process.communicate()[1] == "mate: interrupted\n"
    assert process.returncode == 130
    assert not store.exists()


def test_little_memory_is_one_line(lake: Path) -> None:
    (lake / "b.csv").write_text("a,b,c\n" + "".join(f"v{n},w{n % 97},z{n * 7}\n" for n in range(400_000)))
    limited = (
        "import resource, sys; from mate.cli.program import main; import mate.build.build\n"
        "own = int(open('/proc/self/statm').read().split()[0]) * 4096 + {0}\n"
        "resource.setrlimit(resource.RLIMIT_AS, (own, own)); sys.exit(main())"
    )
    store = lake.with_suffix(".mate")
    for room in (1 << 20, 20 << 20, 60 << 20):
        command = ["index", str(lake), "--store", str(store), "--master", "none"]
        program = [sys.executable, "-c", limited.format(room), *command]
        done = subprocess.run(program, capture_output=True, text=True, check=False)
        lines = [line for line in done.stderr.splitlines() if not line.startswith("OpenBLAS")]
        assert done.returncode == 2, done.stderr
        assert len(lines) == 1, done.stderr
        assert "not enough memory" in lines[0]
        assert not store.exists()
