"""Builds that are killed, and disks that are full: the old index stays, nothing piles up, the next build works.

`MATE_KILLS=20 pytest tests/pipeline/test_interrupted.py` kills more often.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mate.build import session
from mate.build.build import Summary
from mate.errors import MateError
from mate.store import open_store

BuildIndex = Callable[..., Summary]
DumpIndex = Callable[[Path], dict[str, list[tuple[Any, ...]]]]

KILLS = int(os.environ.get("MATE_KILLS", "0"))
SPARK_KILLS, OTHER_KILLS = (KILLS, KILLS) if KILLS else (2, 5)
DICE = random.SystemRandom()

CHILD = """
import os, sys, time
from mate.cli.program import main

def hold():
    open(sys.argv[1], "w").close()
    time.sleep(600)

def replace(*paths, real=os.replace):
    if sys.argv[2] == "before the rename":
        hold()
    real(*paths)
    if sys.argv[2] == ("after the first rename" if str(paths[1]).endswith(".flat") else "after the rename"):
        hold()

os.replace = replace
sys.exit(main(sys.argv[3:]))
"""
MOMENTS = {
    "at the start": "",
    "while reading": ".a.duckdb.build/*/stage-0",
    "while merging": ".a.duckdb.build/*/dictionary-0",
    "while posting": ".a.duckdb.build/*/*.postings.parquet",
    "while sorting": ".a.duckdb.build/*/index.duckdb",
    "before the rename": "held",
    "after the first rename": "held",
    "after the rename": "held",
}


class Victim:
    """`mate index` in a process of its own, with a temporary folder of its own."""

    def __init__(self, lake: Path, folder: Path, master: str, moment: str) -> None:
        self.folder, self.moment = folder, moment
        command = ["index", str(lake), "--store", str(folder / "a.duckdb"), "--master", master]
        self.process = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(folder / "held"), moment, *command],
            cwd=work_folder(folder),
            env={**os.environ, "TMPDIR": str(temporary_folder(folder))},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def kill(self, longest_wait: float) -> None:
        """Kill it a little after its moment has come, by SIGKILL, and wait until Java has gone as well."""
        while MOMENTS[self.moment] and not any(self.folder.glob(MOMENTS[self.moment])):
            assert self.process.poll() is None, f"ended before it was {self.moment}: {self._said()}"
            time.sleep(0.001)
        if not self.moment.endswith("rename"):
            time.sleep(DICE.uniform(0, longest_wait))
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stderr:
            self.process.stderr.close()
        while _alive(self.process.pid):
            time.sleep(0.05)
        (self.folder / "held").unlink(missing_ok=True)

    def _said(self) -> str:
        return self.process.stderr.read().decode() if self.process.stderr else ""


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def work_folder(folder: Path) -> Path:
    return folder.with_name("work")


def temporary_folder(folder: Path) -> Path:
    return folder.with_name("tmp")


def write_lake(folder: Path, tables: int, rows: int) -> Path:
    folder.mkdir()
    for table in range(tables):
        lines = [f"name {table * rows + n},city {n % 50},{n * table},word{n}" for n in range(rows)]
        (folder / f"t{table:02d}.csv").write_text("\n".join(["name,city,number,word", *lines, ""]))
    return folder


@pytest.fixture(scope="module")
def lakes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A small lake for the old index, a larger one for the new."""
    root = tmp_path_factory.mktemp("lakes")
    return write_lake(root / "old", 1, 20), write_lake(root / "new", 10, 3_000)


@pytest.mark.parametrize(
    ("master", "kills", "longest_wait"), [("none", OTHER_KILLS, 0.3), ("local[2]", SPARK_KILLS, 3)]
)
def test_kill_9(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lakes: tuple[Path, Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    master: str,
    kills: int,
    longest_wait: float,
) -> None:
    old, new = lakes
    folder = tmp_path / "store"
    for path in (folder, temporary_folder(folder), work_folder(folder)):
        path.mkdir()
    store, good = folder / "a.duckdb", tmp_path / "good.duckdb"
    build_index(new, good, master=master)
    moments = DICE.sample(list(MOMENTS), k=min(kills, len(MOMENTS))) + DICE.choices(
        list(MOMENTS), k=max(0, kills - len(MOMENTS))
    )
    for moment in moments:
        build_index(old, store, master="none")
        before = store.read_bytes()
        Victim(new, folder, master, moment).kill(longest_wait)
        if moment == "after the rename" or store.read_bytes() != before:
            assert dump_index(store) == dump_index(good), moment
        else:
            with open_store(str(store)) as index:
                assert index.cells(np.array([3])) == {3: ["name 3", "city 3", "0", "word3"]}
                assert len(index.postings(np.array(index.rows(np.array([3])).token_id[:1])).row_id) == 1
        assert {path.name for path in folder.iterdir()} <= {"a.duckdb", "a.duckdb.flat", ".a.duckdb.build"}, moment
        assert len(list(folder.glob(".a.duckdb.build/*/"))) <= 1, moment
        assert len(list(temporary_folder(folder).iterdir())) <= 1, moment
    build_index(new, store, master=master)
    assert dump_index(store) == dump_index(good)
    assert sorted(path.name for path in folder.iterdir()) == ["a.duckdb", "a.duckdb.flat"]
    monkeypatch.setattr(tempfile, "tempdir", str(temporary_folder(folder)))
    with session._scratch_folder():  # as the next session that starts here does
        pass
    assert list(temporary_folder(folder).iterdir()) == []
    assert list(work_folder(folder).iterdir()) == []


# A full disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("only root can mount a small file system; see test_a_file_size_limit for everybody else")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path, free: int) -> None:
    """Leave so many bytes."""
    found = os.statvfs(disk)
    with (disk / "filler").open("wb") as stream:
        stream.write(b"x" * (found.f_bavail * found.f_bsize - free))


@pytest.mark.parametrize("master", ["local[2]", "none"])
def test_a_full_disk(
    build_index: BuildIndex,
    dump_index: DumpIndex,
    lakes: tuple[Path, Path],
    small_disk: Path,
    master: str,
) -> None:
    old, new = lakes
    store = small_disk / "a.duckdb"
    build_index(old, store, master="none")
    before = dump_index(store)
    # Nothing at all, then enough for nothing but: some reading, all of it, the dictionary too, the postings too.
    for free in (0, 600_000, 3_000_000, 5_500_000, 7_500_000):
        fill(small_disk, free)
        with pytest.raises(MateError) as error:
            build_index(new, store, master=master)
        assert "No space left on device" in str(error.value), free
        assert "\n" not in str(error.value)
        assert sorted(path.name for path in small_disk.iterdir()) == ["a.duckdb", "a.duckdb.flat", "filler"], free
        assert dump_index(store) == before
        (small_disk / "filler").unlink()


LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); from mate.cli.program import main; "
)


@pytest.mark.parametrize("limit", [1_000, 100_000, 700_000, 2_000_000])
def test_a_file_size_limit(lakes: tuple[Path, Path], tmp_path: Path, build_index: BuildIndex, limit: int) -> None:
    old, new = lakes
    store = tmp_path / "a.duckdb"
    build_index(old, store, master="none")
    before = store.read_bytes()
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    command = ["index", str(new), "--store", str(store), "--master", "none"]
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit) + "sys.exit(main())", *command],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mate: ")
    assert "the disk is full" in done.stderr
    assert done.stderr.count("\n") == 1
    assert store.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.duckdb", "a.duckdb.flat"]
