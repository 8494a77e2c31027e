"""`mate index` as a person meets it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from mate.cli.program import main
from mate.lake.folder import open_folder

MATE = [sys.executable, "-c", "import sys; from mate.cli.program import main; sys.exit(main())"]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "people.csv").write_text("name,country\nLee,US\nKim,KR\nSøren,DK\nLee,US,extra\n")
    (folder / "towns.csv").write_text("town,country\nSeoul,KR\n,n/a\n")
    (folder / "notes.zzz").write_text("no table")
    return folder


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    code = main(["index", *map(str, arguments)])
    out, err = capsys.readouterr()
    return code, out, err


def shown(out: str) -> dict[str, str]:
    """Return the lines of a summary by their first column."""
    pairs = (re.split(r"\s{2,}", line.strip(), maxsplit=1) for line in out.splitlines())
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}


@pytest.mark.parametrize("master", ["local[2]", "none"])
def test_the_summary_shows_the_counts(
    spark: SparkSession, capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path, master: str
) -> None:
    store = tmp_path / "out" / "lake [v2].mate"
    code, out, err = run(capsys, lake, "--store", store, "--master", master)
    assert (code, err) == (0, "")
    counts = shown(out)
    assert out.splitlines()[0].strip() == str(store)
    assert [counts[name] for name in ("tables", "rows", "cells indexed", "distinct tokens")] == ["2", "5", "8", "7"]
    assert counts["super keys"] == "xash:128:alpha=1"
    assert (counts["rejects"], counts["rejected whole"]) == ("2", "1 files or tables")
    assert re.match(r"[\d.]+ kB \(", counts["size"])
    assert {"time", "find files", "read and tokenise", "count distinct tokens", "write segments", "publish"} <= set(
        counts
    )
    assert f"mate stats --rejects --store {store}" in out
    with open_folder(store) as index:
        assert (index.manifest.counts.tables, index.manifest.counts.rows, index.manifest.counts.cells) == (2, 5, 8)


def test_options_reach_the_index(capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.mate"
    options = ["--hash", "xash", "--hash", "bf:128:hashes=6", "--bits", "256", "--segments", "2", "--null", " us "]
    limits = ["--max-cell", "4", "--max-rows", "2", "--max-columns", "2", "--format", "csv"]
    code, out, _ = run(capsys, lake / "people.csv", "--store", store, "--master", "none", *options, *limits)
    assert code == 0
    assert shown(out)["super keys"] == "xash:256:alpha=1, bf:128:hashes=6"
    with open_folder(store) as index:
        assert "us" in index.manifest.nulls
        assert index.manifest.counts.cells == 3  # Lee, Kim, KR
        assert index.manifest.cell_characters == 4


def test_a_synthetic_lake_is_called_so(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    store = tmp_path / "s.mate"
    code, out, _ = run(capsys, "synthetic:tables=5,seed=3", "--store", store, "--master", "none")
    assert code == 0
    assert out.splitlines()[0].strip() == f"{store} [synthetic]"
    assert main(["stats", "--store", str(store)]) == 0
    assert f"{store} [synthetic]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{lake}/missing"], "mate: {lake}/missing: no such file or folder"),
        (["{lake}/notes.zzz"], "mate: no table could be read; nothing was published. {lake}/notes.zzz: unsupported"),
        (["{empty}"], "mate: no file found under the given paths"),
        (
            ["{lake}", "--strict"],
            "mate: 2 rejects and --strict was asked for; nothing was published. The first: {lake}/",
        ),
        (["{lake}", "--hash", "xahs"], 'mate: unknown hash "xahs"; did you mean "xash"?'),
        (["{lake}", "--hash", "xash:x"], "mate: a hash is written NAME[:BITS[:PARAMETER=VALUE,...]], not 'xash:x'"),
        (["{lake}", "--bits", "100"], "mate: xash has no 100-bit version; it has: 64, 128, 256, 512"),
        (["{lake}", "--memory", "plenty"], "mate: --memory takes a size such as 2GB, not 'plenty'"),
        (["{lake}", "--spark", "spark.executor.memory"], "mate: --spark takes NAME=VALUE"),
        (["{lake}", "--max-rows", "0"], "mate: --max-rows takes a whole number from 1 to 2,147,483,647, not '0'"),
        (["{lake}", "--segments", "9" * 40], "mate: --segments takes a whole number from 1 on, not '999"),
        (
            ["{lake}", "--store", "{lake}/people.csv"],
            "mate: {lake}/people.csv is a file; --store takes the path of a folder",
        ),
        (["{lake}", "--store", "{lake}"], "mate: {lake} is a folder with other things in it (notes.zzz)"),
        (["synthetic:tables=x"], "mate: "),
    ],
)
def test_errors_are_one_line_and_publish_nothing(
    capsys: pytest.CaptureFixture[str], lake: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    filled = [text.format(lake=lake, empty=empty) for text in arguments]
    code, out, err = run(capsys, "--store", tmp_path / "a.mate", "--master", "none", *filled)
    assert (code, out) == (2, "")
    assert err.startswith(message.format(lake=lake, empty=empty))
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "lake"]


def test_a_process_of_its_own_is_quiet_and_leaves_nothing(lake: Path, tmp_path: Path) -> None:
    """Java's own messages included: they do not go through Python."""
    for name in ("tmp", "work"):
        (tmp_path / name).mkdir()
    done = subprocess.run(
        [*MATE, "index", str(lake), "--store", str(tmp_path / "a.mate"), "--master", "local[2]"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path / "work",
        env={**os.environ, "TMPDIR": str(tmp_path / "tmp")},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert shown(done.stdout)["cells indexed"] == "8"
    assert "WARN" not in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.mate", "lake", "tmp", "work"]
    assert not any(path for name in ("tmp", "work") for path in (tmp_path / name).iterdir())


def test_spark_that_does_not_start_is_one_line(lake: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [*MATE, "index", str(lake), "--store", str(tmp_path / "a.mate"), "--master", "nonsense"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("mate: Spark did not start with master nonsense: ")
    assert "Master must either be" in done.stderr
    assert done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["lake"]
