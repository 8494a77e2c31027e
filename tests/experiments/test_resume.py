"""A run that was stopped goes on where it was."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from experiments import records
from tests.experiments.conftest import records_of, run
from tests.experiments.systems import STALL

SYSTEM = "tests.experiments.systems:stalling"
TIMES = ["seconds", "precision"]
LIMIT = 120


def stopped(results: Path, files: Path, stall: Path, how: signal.Signals) -> str:
    """Run until the stalling system has answered some queries and hangs, then stop the run; return what it said."""
    stall.mkdir()
    command = [sys.executable, "-m", "experiments", "run", "table1", "figure4", "--system", SYSTEM]
    command += ["--lake", f"mine={files}", "--results", str(results), "--scale", "smoke", "--queries", "2"]
    environment = {**os.environ, STALL: str(stall)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + LIMIT
        while not (stall / "call-3").exists():
            assert process.poll() is None
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(how)
        said = process.communicate(timeout=LIMIT)[1]
    finally:
        process.kill()
    assert process.returncode == (130 if how == signal.SIGINT else -how)
    return said


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_run_goes_on_and_comes_to_the_same(
    results: Path, files: Path, tmp_path: Path, how: signal.Signals
) -> None:
    said = stopped(results, files, tmp_path / "stall", how)
    if how == signal.SIGINT:
        assert said.splitlines()[-1].startswith("interrupted; go on with: python -m experiments run table1 figure4")
        assert "Traceback" not in said
    (journal,) = (results / "records/systems").glob(".*.journal")
    measured = journal.read_bytes()
    assert measured.count(b"\n") == 1  # the first query was done, the second one under way
    assert not records_of(results)

    again = ["table1", "figure4", "--system", SYSTEM]
    assert run(results, files, *again) == 0
    assert not list((results / "records/systems").glob(".*"))
    resumed = records.load(results, "figure4")
    first = resumed[resumed["query"] == resumed["query"].iloc[0]]
    kept = {round(value, 9) for value in first["seconds"]}
    assert all(f'"seconds": {value}'[:15].encode() in measured for value in kept)

    before = records_of(results)
    assert run(results, files, *again) == 0
    assert records_of(results) == before
    assert run(results, files, *again, "--redo") == 0
    whole = records.load(results, "figure4")
    same = [name for name in whole if name not in TIMES and not name.startswith("phase_")]
    assert whole[same].equals(resumed[same])
    assert set(records_of(results)) == set(before)
    assert not any(records_of(results)[name] == written for name, written in before.items())


def test_more_methods_later_leave_the_others_alone(results: Path, files: Path) -> None:
    assert run(results, files, "table1") == 0
    before = records_of(results)
    assert before
    assert run(results, files, "figure4") == 0
    after = records_of(results)
    assert {name: after[name] for name in before} == before
    assert len(after) == 7 * len(before)
