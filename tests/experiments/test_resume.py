"""A run that was stopped goes on where it was."""

import fcntl
import json
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


def test_an_interrupted_run_says_how_to_go_on(results: Path, files: Path, tmp_path: Path) -> None:
    said = stopped(results, files, tmp_path / "stall", signal.SIGINT)
    assert said.splitlines()[-1].startswith("interrupted; go on with: python -m experiments run table1 figure4")
    assert "Traceback" not in said
    assert list((results / "records/systems").glob(".*.journal"))


def test_a_killed_run_goes_on_and_comes_to_the_same(results: Path, files: Path, tmp_path: Path) -> None:
    stopped(results, files, tmp_path / "stall", signal.SIGKILL)
    (journal,) = (results / "records/systems").glob(".*.journal")
    (line,) = journal.read_text().splitlines()  # the first query was done, the second one under way
    measured = {row["seconds"] for rows in json.loads(line)["records"].values() for row in rows}
    assert not records_of(results)

    again = ["table1", "figure4", "--system", SYSTEM]
    assert run(results, files, *again) == 0
    assert not list((results / "records/systems").glob(".*"))
    resumed = records.load(results, "figure4")
    assert set(resumed[resumed["query"] == json.loads(line)["query"]]["seconds"]) == measured

    before = records_of(results)
    assert run(results, files, *again) == 0
    assert records_of(results) == before
    assert run(results, files, *again, "--redo") == 0
    whole = records.load(results, "figure4")
    same = [name for name in whole if name != "seconds" and not name.startswith("phase_")]
    assert whole[same].equals(resumed[same])
    assert set(records_of(results)) == set(before)
    assert not any(records_of(results)[name] == written for name, written in before.items())


def test_two_runs_do_not_share_results(results: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    results.mkdir(exist_ok=True)
    with (results / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert run(results, files, "table1") == 2
    assert "another run is at work" in capsys.readouterr().err
    assert not records_of(results)
    assert run(results, files, "table1") == 0


def test_a_file_in_the_place_of_results(tmp_path: Path, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert run(tmp_path / "taken", files, "table1") == 2
    assert "cannot write results to" in capsys.readouterr().err


def test_more_methods_later_leave_the_others_alone(results: Path, files: Path) -> None:
    assert run(results, files, "table1") == 0
    before = records_of(results)
    assert before
    assert run(results, files, "figure4") == 0
    after = records_of(results)
    assert {name: after[name] for name in before} == before
    assert len(after) == 12 * len(before)
