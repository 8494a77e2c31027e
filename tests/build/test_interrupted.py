"""Builds that are killed, and disks that are full: the old index stays, nothing piles up, the next build works.

`MATE_KILLS=20 pytest tests/build/test_interrupted.py` kills more often.
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
from collections.abc import Iterator
from pathlib import Path

import pytest

from mate.build import session
from mate.build.changes.check import check
from mate.errors import MateError
from mate.lake.folder import MANIFEST, open_folder
from tests.build.test_publish import SOUND, state
from tests.conftest import BuildIndex, DumpIndex
from tests.lakes import cells_of

KILLS = int(os.environ.get("MATE_KILLS", "0"))
SPARK_KILLS, OTHER_KILLS = (KILLS, KILLS) if KILLS else (2, 5)
DICE = random.SystemRandom()

CHILD = """
import os, sys, time
from mate.cli.program import main

def hold():
    open(sys.argv[1], "w").close()
    time.sleep(600)

def replace(source, target, real=os.rename):
    which = "manifest" if str(target).endswith("manifest.json") else "segment"
    if sys.argv[2] == f"before the rename of the {which}":
        hold()
    real(source, target)
    if sys.argv[2] == f"after the rename of the {which}":
        hold()

os.rename = os.replace = replace
sys.exit(main(sys.argv[3:]))
"""
MOMENTS = {
    "at the start": "",
    "while reading": "a.mate/.build/*/staged",
    "while writing a segment": "a.mate/.build/*/0000-*",
    "before the rename of the segment": "held",
    "after the rename of the segment": "held",
    "before the rename of the manifest": "held",
    "after the rename of the manifest": "held",
}


class Victim:
    """`mate index` in a process of its own, with a temporary folder of its own."""

    def __init__(self, lake: Path, folder: Path, master: str, moment: str) -> None:
        self.folder, self.moment = folder, moment
        command = ["index", str(lake), "--store", str(folder / "a.mate"), "--master", master]
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
        if "rename" not in self.moment:
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
    return write_lake(root / "old", 1, 20), write_lake(root / "new", 10, 1_000)


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
    store, good = folder / "a.mate", tmp_path / "good.mate"
    build_index(new, good, master=master)
    right = dump_index(good)
    moments = DICE.sample(list(MOMENTS), k=min(kills, len(MOMENTS))) + DICE.choices(
        list(MOMENTS), k=max(0, kills - len(MOMENTS))
    )
    for moment in moments:
        build_index(old, store, master="none")
        before = (store / MANIFEST).read_bytes()
        Victim(new, folder, master, moment).kill(longest_wait)
        if moment == "after the rename of the manifest" or (store / MANIFEST).read_bytes() != before:
            assert dump_index(store) == right, moment
        else:
            with open_folder(store) as index:
                assert cells_of(index, 0)[3] == ["name 3", "city 3", "0", "word3"]
                assert check(str(store)).sound
        assert {path.name for path in store.iterdir()} <= {*SOUND, ".build", f".{MANIFEST}.new"}, moment
        assert len(list(store.glob(".build/*/"))) <= 1, moment
        assert len(list(temporary_folder(folder).iterdir())) <= 1, moment
    build_index(new, store, master=master)
    assert dump_index(store) == right
    assert sorted(path.name for path in store.iterdir()) == SOUND
    assert {path.name for path in (store / "segments").iterdir()} == {
        segment.name for segment in open_folder(store).manifest.segments
    }
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
    store = small_disk / "a.mate"
    build_index(old, store, master="none")
    before = dump_index(store)
    # Nothing at all, then enough for nothing but: some reading, most of it, some arrays.
    for free in (0, 150_000, 450_000, 1_200_000):
        fill(small_disk, free)
        with pytest.raises(MateError) as error:
            build_index(new, store, master=master)
        assert "No space left on device" in str(error.value), free
        assert "\n" not in str(error.value)
        assert sorted(path.name for path in small_disk.iterdir()) == ["a.mate", "filler"], free
        assert sorted(path.name for path in store.iterdir()) == SOUND, free
        assert dump_index(store) == before
        (small_disk / "filler").unlink()


LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); from mate.cli.program import main; "
)


@pytest.mark.parametrize("limit", [1_000, 50_000, 200_000, 700_000])
def test_a_file_size_limit(lakes: tuple[Path, Path], tmp_path: Path, build_index: BuildIndex, limit: int) -> None:
    old, new = lakes
    store = tmp_path / "a.mate"
    build_index(old, store, master="none")
    before = state(store)
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
    assert state(store) == before
    assert sorted(path.name for path in store.iterdir()) == SOUND
