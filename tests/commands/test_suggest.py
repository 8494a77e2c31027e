"""`mate suggest` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate.cli.program import main
from tests.api.conftest import write_stations


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stations(tmp_path_factory.mktemp("suggest"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["suggest", *arguments, "--store", "lake.mate"])
    return code, *capsys.readouterr()


def test_the_key_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(folder)
    code, out, err = run(capsys, "query.csv")
    assert (code, err) == (0, "")
    first = next(line for line in out.splitlines() if "stations" in line)
    assert "city = town, day = date" in first
    code, out, _ = run(capsys, "query.csv", "--json", "-k", "1")
    [best] = json.loads(out)
    assert (code, best["key"], best["table"]) == (0, ["city", "day"], "stations")
    assert best["evidence"]["uniqueness"] == 1


def test_names_and_explanation(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    _, out, _ = run(capsys, "query.csv", "--json", "--no-names")
    assert all(one["evidence"]["names"] is None for one in json.loads(out))
    code, out, _ = run(capsys, "query.csv", "--explain")
    assert code == 0
    assert "keys of several columns checked on a sample" in out


def test_columns_and_their_number(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    _, out, _ = run(capsys, "query.csv", "--json", "--columns", "city,value")
    assert all("day" not in one["key"] for one in json.loads(out))
    _, out, _ = run(capsys, "query.csv", "--json", "--most-columns", "1")
    assert all(len(one["key"]) == 1 for one in json.loads(out))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv"], "none.csv: no such file or folder"),
        (["query.csv", "--columns", "cty"], 'query has no column "cty"; did you mean "city"?'),
        (["query.csv", "--most-columns", "5"], "--most-columns takes a whole number from 1 to 4, not '5'"),
        (["query.csv", "-k", "²"], "-k takes a whole number from 1 on, not '²'"),
    ],
)
def test_errors_are_one_line(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    code, out, err = run(capsys, *arguments)
    assert (code, out, err) == (2, "", f"mate: {message}\n")
