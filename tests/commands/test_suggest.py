"""`mate suggest` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate.cli.program import main
from tests.api.conftest import write_stations


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stations(tmp_path_factory.mktemp("suggest"))


@pytest.fixture(autouse=True)
def folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(["suggest", *arguments, "--store", "lake.mate"])
    return code, *capsys.readouterr()


def test_the_key_is_found(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "query.csv")
    assert (code, err) == (0, "")
    first = next(line for line in out.splitlines() if "stations" in line)
    assert "city = town, day = date" in first
    code, out, _ = run(capsys, "query.csv", "--json", "-k", "1")
    [best] = json.loads(out)["results"]
    assert (code, best["key"], best["table"]) == (0, ["city", "day"], "stations")
    assert best["evidence"]["uniqueness"] == 1


def test_names_and_explanation(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "query.csv", "--json", "--no-names")
    assert all(one["evidence"]["names"] is None for one in json.loads(out)["results"])
    code, out, _ = run(capsys, "query.csv", "--explain")
    assert code == 0
    assert "keys of several columns checked on a sample" in out


def test_columns_and_their_number(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "query.csv", "--json", "--columns", "city,value")
    assert all("day" not in one["key"] for one in json.loads(out)["results"])
    _, out, _ = run(capsys, "query.csv", "--json", "--most-columns", "1")
    assert all(len(one["key"]) == 1 for one in json.loads(out)["results"])


def test_nothing_found_says_what_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    nothing = "nothing found; tried this column: value; 1 table, of which 0 hold enough of a column's values; "
    assert run(capsys, "query.csv", "--columns", "value") == (0, f"{nothing}0 keys of several columns\n", "")
    _, out, _ = run(capsys, "query.csv", "--columns", "value", "--json")
    tried = {"columns": ["value"], "tables": 1, "tables_with_values": 0, "keys_of_several_columns": 0}
    assert json.loads(out) == {"results": [], "tried": tried}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "cty"], 'query has no column "cty"; did you mean "city"?'),
        (["--most-columns", "5"], "--most-columns takes a whole number from 1 to 4, not '5'"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert run(capsys, "query.csv", *arguments) == (2, "", f"mate: {message}\n")
