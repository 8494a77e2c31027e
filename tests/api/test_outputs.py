"""Results never destroy something: no link is followed, no query, no file of a lake and no lake is overwritten."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import mate
from mate.cli.program import main
from mate.errors import CorpusError
from tests.api.conftest import write_files
from tests.lakes import write_csv


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    write_csv(tmp_path / "list.csv", ["query", "key"], [("sensors.csv", "city;day")])
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious/letter").write_text("mine")
    (tmp_path / "precious/000000.parquet").write_text("mine too")
    monkeypatch.chdir(tmp_path)
    mate.index("lake", "other.mate", master="none").close()
    return tmp_path


def state(folder: Path) -> dict[str, str]:
    """Return what is in all files, links not followed, but for locks."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink() and path.name != ".lock")
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def batch(target: str, queries: str = "list.csv") -> int:
    return main(["search", "--batch", queries, "--store", "lake.mate", "-o", target])


def test_a_link_in_place_of_the_parts_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / ".answers.parquet.parts").symlink_to("precious")
    before = state(folder)
    assert batch("answers.parquet") == 2
    assert "is a link or somebody else's" in capsys.readouterr().err
    assert state(folder) == before


def test_a_folder_of_somebody_else_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / ".answers.parquet.parts").mkdir()
    real = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: real + 1)
    assert batch("answers.parquet") == 2


def test_the_folder_of_parts_is_private(folder: Path) -> None:
    from mate.search.batches.file import AnswersFile

    with AnswersFile(folder / "answers.parquet", "mine"):
        assert (folder / ".answers.parquet.parts").stat().st_mode & 0o777 == 0o700


def test_files_of_others_among_the_parts_stay(folder: Path) -> None:
    parts = folder / ".answers.parquet.parts"
    parts.mkdir()
    (parts / "000000.parquet").write_text("mine")
    (parts / "letter").symlink_to(folder / "precious/letter")
    assert batch("answers.parquet") == 0
    assert (parts / "000000.parquet").read_text() == "mine"
    assert sorted(path.name for path in parts.iterdir()) == ["000000.parquet", "letter"]
    assert len(pq.read_table("answers.parquet")) == 2


@pytest.mark.parametrize("target", ["answers.parquet", "out/graph.html", "synthetic/synthetic-000000.csv"])
def test_links_in_place_of_results_are_not_followed(folder: Path, target: str) -> None:
    precious = folder / "precious/letter"
    path = folder / target
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(precious)
    for name in ("new", "part", f"{os.getpid()}.part"):
        link = path.with_name(f".{path.name}.{name}")
        if target.startswith("synthetic") or name != f"{os.getpid()}.part":
            link.symlink_to(precious)
    commands = {
        "answers.parquet": ["search", "--batch", "list.csv", "--store", "lake.mate", "-o", "answers.parquet"],
        "out/graph.html": ["graph", "--store", "lake.mate", "-o", "out"],
        "synthetic/synthetic-000000.csv": ["synthetic", "synthetic", "--tables", "1", "--force"],
    }
    code = main(commands[target])
    assert code == (2 if target.startswith("synthetic") else 0)  # a name that must be new was taken
    assert precious.read_text() == "mine"
    assert path.is_symlink() == (code == 2)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("list.csv", "is the query itself"),
        ("sensors.csv", "is the query itself"),
        ("link.csv", "is the query itself"),
        ("lake/weather.csv", "is a file of the lake"),
        ("hard.csv", "is a file of the lake"),
        ("lake.mate/answers.parquet", "is inside the lake"),
        ("other.mate/manifest.json", "is inside the lake"),
        ("other.mate/segments/x.parquet", "is inside the lake"),
        ("precious/letter", "ends with .parquet"),
        ("answers.csv", "ends with .parquet"),
        ("precious", "is a folder"),
        ("fifo.parquet", "is no plain file"),
    ],
)
def test_a_batch_overwrites_nothing_of_yours(
    folder: Path, capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    os.link(folder / "lake/weather.csv", folder / "hard.csv")
    (folder / "link.csv").symlink_to("sensors.csv")
    os.mkfifo(folder / "fifo.parquet")
    before = state(folder)
    assert batch(target) == 2
    assert message in capsys.readouterr().err
    assert state(folder) == before


@pytest.mark.parametrize("target", ["lake.mate", "lake.mate/graph", "other.mate", "other.mate/segments"])
def test_a_graph_is_not_written_into_a_lake(folder: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    before = state(folder)
    assert main(["graph", "--store", "lake.mate", "-o", target]) == 2
    assert "is inside the lake" in capsys.readouterr().err
    assert state(folder) == before


def test_a_failure_leaves_no_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mate.api.synthetic_files._record_batch", fail)
    with pytest.raises(CorpusError, match="No space left"):
        mate.write_synthetic("made-up", tables=1)
    assert list(Path("made-up").iterdir()) == []
