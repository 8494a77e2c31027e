"""`mate join` as a person meets it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mate.cli.program import main
from tests.commands.conftest import Run, assert_refused

PEOPLE = """Vorname,Nachname,Salary,Note,Note
Muhammad,LEE,60k,"  Dancer, ""the best""  ",1
Ansel,Adams,50k,first,2
ansel,adams,51k,second,
Helmut,Newton,,-,4
"""
QUERY = """First,Last,Salary
Nobody,Nowhere,0
ansel,ADAMS,1
Muhammad,Lee,2
,Lee,3
Ansel,Adams,4
Helmut,Newton,
"""
ADDED = ["Salary (people)", "Note", "Note (2)"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    (folder / "lake").mkdir()
    (folder / "lake/cities.csv").write_text("Stadt,Land\nBerlin,Germany\nLondon,UK\n")
    (folder / "lake/people.csv").write_text(PEOPLE)
    (folder / "query.csv").write_text(QUERY)
    assert main(["index", str(folder / "lake"), "--store", str(folder / "x.mate"), "--master", "none"]) == 0
    return folder


@pytest.fixture
def join(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``join("query.csv", ...)``: exit code, standard output, standard error."""
    monkeypatch.chdir(folder)

    def joined(*arguments: object, key: str = "First,Last", table: str = "1", store: str = "x.mate") -> Any:
        return run("join", "--store", store, "--key", key, "--table", table, *arguments)

    return joined


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_a_left_join_keeps_every_row_in_its_order(join: Run, tmp_path: Path) -> None:
    """Cells are those of the files, not tokens; where two rows match, the first is taken."""
    target = tmp_path / "out.csv"
    code, out, err = join("query.csv", "-o", target)
    assert (code, err) == (0, "")
    assert rows(target) == [
        ["First", "Last", "Salary", *ADDED],
        ["Nobody", "Nowhere", "0", "", "", ""],
        ["ansel", "ADAMS", "1", "50k", "first", "2"],
        ["Muhammad", "Lee", "2", "60k", '  Dancer, "the best"  ', "1"],
        ["", "Lee", "3", "", "", ""],
        ["Ansel", "Adams", "4", "50k", "first", "2"],
        ["Helmut", "Newton", "", "", "-", "4"],
    ]
    assert out == (
        f"{target}: 6 rows, 4 of them matched on First = Vorname, Last = Nachname; "
        "3 columns added: Salary (people), Note, Note (2)\n"
    )


@pytest.mark.parametrize(
    ("matches", "key", "row", "said"),
    [
        ("all", "First,Last", "ansel,ADAMS,1,51k,second,", "8 rows, 6 of them matched"),
        ("aggregate", "First,Last", "ansel,ADAMS,1,50k; 51k,first; second,2.0,2", "6 rows, 4 of them matched"),
        ("aggregate", "First,Last", ",Lee,3,,,,", "6 rows, 4 of them matched"),
        ("first", "Last", "Helmut,Newton,,Helmut,,-,4", "5 of them matched on Last = Nachname"),
    ],
)
def test_other_matches_and_other_keys(join: Run, tmp_path: Path, matches: str, key: str, row: str, said: str) -> None:
    code, out, _ = join("query.csv", "-o", tmp_path / "out.csv", "--matches", matches, key=key)
    assert (code, said in out) == (0, True)
    assert row.split(",") in rows(tmp_path / "out.csv")


def test_parquet_keeps_nulls(join: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    assert join("query.csv", "-o", target)[0] == 0
    table = pq.read_table(target)
    assert table.column_names == ["First", "Last", "Salary", *ADDED]
    assert table.column("Note").to_pylist() == [None, "first", '  Dancer, "the best"  ', None, "first", "-"]
    assert table.num_rows == 6


@pytest.mark.parametrize("table", ["1", "people", "lake/people.csv"])
def test_a_table_by_number_name_or_file(join: Run, tmp_path: Path, table: str) -> None:
    target = tmp_path / "out.csv"
    assert join("query.csv", "-o", target, table=table)[0] == 0
    assert len(rows(target)) == 7


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("{own}", "is the query itself; write the result to another file"),
        ("x.mate/manifest.csv", "is inside the lake x.mate; write the result to another place"),
        ("lake/cities.csv", "is a file of the lake; write the result to another place"),
    ],
)
def test_nothing_of_the_user_is_overwritten(join: Run, tmp_path: Path, target: str, message: str) -> None:
    own = tmp_path / "own.csv"
    own.write_text(QUERY)
    target = target.format(own=own)
    assert join(own, "-o", target) == (2, "", f"mate: {target} {message}\n")
    assert own.read_text() == QUERY
    assert Path("lake/cities.csv").read_text().startswith("Stadt")


def test_a_spreadsheet_runs_nothing(join: Run, tmp_path: Path) -> None:
    (tmp_path / "query.csv").write_text("First,Last,=1+1\nAnsel,Adams,=2\nHelmut,Newton,-4\n")
    assert join(tmp_path / "query.csv", "-o", tmp_path / "out.csv", "--safe-csv")[0] == 0
    assert [row[2] for row in rows(tmp_path / "out.csv")] == ["'=1+1", "'=2", "-4"]


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("out", {}, "{target} has no ending; results are written as .csv, .parquet, .pq"),
        ("out.csv.gz", {}, '{target} has the ending ".gz"; results are written as .csv, .parquet, .pq'),
        ("none/out.csv", {}, "cannot write {target}: No such file or directory"),
        ("none/out.parquet", {}, "cannot write {target}: No such file or directory"),
        ("out.csv", {"table": "2"}, 'the index has no table "2"'),
        ("out.csv", {"table": "0"}, "table 0 (cities) does not join with query on First, Last"),
        ("out.csv", {"key": "First,Lost"}, 'query has no column "Lost"; did you mean "last"?'),
        ("out.csv", {"store": "none.mate"}, "there is no index at none.mate"),
    ],
)
def test_errors_are_one_line_and_write_nothing(
    join: Run, tmp_path: Path, name: str, options: dict[str, str], message: str
) -> None:
    target = tmp_path / name
    assert_refused(join("query.csv", "-o", target, **options), message.format(target=target))
    assert not list(tmp_path.iterdir())
