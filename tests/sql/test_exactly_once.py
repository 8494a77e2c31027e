"""Loads and changes that are killed, cut off, run twice, or lose their machine: every record is there once.

MATE_WEBTABLES=FOLDER takes the load on Spark to a lake of your own, such as ten thousand web tables.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mate.build.build import BuildSettings, build
from mate.build.changes.updates import Updates
from mate.errors import MateError, StoreError
from mate.lake.folder import LakeFolder, open_folder
from mate.lake.manifest import Manifest
from mate.sql.target import DatabaseTarget
from tests.sql.compare import same
from tests.sql.faulty import FAULTY, FaultyServer, faulty_server
from tests.sql.places import duckdb_place, index, open_database
from tests.sql.small import HASHES, built_lake
from tests.vertica.standin.wire import ClosedError

ROOT = Path(__file__).parents[2]
LAKE = os.environ.get("MATE_WEBTABLES")
MOST_SECONDS = 3_600 if LAKE else 300
LOGGED = "INSERT INTO mate.load_log_"
SEGMENTS = 8

DRIVER = """
import sys
from mate.build import sources
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.session import spark_session
from mate.sql.target import DatabaseTarget

lake, address, segments = sys.argv[1:]
sources._LEAST_UNIT = 1  # a unit per file
settings = {
    "spark.executor.memory": "512m", "spark.driver.memory": "512m", "spark.sql.shuffle.partitions": "2",
    "spark.task.maxFailures": "8", "spark.speculation": "true", "spark.speculation.interval": "100ms",
    "spark.speculation.multiplier": "1.1", "spark.speculation.quantile": "0.1",
}
with spark_session("local-cluster[2,1,1024]", settings), DatabaseTarget(address) as target:
    hashes = HashRequest("xash", 128), HashRequest("bf", 512)
    build([lake], target, BuildSettings(hashes=hashes, segments=int(segments), master="local[*]"))
"""

FILE_DRIVER = """
import os, signal, sys
from mate.build import sources
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.session import spark_session
from mate.sql.dialects.duckdb import DuckDbSession as Session
from mate.sql.target import DatabaseTarget

lake, address, segments, happened = sys.argv[1:]
sources._LEAST_UNIT = 1  # a unit per file

class Doomed:
    def __init__(self, load, happened):
        self.load, self.happened = load, happened

    def first(self, what):
        try:
            return os.open(f"{self.happened}/{what}", os.O_CREAT | os.O_EXCL)
        except FileExistsError:
            return None

    def __call__(self, written):
        def die(*_):
            os.kill(os.getpid(), signal.SIGKILL)

        load, commit = Session.load, Session.commit
        try:
            if self.first("killed while loading"):
                Session.load = lambda own, table, *given: (load(own, table, *given), ".cells_" in table and die())[0]
            elif self.first("killed before the commit"):
                Session.commit = die
            elif self.first("killed after the commit"):
                Session.commit = lambda own: die(commit(own))
            return self.load(written)
        finally:
            Session.load, Session.commit = load, commit

class Target(DatabaseTarget):
    def loader(self, manifest):
        return Doomed(super().loader(manifest), happened)

with spark_session("local[2,8]", {"spark.sql.shuffle.partitions": "2"}), Target(address) as target:
    hashes = HashRequest("xash", 128), HashRequest("bf", 512)
    build([lake], target, BuildSettings(hashes=hashes, segments=int(segments), master="local[*]"))
"""
"""A file has no line that could be cut: tasks end themselves where it hurts."""


@pytest.fixture(params=FAULTY)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FaultyServer]:
    with faulty_server(request.param, tmp_path) as running:
        yield running


@pytest.fixture(scope="module")
def chosen_lake(small_lake: Path) -> Path:
    return Path(LAKE) if LAKE else small_lake


@pytest.fixture(scope="module")
def built(chosen_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    """The chosen files in a lake."""
    return built_lake(chosen_lake, tmp_path_factory.mktemp("chosen") / "lake.mate")


def parent(process: int) -> int:
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("PPid:")[2].split()[0])


class Chaos:
    """Goes wrong once in each of several ways, while tasks of a build load their segments."""

    def __init__(self) -> None:
        self.happened: list[str] = []
        self._lock = threading.Lock()

    def __call__(self, event: str, session: Any, detail: str) -> None:
        if event == "copy data" and ".postings_" in detail:
            self._while_copying(session.process)
        elif event == "done" and detail == "COMMIT" and session.log and self._first("answer lost"):
            raise ClosedError
        elif event == "statement" and detail.startswith(LOGGED):
            session.log = detail

    def _while_copying(self, process: int) -> None:
        if self._first("task killed"):
            os.kill(process, signal.SIGKILL)
        elif self._first("connection cut"):
            raise ClosedError
        elif self._first("executor lost"):
            os.kill(parent(parent(process)), signal.SIGKILL)
        elif self._first("straggler"):
            time.sleep(3)  # long enough for Spark to start a twin

    def _first(self, what: str) -> bool:
        with self._lock:
            new = what not in self.happened
            if new:
                self.happened.append(what)
            return new


def run_on_spark(driver: str, *arguments: object) -> None:
    """Run a program of its own to its end."""
    command = [sys.executable, "-c", driver, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, timeout=MOST_SECONDS)
    assert done.returncode == 0, done.stderr[-3_000:]


def test_tasks_killed_and_retried_on_spark(
    server: FaultyServer, chosen_lake: Path, built: LakeFolder, record_testsuite_property: Callable[[str, object], None]
) -> None:
    chaos = Chaos()
    began = time.monotonic()
    with server.faulty(chaos):
        run_on_spark(DRIVER, chosen_lake, server.address(connections=2), SEGMENTS)
    record_testsuite_property("seconds of the load", round(time.monotonic() - began))
    assert set(chaos.happened) >= {"task killed", "connection cut", "executor lost", "answer lost"}
    assert server.most_sessions <= 2 + 2 * 2  # the driver's two; two loading, and what lost ones leave for a moment
    logged = [statement for statement in server.statements if statement.startswith(LOGGED)]
    with open_database(server.address()) as found:
        for name in ("tables", "rows", "cells"):
            record_testsuite_property(name, getattr(found.manifest.counts, name))
        loaded = found.pool.ask(
            lambda session: session.execute(f"SELECT COUNT(*) FROM {found.generation.name('load_log')}")
        )
        assert len(logged) > loaded[0][0] > 5  # some were loaded again, and turned away
        same(found, built)


def test_tasks_killed_while_they_load_a_file_on_spark(
    small_lake: Path, small_folder: LakeFolder, tmp_path: Path
) -> None:
    happened = tmp_path / "happened"
    happened.mkdir()
    with duckdb_place() as address:
        run_on_spark(FILE_DRIVER, small_lake, address, SEGMENTS, happened)
        killed = {path.name for path in happened.glob("killed *")}
        assert killed == {"killed while loading", "killed before the commit", "killed after the commit"}
        with open_database(address) as found:
            assert len(found.records("load_log")) > 5
            same(found, small_folder)


def test_a_load_that_fails_on_spark_publishes_nothing(
    spark: object, server: FaultyServer, small_lake: Path, small_folder: LakeFolder
) -> None:
    index(small_lake, server.address(), hashes=HASHES)

    def fault(event: str, _: Any, detail: str) -> None:
        if event == "copy data" and ".cells_" in detail:
            raise ClosedError

    lost = pytest.raises(MateError, match=r"failed: mate.errors.StoreError: \w+://.*the connection was lost")
    with lost as told, server.faulty(fault), DatabaseTarget(server.address()) as target:
        build([str(small_lake)], target, BuildSettings(hashes=HASHES[:1], master="local[2]"))
    assert "\n" not in str(told.value)
    assert "s3cret" not in str(told.value)
    with open_database(server.address()) as store:
        same(store, small_folder)


def loaded_twice(server: FaultyServer, files: Path, run: Callable[[Callable[[], int]], object]) -> None:
    """Build in this process, with every segment loaded by `run`."""

    class Twins(DatabaseTarget):
        def loader(self, manifest: Manifest) -> Any:
            loader = super().loader(manifest)

            return lambda segment: run(lambda: loader(segment))

    with Twins(server.address()) as target:
        build([str(files)], target, BuildSettings(master="none", hashes=HASHES))


def at_the_same_time(threads: int, load: Callable[[], int]) -> None:
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda _: load(), range(threads)))


def test_a_segment_that_is_loaded_again_counts_once(
    server: FaultyServer, small_lake: Path, small_folder: LakeFolder
) -> None:
    loaded_twice(server, small_lake, lambda load: [load(), load()])
    with open_database(server.address()) as store:
        same(store, small_folder)


def test_twins_that_load_a_segment_at_the_same_time_count_once(
    server: FaultyServer, small_lake: Path, small_folder: LakeFolder
) -> None:
    loaded_twice(server, small_lake, partial(at_the_same_time, 3))
    with open_database(server.address()) as store:
        same(store, small_folder)


def test_a_lock_that_was_lost_publishes_nothing(server: FaultyServer, files: Path) -> None:
    class Unlucky(DatabaseTarget):
        def publish(self, *given: Any) -> None:
            server.cut()
            super().publish(*given)

    index(files, server.address())
    with pytest.raises(StoreError, match="the connection was lost"), Unlucky(server.address()) as target:
        build([str(files)], target, BuildSettings(master="none"))
    with open_database(server.address()) as found:
        assert (found.generation.number, len(found.tables())) == (1, 2)


@pytest.mark.parametrize("moment", ["copy data", "statement", "dictionary", "COMMIT", "answer"])
def test_a_change_that_breaks_off_is_there_as_a_whole_or_not_at_all(
    server: FaultyServer, files: Path, moment: str
) -> None:
    def fault(event: str, session: Any, detail: str) -> None:
        loads = event == "copy data" and ".cells_" in detail
        session.loads = session.loads or loads
        hit = {
            "copy data": loads,
            "statement": event == "statement" and detail.startswith("UPDATE mate.manifest"),
            "dictionary": event == "statement" and detail.startswith("INSERT INTO mate.tokens_"),
            "COMMIT": event == "statement" and detail == "COMMIT" and session.loads,
            "answer": event == "done" and detail == "COMMIT" and session.loads,
        }[moment]
        if hit:
            raise ClosedError

    def change(place: str) -> None:
        Updates(place, master="none").update_cells(0, [(0, 0, "new value")])

    lake = built_lake(files, files.parent / "same.mate")
    index(files, server.address(), hashes=HASHES)
    with server.faulty(fault), pytest.raises(StoreError, match="the connection was lost") as error:
        change(server.address())
    assert "s3cret" not in str(error.value)
    assert ("mate stats tells whether it was" in str(error.value)) == (moment in ("COMMIT", "answer"))
    if moment != "answer":
        with open_database(server.address()) as found:
            same(found, lake)
        change(server.address())
    change(lake.address)
    with open_database(server.address()) as found:
        same(found, open_folder(lake.address))


def test_a_segment_that_is_missing_is_noticed(server: FaultyServer, small_lake: Path) -> None:
    with pytest.raises(StoreError, match="the table load_log has 0 records where 1 were staged"):
        loaded_twice(server, small_lake, lambda load: None)
