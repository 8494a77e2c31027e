"""`mate suggest` as a person meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.api.conftest import write_stations
from tests.commands.conftest import Run, assert_refused


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_stations(tmp_path_factory.mktemp("suggest"))


@pytest.fixture(autouse=True)
def folder(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shared)


SUGGEST = ("suggest", "query.csv", "--store", "lake.mate")


def test_the_key_is_found(run: Run) -> None:
    code, out, err = run(*SUGGEST)
    assert (code, err) == (0, "")
    first = next(line for line in out.splitlines() if "stations" in line)
    assert "city = town, day = date" in first
    code, out, _ = run(*SUGGEST, "--json", "-k", "1")
    [best] = json.loads(out)["results"]
    assert (code, best["key"], best["table"]) == (0, ["city", "day"], "stations")
    assert best["evidence"]["uniqueness"] == 1


def test_names_and_explanation(run: Run) -> None:
    _, out, _ = run(*SUGGEST, "--json", "--no-names")
    assert all(one["evidence"]["names"] is None for one in json.loads(out)["results"])
    code, out, _ = run(*SUGGEST, "--explain")
    assert code == 0
    assert "keys of several columns checked on a sample" in out


def test_columns_and_their_number(run: Run) -> None:
    _, out, _ = run(*SUGGEST, "--json", "--columns", "city,value")
    assert all("day" not in one["key"] for one in json.loads(out)["results"])
    _, out, _ = run(*SUGGEST, "--json", "--most-columns", "1")
    assert all(len(one["key"]) == 1 for one in json.loads(out)["results"])


def test_nothing_found_says_what_was_tried(run: Run) -> None:
    nothing = "nothing found; tried this column: value; 1 table, of which 0 hold enough of a column's values; "
    assert run(*SUGGEST, "--columns", "value") == (0, f"{nothing}0 keys of several columns\n", "")
    _, out, _ = run(*SUGGEST, "--columns", "value", "--json")
    tried = {"columns": ["value"], "tables": 1, "tables_with_values": 0, "keys_of_several_columns": 0}
    assert json.loads(out) == {"results": [], "tried": tried}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--columns", "cty"], 'query has no column "cty"; did you mean "city"?'),
        (["--most-columns", "5"], "--most-columns takes a whole number from 1 to 4, not '5'"),
    ],
)
def test_errors_are_one_line(run: Run, arguments: list[str], message: str) -> None:
    assert_refused(run(*SUGGEST, *arguments), message)
