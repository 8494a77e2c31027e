"""The commands that change an index, as people type them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mate.cli.program import main
from mate.lake.folder import open_folder
from tests.build.test_publish import state
from tests.lakes import cells_of, write_csv
from tests.updates.conftest import index

CITIES, PEOPLE = 0, 1


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def cells(store: Path, table: int) -> list[list[str | None]]:
    with open_folder(store) as opened:
        return cells_of(opened, table)


def test_a_day_in_the_life_of_an_index(
    store: Path, lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "new").mkdir()
    new = write_csv(tmp_path / "new" / "shops.csv", ["shop", "city"], [["Baker", "Bonn"]])
    assert run("add", new, "--store", store) == 0
    assert "table 2 (shops) added, 1 row written" in printed(capsys)
    rows = write_csv(tmp_path / "rows.csv", ["city", "shop"], [["Ulm", "Butcher"], ["Kiel", ""]])
    assert run("add", "--table", "shops", "--rows", rows, "--store", store) == 0
    assert cells(store, 2) == [["Baker", "Bonn"], ["Butcher", "Ulm"], ["", "Kiel"]]
    column = write_csv(tmp_path / "column.csv", ["since"], [["1990"], ["2001"], ["2020"]])
    assert run("add", "--table", new, "--column", column, "--store", store) == 0
    assert run("update", "--table", 2, "--row", 3, "--column", "shop", "--value", "Florist", "--store", store) == 0
    assert "table 2 (shops) changed, 1 row written, 1 taken out" in printed(capsys)
    assert cells(store, 2)[2] == ["Florist", "Kiel", "2020"]
    assert run("remove", "--table", 2, "--row", "1-2", "--store", store) == 0
    assert run("remove", "--table", 2, "--column", "city", "--store", store) == 0
    assert cells(store, 2) == [["Florist", "2020"]]
    assert run("stats", "--store", store) == 0
    shown = printed(capsys)
    assert "6 since it was built" in shown
    assert "segments" in shown
    assert run("remove", "--table", "cities.csv", "--table", "shops", "--store", store) == 2
    assert run("remove", "--table", lake / "cities.csv", "--table", "shops", "--store", store) == 0
    assert "tables 0 (cities), 2 (shops) removed" in printed(capsys)
    assert run("compact", "--store", store) == 0
    assert "kB now" in printed(capsys)
    assert run("check", "--store", store) == 0
    assert run("stats", "--store", store, "--tables", "--json") == 0
    printed(capsys)
    with open_folder(store) as opened:
        assert [(t.table_id, t.name) for t in opened.tables()] == [(PEOPLE, "people")]


def test_many_cells_at_once(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corrections = write_csv(
        tmp_path / "corrections.csv", ["row", "column", "value"], [["1", "city", "Köln"], ["3", "2", "HH"]]
    )
    assert run("update", "--table", CITIES, "--cells", corrections, "--store", store, "--json") == 0
    report = json.loads(printed(capsys))
    assert (report["rows_written"], report["changed"][0]["table_id"]) == (2, CITIES)
    assert report["counts"]["cells"] == {"before": 12, "after": 12}
    assert cells(store, CITIES) == [["Köln", "NW"], ["Ulm", "BW"], ["Kiel", "HH"]]


def test_sync_and_what_it_would_do(store: Path, lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(lake / "new.csv", ["a"], [["b"]])
    write_csv(lake / "people.csv", ["name", "age"], [["Ada", "36"]])
    (lake / "cities.csv").unlink()
    before = state(store)
    assert run("sync", lake, "--store", store, "--dry-run") == 0
    assert printed(capsys).split("\n") == [
        f"+ {lake / 'new.csv'}",
        f"~ {lake / 'people.csv'}",
        f"- {lake / 'cities.csv'}",
        "1 file new, 1 changed, 1 gone, 1 as before",
        "",
    ]
    assert state(store) == before
    assert run("sync", lake, "--store", store, "--dry-run", "--json") == 0
    assert json.loads(printed(capsys))["gone"] == [str(lake / "cities.csv")]
    assert run("sync", lake, "--store", store) == 0
    assert "table 2 (new) added, table 1 (people) changed, table 0 (cities) removed" in printed(capsys)
    assert run("sync", lake, "--store", store) == 0
    assert "nothing to do" in printed(capsys)


def test_rows_whose_columns_have_other_names(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_order = write_csv(tmp_path / "order.csv", ["place", "land"], [["Mainz", "RP"]])
    assert run("add", "--table", CITIES, "--rows", by_order, "--store", store) == 0
    some = write_csv(tmp_path / "some.csv", ["state"], [["SL"]])
    assert run("add", "--table", CITIES, "--rows", some, "--store", store) == 0
    assert cells(store, CITIES)[3:] == [["Mainz", "RP"], [None, "SL"]]
    capsys.readouterr()
    wrong = write_csv(tmp_path / "wrong.csv", ["city", "land"], [["Trier", "RP"]])
    assert run("add", "--table", CITIES, "--rows", wrong, "--store", store) == 2
    error = capsys.readouterr().err
    assert error == 'mate: cities has no column "land" as the new rows have; it has: city, state\n'


def test_an_index_that_outgrows_its_alpha_says_so(
    lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = index(lake, tmp_path / "small.mate")
    many = write_csv(tmp_path / "many.csv", ["n"], [[f"value {n}"] for n in range(200)])
    assert run("add", many, "--store", store) == 0
    assert run("compact", "--store", store) == 0  # which counts the distinct tokens again
    printed(capsys)
    assert run("stats", "--store", store) == 0
    assert "xash:128:alpha=1: the corpus has outgrown its alpha, equation 5 asks for 2" in printed(capsys)
    assert run("stats", "--store", store, "--json") == 0
    assert json.loads(printed(capsys))["outgrown"] == {"xash:128:alpha=1": 2}


def test_a_lake_of_many_small_segments_says_so(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hints = []
    for number in range(16):
        assert run("add", write_csv(tmp_path / f"{number}.csv", ["n"], [[str(number)]]), "--store", store) == 0
        hints.append(f"mate compact --store {store} merges them" in printed(capsys).replace("\n", " "))
    assert hints == [False] * 14 + [True] * 2  # with the first segment, 16 from the last but one on
    assert run("stats", "--store", store) == 0
    assert "mate compact" in printed(capsys)
    assert run("compact", "--store", store) == 0
    assert "17 segments" in printed(capsys)
    assert run("stats", "--store", store) == 0
    assert "mate compact" not in printed(capsys)


def test_check_and_repair(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "--store", store) == 0
    assert f"{store} is sound" in printed(capsys)
    [arrays] = store.glob("segments/*/arrays")
    arrays.write_bytes(arrays.read_bytes()[:-1])
    assert run("check", "--store", store) == 1
    assert f"mate check --repair --store {store}" in printed(capsys)
    assert run("check", "--store", store, "--json") == 1
    found = json.loads(printed(capsys))
    assert (found["sound"], found["repairable"], found["problems"][0]["part"]) == (False, True, "file")
    assert run("check", "--store", store, "--repair") == 0
    assert "was repaired and is sound" in printed(capsys)
    assert run("check", "--store", store) == 0
    [cells_file] = store.glob("segments/*/cells-0000.parquet")
    cells_file.unlink()
    for options in ((), ("--repair",)):
        assert run("check", "--store", store, *options) == 1
        shown = capsys.readouterr()
        assert "is damaged and cannot be repaired" in shown.out
        assert "Traceback" not in shown.out + shown.err
    assert run("check", "--store", store.with_name("no.mate")) == 2
    assert "there is no index at" in capsys.readouterr().err


LIMITED = (
    "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0})); from mate.cli.program import main; "
)


@pytest.mark.parametrize("limit", [500, 30_000, 150_000, 400_000])
def test_a_disk_that_is_full(store: Path, lake: Path, tmp_path: Path, limit: int) -> None:
    rows = [[f"value {n}", f"other {n * n}"] for n in range(8_000)]
    new = write_csv(tmp_path / "new.csv", ["a", "b"], rows)
    run("remove", "--table", PEOPLE, "--store", store)
    before = state(store)
    done = subprocess.run(
        [sys.executable, "-c", LIMITED.format(limit) + "sys.exit(main())", "add", str(new), "--store", str(store)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "the disk is full" in done.stderr
    assert done.stderr.count("\n") == 1
    assert state(store) == before


REFUSED: list[tuple[list[Any], str]] = [
    (["add"], "mate add takes files, or --table T"),
    (["add", "x.csv", "--table", "0"], "mate add takes files, or --table T"),
    (["add", "--table", "0"], "mate add takes files, or --table T"),
    (["add", "no-such.csv"], "no-such.csv: no such file or folder"),
    (["update", "--table", "0", "--row", "1"], "mate update takes --row, --column and --value, or --cells FILE"),
    (["update", "--table", "0", "--row", "0", "--column", "1", "--value", "x"], "cities has no row 0; it has 3 rows"),
    (["update", "--table", "9", "--row", "1", "--column", "1", "--value", "x"], 'the index has no table "9"'),
    (["remove", "--table", "0", "--row", "0"], "--row takes a number from 1 on"),
    (["remove", "--table", "0", "--table", "1", "--row", "1"], "from one table at a time"),
    (["remove", "--table", "0", "--wait", "-1"], "--wait takes a number of seconds from 0 on"),
    (["sync", "no-such-folder"], "no-such-folder: no such file or folder"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_what_makes_no_sense(
    store: Path, capsys: pytest.CaptureFixture[str], arguments: list[Any], message: str
) -> None:
    before = state(store)
    assert run(*arguments, "--store", store) == 2
    error = capsys.readouterr().err
    assert error.startswith("mate: ")
    assert error.count("\n") == 1
    assert message in error
    assert state(store) == before


@pytest.mark.parametrize("command", ["add", "update", "remove", "sync", "compact", "check"])
def test_help_has_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(command, "--help")
    assert f"mate {command} " in printed(capsys).partition("examples:")[2]
