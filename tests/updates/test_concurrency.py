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

from mate.build.duckdb_target import DuckDBTarget
from mate.build.updates import Updates, writer_of
from mate.errors import StoreError
from mate.store import IndexStore, open_store
from mate.store.base import as_ids
from tests.updates.model import HASHES, ModelTable, build

ROOT = Path(__file__).parents[2]
ROWS = 12
CHANGES = 8


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """An index of a table whose rows all say which version they are of."""
    path = tmp_path / "lake.duckdb"
    table = ModelTable("versions", ["version", "row"], [["version 0", f"row {n}"] for n in range(ROWS)])
    build(path, [table], "per_cell", hashes=HASHES[:2])
    return path


def change(store: Path, number: int) -> None:
    """Give all rows the next version, by one change."""
    updates = Updates(str(store))
    if number % 4 == 3:
        updates.compact()
    updates.update_cells(0, [(row, 0, f"version {number}") for row in range(ROWS)])


def version(index: IndexStore) -> int:
    """Return which version an index is of; everything that it says must agree."""
    rows = index.row_ids(as_ids([0])).row_id
    cells = index.cells(rows)
    [seen] = {cells[row][0] for row in rows.tolist()}
    texts = [f"version {number}" for number in range(CHANGES + 1)]
    entries = index.tokens(pa.array(texts))
    [place], [count] = entries.place.tolist(), entries.postings.tolist()
    assert (texts[place], count) == (seen, ROWS)
    postings = index.postings(entries.token_id)
    assert sorted(postings.row_id.tolist()) == rows.tolist()
    assert (index.rows(rows).token_id.reshape(ROWS, 2)[:, 0] == entries.token_id[0]).all()
    assert index.count_by_table(entries.token_id).postings.tolist() == [ROWS]
    assert (index.manifest.rows, index.manifest.cells, index.manifest.distinct_tokens) == (ROWS, 2 * ROWS, ROWS + 1)
    return place


def watch(store: Path, done: threading.Event) -> list[int]:
    """Open the index again and again until the changes are done; each time it must stay what it was."""
    seen = []
    while True:
        last = done.is_set()
        with open_store(str(store)) as index:
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
    with ThreadPoolExecutor(2) as pool, open_store(str(store)) as old:
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
from mate.build.updates import Updates
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
    with open_store(str(store)) as index:
        rows = index.row_ids(as_ids([0])).row_id
        cells = index.cells(rows)
        added = [cells[row][1] for row in rows.tolist()][ROWS:]
        assert sorted(added) == sorted(f"{name} {number}" for name in ("one", "two") for number in range(each))
        for name in ("one", "two"):
            assert [text for text in added if text.startswith(name)] == [f"{name} {number}" for number in range(each)]
        assert index.changes is not None
        assert index.changes.operations == 2 * each


def test_threads_that_write_wait_for_each_other(store: Path) -> None:
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(lambda n: Updates(str(store), wait=120).append_rows(0, [["x", f"y {n}"]]), range(6)))
    with open_store(str(store)) as index:
        assert index.manifest.rows == ROWS + 6


@pytest.mark.parametrize("work", ["change", "build"])
def test_a_writer_that_must_not_wait_is_told(store: Path, work: str) -> None:
    first = writer_of(str(store), 0) if work == "change" else DuckDBTarget(store)
    with first:
        for wait, waited in ((0.0, ""), (0.05, r"; waited 0.05 s for it \(--wait\)")):
            with pytest.raises(StoreError, match=rf"another build or change of .* is under way{waited}$"):
                Updates(str(store), wait=wait).append_rows(0, [["x", "y"]])
            with pytest.raises(StoreError, match="another build or change"):
                Updates(str(store), wait=wait).compact()
        with pytest.raises(StoreError, match="another build of"), DuckDBTarget(store):
            pass
    Updates(str(store), wait=0).append_rows(0, [["x", "y"]])


def test_readers_of_changes_that_vanish_at_that_moment(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look whether there are changes and opening them, a compaction folds them in."""
    change(store, 1)
    from mate.store import layered

    real = layered.ChangesStore

    def opened(path: Path) -> IndexStore:
        monkeypatch.setattr(layered, "ChangesStore", real)
        Updates(str(store)).compact()
        return real(path)

    monkeypatch.setattr(layered, "ChangesStore", opened)
    with open_store(str(store)) as index:
        assert version(index) == 1
        assert index.changes is None
    change(store, 2)

    base = layered.DuckDBStore

    def compacted(*arguments: object) -> IndexStore:
        monkeypatch.setattr(layered, "DuckDBStore", base)
        Updates(str(store)).compact()  # after the changes were opened
        return base(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(layered, "DuckDBStore", compacted)
    with open_store(str(store)) as index:
        assert version(index) == 2
        assert index.changes is None
