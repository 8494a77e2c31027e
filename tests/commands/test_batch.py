"""`mate search --batch` as a person meets it."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mate.cli.program import main
from tests.api.conftest import write_files
from tests.lakes import write_csv


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def search(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["search", "--store", "lake.mate", *arguments])
    return code, *capsys.readouterr()


def test_a_list_is_answered_and_failures_are_told(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(folder / "queries.csv", ["query", "key"], [("sensors.csv", "city;day"), ("gone\x1b[2J.csv", "city")])
    code, out, err = search(capsys, "--batch", "queries.csv", "-o", "answers.parquet", "-k", "1")
    assert (code, err) == (1, "")
    assert "answers.parquet: 2 queries, 1 answer (" in out
    assert "failed: gone␛[2J.csv: " in out
    first, failed = pq.read_table("answers.parquet").to_pylist()
    assert (first["query"], first["rank"], first["table"], first["joinability"]) == ("sensors.csv", 1, "weather", 5)
    assert failed["error"]
    assert failed["table"] is None


def test_a_folder_with_one_key(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "asked").mkdir()
    (folder / "sensors.csv").rename(folder / "asked/sensors.csv")
    code, out, _ = search(capsys, "--batch", "asked", "--key", "city,day", "-o", "answers.parquet")
    assert (code, "1 query, 2 answers" in out) == (0, True)


def test_a_key_with_a_comma_in_its_name_and_an_encoding(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "asked").mkdir()
    text = (folder / "sensors.csv").read_text().replace("city", '"Stadt, Straße"')
    (folder / "asked/one.csv").write_bytes(text.encode("utf-16-le"))
    key = ("--key", "Stadt, Straße", "--key", "day", "--encoding", "utf-16-le")
    code, out, _ = search(capsys, "--batch", "asked", *key, "-o", "answers.parquet")
    assert (code, "1 query, 2 answers" in out) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--batch", "lake"], "a batch needs -o FILE"),
        (["sensors.csv", "--batch", "lake", "-o", "x.parquet"], "leave the query table out"),
        (["--batch", "lake", "-o", "x.parquet", "--json"], "--json is for one query"),
        (["--batch", "lake", "-o", "lake"], "lake is a folder"),
        ([], "name a table to search with"),
        (["sensors.csv"], "name the key columns of sensors.csv"),
        (["sensors.csv", "--key", "city", "-o", "x"], "-o and --master are for many queries"),
    ],
)
def test_what_makes_no_sense(
    folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    code, out, err = search(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
