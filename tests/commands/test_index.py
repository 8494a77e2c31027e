"""`mate index` as a person meets it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mate.lake.folder import open_folder
from tests.commands.conftest import Run, assert_refused, write_people

MATE = [sys.executable, "-c", "import sys; from mate.cli.program import main; sys.exit(main())"]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    return write_people(tmp_path / "lake")


def shown(out: str) -> dict[str, str]:
    """Return the lines of a summary by their first column; of several, the first."""
    pairs = (re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in reversed(out.splitlines()))
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


@pytest.mark.parametrize("master", ["local[2]", "none"])
def test_the_summary_shows_the_counts(spark: SparkSession, run: Run, lake: Path, tmp_path: Path, master: str) -> None:
    store = tmp_path / "out" / "lake [v2].mate"
    code, out, err = run("index", lake, "--store", store, "--master", master)
    assert (code, err) == (0, "")
    counts = shown(out)
    assert out.splitlines()[0].strip() == str(store)
    assert [counts[name] for name in ("tables", "rows", "cells indexed", "distinct tokens")] == ["2", "5", "8", "7"]
    assert counts["super keys"] == "xash:128:alpha=1"
    assert (counts["rejects"], counts["rejected whole"]) == ("2", "1 files or tables")
    assert re.fullmatch(r"[\d.]+ kB, [\d.]+ bytes per cell", counts["size"])
    phases = "find files .*, read and tokenise .*, count distinct tokens .*, write segments .*, publish .*"
    assert re.fullmatch(rf"[\d.]+ s \(.* k cells/s\): {phases}", counts["time"])
    assert f"mate stats --rejects --store {store}" in out
    with open_folder(store) as index:
        assert (index.manifest.counts.tables, index.manifest.counts.rows, index.manifest.counts.cells) == (2, 5, 8)


def test_options_reach_the_index(run: Run, lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.mate"
    options = ["--hash", "xash", "--hash", "bf:128:hashes=6", "--bits", "256", "--segments", "2", "--null", " us "]
    limits = ["--max-cell", "4", "--max-rows", "2", "--max-columns", "2", "--format", "csv"]
    code, out, _ = run("index", lake / "people.csv", "--store", store, "--master", "none", *options, *limits)
    assert code == 0
    assert shown(out)["super keys"] == "xash:256:alpha=1, bf:128:hashes=6"
    with open_folder(store) as index:
        assert "us" in index.manifest.nulls
        assert index.manifest.counts.cells == 3  # Lee, Kim, KR
        assert index.manifest.cell_characters == 4


def test_a_synthetic_lake_is_called_so(run: Run, tmp_path: Path) -> None:
    store = tmp_path / "s.mate"
    code, out, _ = run("index", "synthetic:tables=5,seed=3", "--store", store, "--master", "none")
    assert code == 0
    assert out.splitlines()[0].strip() == f"{store} [synthetic]"
    assert f"{store} [synthetic]" in run("stats", "--store", store)[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{lake}/missing"], "{lake}/missing: no such file or folder"),
        (["{lake}/notes [1].zzz"], "no table could be read; nothing was published. {lake}/notes [1].zzz: unsupported"),
        (["{empty}"], "no file found under the given paths"),
        (
            ["{lake}", "--strict"],
            "2 rejects and --strict was asked for; nothing was published. The first: {lake}/",
        ),
        (["{lake}", "--hash", "xahs"], 'unknown hash "xahs"; did you mean "xash"?'),
        (["{lake}", "--hash", "xash:x"], "a hash is written NAME[:BITS[:PARAMETER=VALUE,...]], not 'xash:x'"),
        (["{lake}", "--bits", "100"], "xash has no 100-bit version; it has: 64, 128, 256, 512"),
        (["{lake}", "--spark", "spark.executor.memory"], "--spark takes NAME=VALUE"),
        (
            ["{lake}", "--store", "{lake}/people.csv"],
            "{lake}/people.csv is a file; --store takes the path of a folder",
        ),
        (["{lake}", "--store", "{lake}"], "{lake} is a folder with other things in it (notes [1].zzz)"),
        (["synthetic:tables=x"], ""),
    ],
)
def test_errors_are_one_line_and_publish_nothing(
    run: Run, lake: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    filled = [text.format(lake=lake, empty=empty) for text in arguments]
    found = run("index", "--store", tmp_path / "a.mate", "--master", "none", *filled)
    assert_refused(found, message.format(lake=lake, empty=empty))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "lake"]


def in_a_process_of_its_own(lake: Path, tmp_path: Path, master: str) -> subprocess.CompletedProcess[str]:
    for name in ("tmp", "work"):
        (tmp_path / name).mkdir()
    command = [*MATE, "index", str(lake), "--store", str(tmp_path / "a.mate"), "--master", master]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path / "work", env=environment)
    assert not any(path for name in ("tmp", "work") for path in (tmp_path / name).iterdir())
    return done


def test_a_process_of_its_own_is_quiet_and_leaves_nothing(lake: Path, tmp_path: Path) -> None:
    """Java's own messages included: they do not go through Python."""
    done = in_a_process_of_its_own(lake, tmp_path, "local[2]")
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(done.stdout)["cells indexed"] == "8"
    assert "WARN" not in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mate", "lake", "tmp", "work"]


def test_spark_that_does_not_start_is_one_line(lake: Path, tmp_path: Path) -> None:
    done = in_a_process_of_its_own(lake, tmp_path, "nonsense")
    assert_refused((done.returncode, done.stdout, done.stderr), "Spark did not start with master nonsense: ")
    assert "Master must either be" in done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake", "tmp", "work"]
