"""`mate join` as a person meets it."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mate.cli.program import main

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


Run = Any


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """``run("query.csv", ...)``: exit code, standard output, standard error."""
    monkeypatch.chdir(folder)

    def join(*arguments: str, key: str = "First,Last", table: str = "1", store: str = "x.mate") -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["join", "--store", store, "--key", key, "--table", table, *arguments])
        return code, *capsys.readouterr()

    return join


def rows(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.reader(stream))


def test_a_left_join_keeps_every_row_in_its_order(run: Run, tmp_path: Path) -> None:
    """Cells are those of the files, not tokens; where two rows match, the first is taken."""
    target = tmp_path / "out.csv"
    code, out, err = run("query.csv", "-o", str(target))
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


def test_all_matches_repeats_a_row(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    code, out, _ = run("query.csv", "-o", str(target), "--matches", "all")
    assert code == 0
    assert [(row[0], row[2], row[4]) for row in rows(target)[1:]] == [
        ("Nobody", "0", ""),
        ("ansel", "1", "first"),
        ("ansel", "1", "second"),
        ("Muhammad", "2", '  Dancer, "the best"  '),
        ("", "3", ""),
        ("Ansel", "4", "first"),
        ("Ansel", "4", "second"),
        ("Helmut", "", "-"),
    ]
    assert "8 rows, 6 of them matched" in out


def test_parquet_keeps_nulls(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.parquet"
    assert run("query.csv", "-o", str(target))[0] == 0
    table = pq.read_table(target)
    assert table.column_names == ["First", "Last", "Salary", *ADDED]
    assert table.column("Note").to_pylist() == [None, "first", '  Dancer, "the best"  ', None, "first", "-"]
    assert table.num_rows == 6


def test_a_join_on_one_column_adds_the_rest(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    code, out, _ = run("query.csv", "-o", str(target), key="Last")
    assert code == 0
    assert rows(target)[0] == ["First", "Last", "Salary", "Vorname", *ADDED]
    assert rows(target)[4] == ["", "Lee", "3", "Muhammad", "60k", '  Dancer, "the best"  ', "1"]
    assert "5 of them matched on Last = Nachname" in out


def test_matches_become_one_row(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "out.csv"
    code, out, _ = run("query.csv", "-o", str(target), "--matches", "aggregate")
    assert code == 0
    assert rows(target) == [
        ["First", "Last", "Salary", *ADDED, "matching rows"],
        ["Nobody", "Nowhere", "0", "", "", "", ""],
        ["ansel", "ADAMS", "1", "50k; 51k", "first; second", "2.0", "2"],
        ["Muhammad", "Lee", "2", "60k", 'Dancer, "the best"', "1.0", "1"],
        ["", "Lee", "3", "", "", "", ""],
        ["Ansel", "Adams", "4", "50k; 51k", "first; second", "2.0", "2"],
        ["Helmut", "Newton", "", "", "-", "4.0", "1"],
    ]
    assert "6 rows, 4 of them matched" in out


@pytest.mark.parametrize("table", ["1", "people", "lake/people.csv"])
def test_a_table_by_number_name_or_file(run: Run, tmp_path: Path, table: str) -> None:
    target = tmp_path / "out.csv"
    assert run("query.csv", "-o", str(target), table=table)[0] == 0
    assert len(rows(target)) == 7


def test_nothing_of_the_user_is_overwritten(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(QUERY)
    (tmp_path / "link.csv").symlink_to(tmp_path / "own.csv")
    (tmp_path / "hard.csv").hardlink_to(tmp_path / "own.csv")
    before = {path: path.read_bytes() for path in (folder / "x.mate").rglob("*") if path.is_file()}
    for target, message in (
        (tmp_path / "own.csv", "is the query itself; write the result to another file"),
        (tmp_path / "link.csv", "is the query itself; write the result to another file"),
        (tmp_path / "hard.csv", "is the query itself; write the result to another file"),
        (Path("x.mate/manifest.csv"), "is inside the lake x.mate; write the result to another place"),
        (Path("lake/cities.csv"), "is a file of the lake; write the result to another place"),
    ):
        code, out, err = run(str(tmp_path / "own.csv"), "-o", str(target))
        assert (code, out, err) == (2, "", f"mate: {target} {message}\n")
    assert (tmp_path / "own.csv").read_text() == QUERY
    assert (folder / "lake/cities.csv").read_text().startswith("Stadt")
    assert {path: path.read_bytes() for path in (folder / "x.mate").rglob("*") if path.is_file()} == before


def test_a_spreadsheet_runs_nothing(run: Run, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "query.csv").write_text('First,Last,=1+1\nAnsel,Adams,"=HYPERLINK(""x"")"\nHelmut,Newton,-4\n')
    for options, first in (([], "=HYPERLINK"), (["--safe-csv"], "'=HYPERLINK")):
        assert run(str(tmp_path / "query.csv"), "-o", str(tmp_path / "out.csv"), *options)[0] == 0
        written = rows(tmp_path / "out.csv")
        assert written[1][2].startswith(first)
        assert written[2][2] == "-4"
    assert written[0][2] == "'=1+1"


@pytest.mark.parametrize("name", ["out.xlsx", "out.json", "out", "out.csv.gz"])
def test_endings_that_are_not_written(run: Run, tmp_path: Path, name: str) -> None:
    code, out, err = run("query.csv", "-o", str(tmp_path / name))
    assert (code, out) == (2, "")
    assert "results are written as .csv, .parquet, .pq" in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (["query.csv"], {"table": "2"}, 'the index has no table "2"'),
        (["query.csv"], {"table": "0"}, "table 0 (cities) does not join with query on First, Last"),
        (["query.csv"], {"key": "First,Lost"}, 'query has no column "Lost"; did you mean "last"?'),
        (["query.csv"], {"store": "none.mate"}, "there is no index at none.mate"),
    ],
)
def test_errors_are_one_line_and_write_nothing(
    run: Run, tmp_path: Path, arguments: list[str], options: dict[str, str], message: str
) -> None:
    code, out, err = run(*arguments, "-o", str(tmp_path / "out.csv"), **options)
    assert (code, out) == (2, "")
    assert err.lower().startswith(f"mate: {message}".lower())
    assert err.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_an_output_that_cannot_be_written(run: Run, tmp_path: Path, name: str) -> None:
    target = tmp_path / "no such folder" / name
    code, out, err = run("query.csv", "-o", str(target))
    assert (code, out, err) == (2, "", f"mate: cannot write {target}: No such file or directory\n")
