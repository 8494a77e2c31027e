"""A folder, published in one step: who may build, what is left behind, and what is no index."""

from __future__ import annotations

import fcntl
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate.build import lake_target
from mate.build import segments as segments_module
from mate.build.build import BuildSettings, Summary, build
from mate.build.lake_target import LakeTarget
from mate.build.segments import SegmentPlan, write_segment
from mate.errors import CorpusError, MateError, StoreError
from mate.lake.folder import MANIFEST, SEGMENTS, open_folder
from mate.stores import open_index
from tests.conftest import BuildIndex, DumpIndex
from tests.lakes import cells_of

NO_SPARK = BuildSettings(master="none")
ROWS = [["Lee", "US"], ["Kim", "KR"]]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "a.csv").write_text("name,country\nLee,US\nKim,KR\n")
    return folder


def publish(lake: Path, store: Path) -> Summary:
    with LakeTarget(store) as target:
        return build([str(lake)], target, NO_SPARK)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def state(store: Path) -> dict[str, bytes]:
    """Every file of a lake."""
    return {str(path.relative_to(store)): path.read_bytes() for path in store.rglob("*") if path.is_file()}


SOUND = [".lock", MANIFEST, SEGMENTS]
"""What is in the folder of a lake that nobody is changing."""


# Where an index may go


def test_a_missing_folder_is_made_and_nothing_but_the_index_is_in_it(lake: Path, tmp_path: Path) -> None:
    summary = publish(lake, tmp_path / "new" / "folder" / "a.mate")
    assert names(tmp_path / "new" / "folder") == ["a.mate"]
    assert names(tmp_path / "new" / "folder" / "a.mate") == SOUND
    assert names(tmp_path / "new" / "folder" / "a.mate" / SEGMENTS) == [summary.manifest.segments[0].name]


@pytest.mark.parametrize("master", ["local[2]", "none"])
@pytest.mark.parametrize(
    "name", ['my "lake" [v2].mate', "what?.mate", "back\\slash", "a=1", "file:x", "synthetic:x", " ", "-x", "Ünï ☃"]
)
def test_odd_names(build_index: BuildIndex, lake: Path, tmp_path: Path, master: str, name: str) -> None:
    store = tmp_path / "o'dd [1] {a,b} * %20#ü, $x" / name
    build_index(lake, store, master=master, segments=2)
    with open_index(str(store)) as index:
        assert cells_of(index, 0) == ROWS  # type: ignore[arg-type]
        assert index.address == str(store)
    assert names(store) == SOUND


def test_a_relative_address(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.mate", "c:d.mate"):
        publish(lake, Path(name))
        assert cells_of(open_folder(name), 0) == ROWS


def test_a_file_is_no_place_for_a_lake(lake: Path) -> None:
    with pytest.raises(StoreError, match="is a file; --store takes the path of a folder"):
        publish(lake, lake / "a.csv")
    with pytest.raises(StoreError, match="cannot write to"):
        publish(lake, lake / "a.csv" / "a.mate")
    assert names(lake) == ["a.csv"]


def test_a_folder_with_other_things_in_it_is_left_alone(lake: Path, tmp_path: Path) -> None:
    before = state(tmp_path)
    for folder in (lake, tmp_path):
        with pytest.raises(StoreError, match=r"is a folder with other things in it \(.*\): name a new folder"):
            publish(lake, folder)
    assert state(tmp_path) == before


@pytest.mark.parametrize("others", [["index.html"], ["segments/mine"], []])
def test_a_manifest_of_something_else_is_left_alone(lake: Path, tmp_path: Path, others: list[str]) -> None:
    store = tmp_path / "extension"
    for name in (*others, MANIFEST):
        (store / name).parent.mkdir(parents=True, exist_ok=True)
        (store / name).write_text('{"name": "an extension", "manifest_version": 3}')
    before = state(store)
    with pytest.raises(StoreError, match="is a folder with other things in it"):
        publish(lake, store)
    assert state(store) == before


def test_things_beside_a_lake_do_not_keep_it_from_being_built_again(lake: Path, tmp_path: Path) -> None:
    publish(lake, tmp_path / "a.mate")
    (tmp_path / "a.mate" / "README").write_text("notes")
    publish(lake, tmp_path / "a.mate")
    assert names(tmp_path / "a.mate") == [*SOUND[:1], "README", *SOUND[1:]]


def test_links_are_followed_to_the_lake_and_nowhere_else(lake: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link.mate").symlink_to("real")
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("x")
    (tmp_path / "real" / ".lock").touch()
    (tmp_path / "real" / ".build").symlink_to(precious)
    publish(lake, tmp_path / "link.mate")
    assert (tmp_path / "link.mate").is_symlink()
    assert names(tmp_path / "real") == SOUND
    assert names(precious) == ["file"]
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(StoreError, match="cannot write to"):
        publish(lake, tmp_path / "dangling")
    (tmp_path / "real" / ".lock").unlink()
    (tmp_path / "real" / ".lock").symlink_to(precious / "file")
    with pytest.raises(StoreError, match="cannot write to"):
        publish(lake, tmp_path / "link.mate")
    assert (precious / "file").read_text() == "x"


def test_a_lake_inside_the_folder_that_is_indexed_is_not_read(lake: Path) -> None:
    store = lake / "lake.mate"
    for _ in range(2):
        publish(lake, store)
        with open_folder(store) as index:
            assert [Path(record["source"]).name for record in index.sources()] == ["a.csv"]
            assert index.rejects() == []
    with pytest.raises(CorpusError, match="no file found"):
        publish(store, lake / "other.mate")


# One build at a time


def test_a_second_build_of_the_same_store_is_refused(lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.mate"
    with LakeTarget(store) as first:
        (first.directory / "file").write_text("x")
        with pytest.raises(StoreError, match=r"another build or change of .*a\.mate is under way"):
            publish(lake, store)
        assert (first.directory / "file").exists()
        publish(lake, tmp_path / "b.mate")
    assert names(tmp_path) == ["b.mate", "lake"]  # nothing was published in the first
    publish(lake, store)
    assert names(tmp_path) == ["a.mate", "b.mate", "lake"]


def test_the_lock_of_a_build_that_ends_at_that_moment_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "a.mate"
    ending = LakeTarget(store).__enter__()
    real = fcntl.flock

    def flock(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        ending.__exit__()  # after the lock's file was opened, before it is locked
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with LakeTarget(store) as second:
        assert second.directory.is_dir()
        with pytest.raises(StoreError, match="under way"), LakeTarget(store):
            pass
    assert names(tmp_path) == []


def test_what_a_killed_build_left_is_removed_by_the_next(lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.mate"
    remains = store / ".build" / "0123456789ab" / "staged"
    remains.mkdir(parents=True)
    (remains / "000000.codes").write_bytes(b"half")
    (store / SEGMENTS / "0000-dead").mkdir(parents=True)
    (store / ".lock").touch()
    with LakeTarget(store) as target:  # before the build needs the room
        assert names(store / ".build") == [target.directory.name]
        assert names(store / SEGMENTS) == []
    publish(lake, store)
    assert names(store) == SOUND
    assert len(names(store / SEGMENTS)) == 1


# Published at once, or not at all


@pytest.mark.parametrize("step", ["loader", "publish"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(13, "Permission denied"), StoreError("no way")])
def test_a_build_that_fails_leaves_the_old_index_and_nothing_else(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    store = tmp_path / "a.mate"
    publish(lake, store)
    before = state(store)

    def fail(*_: Any) -> Any:
        raise error

    (lake / "b.csv").write_text("name,country\nSøren,DK\n")
    monkeypatch.setattr(LakeTarget, step, fail)
    expected = MateError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected) as raised:
        publish(lake, store)
    assert "\n" not in str(raised.value)
    assert state(store) == before
    assert names(store) == SOUND


def test_a_task_that_is_tried_again_finds_what_it_needs(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dump_index: DumpIndex
) -> None:
    """Spark runs a task again if its executor died, or beside a slow one: both write, one of them counts."""
    publish(lake, tmp_path / "once.mate")
    folders: list[str] = []

    def twice(plan: SegmentPlan, directory: str, hashes: Any) -> Any:
        folders.append(write_segment(plan, directory, hashes).folder)
        (Path(directory) / "0000-torn").mkdir()  # and once it died half-way
        return write_segment(plan, directory, hashes)

    monkeypatch.setattr(segments_module, "write_segment", twice)
    summary = publish(lake, tmp_path / "twice.mate")
    assert names(tmp_path / "twice.mate" / SEGMENTS) == [summary.manifest.segments[0].name]
    assert Path(folders[0]).name not in names(tmp_path / "twice.mate" / SEGMENTS)
    assert names(tmp_path / "twice.mate") == SOUND
    assert dump_index(tmp_path / "twice.mate") == dump_index(tmp_path / "once.mate")


def test_cells_are_copied_where_they_cannot_be_linked(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    publish(lake, tmp_path / "a.mate")
    assert cells_of(open_folder(tmp_path / "a.mate"), 0) == ROWS


# What is no index


def replaced(old: str, new: str) -> Callable[[Path], None]:
    return lambda store: (store / MANIFEST).write_text((store / MANIFEST).read_text().replace(old, new)) and None


def write(text: str | bytes) -> Callable[[Path], None]:
    return lambda store: (store / MANIFEST).write_bytes(text.encode() if isinstance(text, str) else text) and None


def missing(store: Path) -> None:
    shutil.rmtree(store)


def a_file(content: bytes) -> Callable[[Path], None]:
    def spoil(store: Path) -> None:
        shutil.rmtree(store)
        store.write_bytes(content)

    return spoil


def without_segments(store: Path) -> None:
    shutil.rmtree(store / SEGMENTS)


SPOILED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (missing, r"there is no index at .*; build one with: mate index PATH --store"),
    "no manifest": (lambda store: (store / MANIFEST).unlink(), "is a folder without an index: it has no manifest.json"),
    "a text": (a_file(b"hello, world\n" * 9), "is a file; an index is a folder, made by: mate index PATH --store"),
    "an empty file": (a_file(b""), "is a file; an index is a folder"),
    "empty": (write(""), "has a manifest that cannot be read"),
    "no JSON": (write("{"), "has a manifest that cannot be read"),
    "no object": (write("[]"), "has a manifest that cannot be read"),
    "NULL": (write("null"), "has a manifest that cannot be read"),
    "binary": (write(b"\xff\xfe"), "is damaged: it is not text"),
    "newer": (replaced('"format": 2', '"format": 99'), "has format 99, .* reads format 2: upgrade MATE"),
    "edited": (replaced('"tables": 1', '"tables": 2'), "does not have its checksum"),
    "no segments": (without_segments, r"cannot be read .*: mate check --repair"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_no_index_is_a_clear_error(lake: Path, tmp_path: Path, what: str) -> None:
    store = tmp_path / "a.mate"
    publish(lake, store)
    spoil, message = SPOILED[what]
    spoil(store)
    with pytest.raises(StoreError, match=message) as error:
        open_folder(store)
    assert str(store) in str(error.value)
    assert "\n" not in str(error.value)
    if store.is_file():
        store.unlink()
    publish(lake, store)  # what stands there does not keep a new index from being built
    with open_folder(store) as index:
        assert index.manifest.counts.tables == 1
    assert len(names(store / SEGMENTS)) == 1


def test_the_name_of_a_new_lake_is_on_disk(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(lake_target, "sync_folder", synced.append)
    store = tmp_path / "new" / "newer" / "a.mate"
    publish(lake, store)
    assert {tmp_path, tmp_path / "new", tmp_path / "new" / "newer"} <= set(synced)
    synced.clear()
    publish(lake, store)
    assert synced == [store / SEGMENTS]
