"""Readers during changes see one state as a whole and keep it; of two writers one waits or is told so."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget, LakeWriter
from mate.errors import StoreError
from mate.lake import folder as lake_module
from mate.lake.folder import SEGMENTS, LakeFolder, open_folder
from mate.values.token_ids import token_ids
from tests.lakes import cells_of, codes_of, postings_of
from tests.updates.model import HASHES, ModelTable, build

ROOT = Path(__file__).parents[2]
ROWS = 12
CHANGES = 8


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An index of a table whose rows all say which version they are of."""
    path = tmp_path / "lake.mate"
    table = ModelTable("versions", ["version", "row"], [["version 0", f"row {n}"] for n in range(ROWS)])
    build(path, [table], hashes=HASHES[:2])
    return path


def change(store: Path, number: int) -> None:
    """Give all rows the next version, by one change."""
    updates = Updates(str(store))
    if number % 4 == 3:
        updates.compact()
    updates.update_cells(0, [(row, 0, f"version {number}") for row in range(ROWS)])


def version(index: LakeFolder) -> int:
    """Return which version an index is of; everything that it says must agree."""
    [seen] = {row[0] for row in cells_of(index, 0)}
    found = index.place_of(0)
    assert found
    segment = found[0]
    texts = [f"version {number}" for number in range(CHANGES + 1)]
    places = segment.places(token_ids(pa.array(texts)), pa.array(texts))
    [number] = [n for n, place in enumerate(places.tolist()) if place >= 0]
    assert texts[number] == seen
    for read in (postings_of, codes_of):
        rows = [row for token, table, column, row in read(segment.arrays) if token == places[number] and column == 0]
        assert rows == list(range(ROWS))
    assert (index.manifest.counts.rows, index.manifest.counts.cells) == (ROWS, 2 * ROWS)
    assert [table.rows for table in index.tables()] == [ROWS]
    return number


def watch(store: Path, done: threading.Event) -> list[int]:
    """Open the index again and again until the changes are done; each time it must stay what it was."""
    seen = []
    while True:
        last = done.is_set()
        with open_folder(store) as index:
            first = version(index)
            assert version(index) == first
            seen.append(first)
        if last:
            return seen


WATCHER = """
import json, pathlib, sys, threading
from tests.updates.test_concurrency import watch
class Done:
    def is_set(self):
        return pathlib.Path(sys.argv[2]).exists()
sys.stdout.write("ready\\n"); sys.stdout.flush()
sys.stdout.write(json.dumps(watch(pathlib.Path(sys.argv[1]), Done())))
"""


def test_readers_see_one_state_as_a_whole(store: Path, tmp_path: Path) -> None:
    flag = tmp_path / "done"
    command = [sys.executable, "-c", WATCHER, str(store), str(flag)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    assert process.stdout.readline() == "ready\n"
    done = threading.Event()
    with ThreadPoolExecutor(2) as pool, open_folder(store) as old:
        watchers = [pool.submit(watch, store, done) for _ in range(2)]
        try:
            for number in range(1, CHANGES + 1):
                change(store, number)
                assert version(old) == 0
        finally:
            done.set()
            flag.touch()
        seen = [watcher.result() for watcher in watchers]
    seen.append(json.loads(process.stdout.read()))
    assert process.wait() == 0
    for versions in seen:
        assert versions == sorted(versions)  # never back to an older state
        assert versions[-1] == CHANGES


WRITER = """
import sys
from mate.build.changes.updates import Updates
for number in range(int(sys.argv[3])):
    Updates(sys.argv[1], wait=120).append_rows(0, [[sys.argv[2], f"{sys.argv[2]} {number}"]])
"""


def test_two_writers_wait_for_each_other_and_lose_nothing(store: Path) -> None:
    each = 4
    processes = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(store), name, str(each)], cwd=ROOT)
        for name in ("one", "two")
    ]
    assert [process.wait() for process in processes] == [0, 0]
    with open_folder(store) as index:
        added = [row[1] for row in cells_of(index, 0)][ROWS:]
        assert sorted(added) == sorted(f"{name} {number}" for name in ("one", "two") for number in range(each))
        for name in ("one", "two"):
            assert [text for text in added if text.startswith(name)] == [f"{name} {number}" for number in range(each)]
        assert index.manifest.operations == 2 * each


@pytest.mark.parametrize("work", ["change", "build"])
def test_a_writer_that_must_not_wait_is_told(store: Path, work: str) -> None:
    first = LakeWriter(str(store), 0) if work == "change" else LakeTarget(store)
    with first:
        for wait, waited in ((0.0, ""), (0.05, r"; waited 0.05 s for it \(--wait\)")):
            with pytest.raises(StoreError, match=rf"another build or change of .* is under way{waited}$"):
                Updates(str(store), wait=wait).append_rows(0, [["x", "y"]])
            with pytest.raises(StoreError, match="another build or change"):
                Updates(str(store), wait=wait).compact()
        with pytest.raises(StoreError, match="another build or change of"), LakeTarget(store):
            pass
    Updates(str(store), wait=0).append_rows(0, [["x", "y"]])


def test_a_reader_opens_while_compaction_removes_segments(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its manifest and each of the files, one change after the other removes what it was to open."""
    change(store, 1)
    left = list(range(2, 5))
    real = lake_module.Segment.open

    def opened(path: Path, *rest: object) -> object:
        if left:
            number = left.pop(0)
            monkeypatch.setattr(lake_module.Segment, "open", real)
            change(store, number)
            Updates(str(store)).compact()
            monkeypatch.setattr(lake_module.Segment, "open", opened)
        return real(path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(lake_module.Segment, "open", opened)
    with open_folder(store) as index:
        assert version(index) == 4
    assert left == []


def test_a_reader_keeps_its_files_though_they_are_gone(store: Path) -> None:
    with open_folder(store) as index:
        for number in (1, 2, 3):
            change(store, number)
        Updates(str(store)).compact()
        assert not (store / SEGMENTS / index.manifest.segments[0].name).exists()
        assert version(index) == 0
        assert index.sources()[0]["source"] == "versions"


def test_threads_share_one_reader(store: Path) -> None:
    with open_folder(store) as index, ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: version(index), range(200))) == {0}
