"""Changes that are killed at any moment: the index is as before or as after, never in between, and goes on working.

`MATE_KILLS=200 pytest tests/updates/test_crash.py` kills more often.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mate.build.changes.check import check
from mate.build.changes.updates import Updates
from mate.lake.folder import MANIFEST, SEGMENTS, LakeFolder, open_folder
from tests.lakes import cells_of
from tests.updates.model import HASHES, build, first_lake
from tests.updates.victim import STEPS, save, step, step_name

KILLS = int(os.environ.get("MATE_KILLS", "10"))
LENGTH = len(STEPS) + 3
DICE = random.SystemRandom()
ROOT = Path(__file__).parents[2]
SOUND = [".lock", MANIFEST, SEGMENTS]

MOMENTS = (
    "before replace segment 1",
    "after replace segment 1",
    "before replace manifest 1",
    "after replace manifest 1",
    "before rmtree segment 1",
    "after rmtree segment 1",
    "after unlink arrays 1",
    "",
    "",
)
"""Where files are renamed and removed; not every change does all of it. Otherwise: at any time."""

LONGEST = 0.5
"""Seconds that a kill comes after the start of a step at the latest."""


class Zygote:
    """The process that forks off victims."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.updates.victim"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def start(self, **order: Any) -> int:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return int(self._line())

    def ended(self) -> int:
        return int(self._line())

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline()

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@pytest.fixture(scope="module")
def zygote() -> Iterator[Zygote]:
    started = Zygote()
    yield started
    started.close()


def content(index: LakeFolder) -> list[Any]:
    """Everything that people put in, by table."""
    return [(t.table_id, t.name, t.columns, cells_of(index, t.table_id)) for t in index.tables()]


def copied(source: Path, target: Path) -> None:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)


@pytest.fixture(scope="module", params=[1, 3])
def states(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Any]]:
    """A lake, its index, and what every step of a sequence must make of it."""
    folder = tmp_path_factory.mktemp("states")
    model = first_lake(random.Random(3))
    build(folder / "store" / "lake.mate", list(model.tables.values()), segments=request.param, hashes=HASHES[:2])
    save(model, folder / "0.json")
    copied(folder / "store", folder / "start")
    updates = Updates(str(folder / "store" / "lake.mate"))
    found = []
    for number in range(LENGTH + 1):
        with open_folder(folder / "store" / "lake.mate") as index:
            found.append(content(index))
        if number < LENGTH:
            step(model, updates, number)
            save(model, folder / f"{number + 1}.json")
    return folder, found


def wait_for(path: Path, victim: int) -> bool:
    """Wait until a file is there; False if the victim has ended before."""
    while not path.exists():
        try:
            os.kill(victim, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.001)
    return True


def kill(zygote: Zygote, folder: Path, reached: int) -> str | None:
    """Start a victim and kill it; return at which moment, or None if it ended too early."""
    last = reached + DICE.randrange(2)
    moment = DICE.choice(MOMENTS)
    first = last if moment else reached
    victim = zygote.start(folder=str(folder), first=reached, hold=first, stop=last + 2, moment=moment)
    there = wait_for(folder / ("held" if moment else f"started-{last}"), victim)
    if there and not moment:
        time.sleep(DICE.uniform(0, LONGEST))
    with suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
    code = zygote.ended()
    assert code in (0, -signal.SIGKILL), (moment, reached)
    return (moment or "at any time") if code else None


def numbers(folder: Path, what: str) -> list[int]:
    return [int(path.name.partition("-")[2]) + 1 for path in folder.glob(f"{what}-*")]


def test_kill_9(states: tuple[Path, list[Any]], zygote: Zygote, tmp_path: Path) -> None:
    """Half of the kills for each number of segments to begin with."""
    origin, expected = states
    store = tmp_path / "store" / "lake.mate"
    reached, seen, moments = 0, Counter[str](), Counter[str]()
    copied(origin / "start", store.parent)
    while moments.total() < max(1, KILLS // 2):
        if reached > LENGTH - 3:
            copied(origin / "start", store.parent)
            reached = 0
        shutil.copy(origin / f"{reached}.json", tmp_path / "model.json")
        moment = kill(zygote, tmp_path, reached)
        started, done = max(numbers(tmp_path, "started")), max(numbers(tmp_path, "done"), default=reached)
        with open_folder(store) as index:
            found = content(index)
        assert found in (expected[done], expected[started]), (moment, step_name(started - 1))
        assert check(str(store)).sound, moment
        assert {path.name for path in store.iterdir()} <= {*SOUND, ".build", f".{MANIFEST}.new"}
        reached = started if found == expected[started] else done
        if moment:
            moments[moment] += 1
            seen[
                "between changes" if started == done else "the new state" if reached == started else "the old state"
            ] += 1
        for path in (*tmp_path.glob("started-*"), *tmp_path.glob("done-*"), *tmp_path.glob("held")):
            path.unlink()
    # Whatever was left lying about does not keep the next change from working.
    shutil.copy(origin / f"{reached}.json", tmp_path / "model.json")
    zygote.start(folder=str(tmp_path), first=reached, stop=reached + 1)
    assert zygote.ended() == 0
    with open_folder(store) as index:
        assert content(index) == expected[reached + 1]
    assert sorted(path.name for path in store.iterdir()) == SOUND
    with open_folder(store) as index:
        named = {segment.name for segment in index.manifest.segments}
    assert {path.name for path in (store / SEGMENTS).iterdir()} == named
    sys.stdout.write(f"{moments.total()} kills, leaving {dict(seen)}; {dict(moments)}\n")
