"""`mate search` as a person meets it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mate.cli.program import main
from tests.commands.conftest import Run, assert_refused

PEOPLE = """Vorname,Nachname,Land,Beruf
Muhammad,Lee,US,Dancer
Ansel,Adams,UK,Photographer
Ansel,Adams,US,[bold]Painter[/bold]
Helmut,Newton,Germany,
"""
CITIES = "Stadt;Land;Einwohner\nBerlin;Germany;3,6\nLondon;UK;8,9\n"
QUERY = """First,Last,"Country, of birth",Salary
Muhammad,Lee,US,60
Ansel,Adams,UK,50
ANSEL ,adams,us,40
Nobody,Nowhere,US,1
,Lee,US,2
"""
KEY = ("--key", "First", "--key", "Last", "--key", "Country, of birth")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake, its index, and a query; the query itself is a table of the lake as well, twice."""
    folder = tmp_path_factory.mktemp("lake")
    (folder / "lake").mkdir()
    (folder / "lake/cities.csv").write_text(CITIES)
    (folder / "lake/people.csv").write_text(PEOPLE)
    (folder / "lake/query.csv").write_text(QUERY)
    (folder / "lake/same content.csv").write_text(QUERY)
    (folder / "elsewhere.csv").write_text(QUERY)
    (folder / "changed.csv").write_text(QUERY + "One,more,row,3\n")
    assert main(["index", str(folder / "lake"), "--store", str(folder / "x.mate"), "--master", "none"]) == 0
    return folder


@pytest.fixture
def search(folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``search("elsewhere.csv", ...)``: exit code, standard output, standard error; no path is too long for a line."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "400")
    return lambda *arguments: run("search", "--store", "x.mate", *arguments)


@pytest.mark.parametrize("columns", [80, 100, 120, 160])
def test_tables_fit_the_terminal(search: Run, monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    """No header breaks within a word, no line is too long, and a mapping has a line of its own where it is narrow."""
    monkeypatch.setenv("COLUMNS", str(columns))
    code, out, _ = search("elsewhere.csv", *KEY)
    assert code == 0
    lines = out.splitlines()
    head = [line.split() for line in lines[: next(n for n, line in enumerate(lines) if "─" in line)]]
    words = {word for line in head for word in line}
    known = {"table", "of", "key", "unique", "rows", "per", "match", "vs", "chance", "names", "name"}
    assert words - known <= ({"joinability", "join", "on", "source"} if columns >= 120 else {"join-", "ability"})
    assert all(len(line) <= columns for line in lines[:8])
    mapping = "First = Vorname, Last = Nachname, Country, of birth = Land"
    if 80 <= columns < 120:
        assert f"on {mapping}" in [line.strip() for line in lines]


def found(search: Run, *arguments: str) -> dict[str, Any]:
    code, out, err = search(*arguments, "--json")
    assert (code, err) == (0, "")
    answer: dict[str, Any] = json.loads(out)
    return answer


def names(answer: dict[str, Any]) -> list[str]:
    return [result["table"] for result in answer["results"]]


# Output


def test_a_person_can_read_it(search: Run) -> None:
    code, out, err = search("elsewhere.csv", *KEY)
    assert (code, err) == (0, "")
    lines = [line.split() for line in out.splitlines() if line.strip()]
    assert " ".join(lines[0]) == "of rows per vs"
    assert " ".join(lines[1]) == "table joinability key unique match chance names name join on source"
    answers = [line for line in lines[3:] if line[0].isdecimal()]
    assert [line[:5] for line in answers][::2] == [["2", "4", "100%", "100%", "1"], ["1", "3", "75%", "100%", "1"]]
    assert "query" in answers[0]
    assert "people" in answers[2]
    assert "First = Vorname, Last = Nachname, Country, of birth = Land" in out
    assert "left out: 1 row of the query with an empty cell in the key" in out
    assert "postings" not in out


def test_nothing_found_is_an_answer(search: Run, tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("a,b\nMuhammad,Adams\n")
    code, out, _ = search(str(tmp_path / "q.csv"), "--key", "a,b")
    assert (code, out.strip()) == (0, "no table of the index joins with q on a, b")


def test_json(search: Run) -> None:
    answer = found(search, "elsewhere.csv", *KEY, "-k", "3", "--system", "mate")
    assert answer["results"][2] == {
        "table_id": 1,
        "table": "people",
        "source": answer["results"][2]["source"],
        "joinability": 3,
        "mapping": {"First": "Vorname", "Last": "Nachname", "Country, of birth": "Land"},
        "evidence": answer["results"][2]["evidence"],
    }
    evidence = answer["results"][2]["evidence"]
    assert (evidence["containment"], evidence["uniqueness"], evidence["fan_out"]) == (0.75, 1.0, 1.0)
    assert evidence["usefulness"] == 0.75
    assert 0 < evidence["chance"] < 3
    assert 0 <= evidence["names"] <= 1
    assert answer["results"][2]["source"].endswith("lake/people.csv")
    stats = answer["stats"]
    assert (stats["system"], stats["key_tuples"], stats["known_tuples"]) == ("mate", 4, 4)
    assert stats["precision"] == stats["true_positives"] / (stats["true_positives"] + stats["false_positives"])
    assert stats["tables"] == stats["tables_cut_rule_1"] + stats["tables_cut_rule_2"] + stats["tables_checked"]
    assert stats["seconds"]["prepare"] > 0


def test_explain_shows_the_funnel(search: Run) -> None:
    code, out, _ = search("elsewhere.csv", *KEY, "--explain", "--system", "mate", "--initial-column", "Last")
    counts = {" ".join(line.split()[:-1]): line.split()[-1] for line in out.splitlines() if len(line.split()) > 1}
    assert code == 0
    assert counts["distinct key tuples of the query"] == "4"
    assert counts["whose values all occur in the index"] == "4"
    # lee, adams and nowhere: 2 + 2 in people, 2 x (2 + 2 + 1) in the two copies of the query.
    assert counts["postings of the initial column, Last"] == "13"
    assert counts["pairs of posting and key tuple"] == "19"
    assert counts["checked exactly"] == "3"
    assert counts["answers"] == "3"
    assert float(counts["total (ms)"]) > 0


# Evidence and rank

BIRTHS = "year,month,births\n" + "".join(f"{2000 + n % 4},{1 + n % 12},{9000 + n}\n" for n in range(48))


@pytest.fixture(scope="module")
def numbers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that has the years and months of the query by chance, beside one that means them."""
    folder = tmp_path_factory.mktemp("numbers")
    (folder / "lake").mkdir()
    (folder / "births.csv").write_text(BIRTHS)
    dice = random.Random(7)
    rows = "".join(f"{2000 + dice.randrange(4)},{1 + dice.randrange(12)},{n}\n" for n in range(40))
    (folder / "lake/batting.csv").write_text("season,games,id\n" + rows)
    calendar = "".join(f"{2000 + n % 4},{1 + n % 12},day {n}\n" for n in range(0, 12))
    (folder / "lake/calendar.csv").write_text("year,month,first\n" + calendar)
    assert main(["index", str(folder / "lake"), "--store", str(folder / "x.mate"), "--master", "none"]) == 0
    return folder


def test_a_result_of_chance_is_marked(numbers: Path, run: Run) -> None:
    code, out, _ = run("search", numbers / "births.csv", "--key", "year,month", "--store", numbers / "x.mate")
    assert code == 0
    lines = {name: line.split() for line in out.splitlines() for name in ("batting", "calendar") if name in line}
    assert "chance" in lines["batting"]
    assert "chance" not in lines["calendar"]
    assert '"chance": no more combinations match than if the columns had nothing to do with each other' in out


def test_ranks_and_names(search: Run, numbers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(numbers)
    for rank in ("usefulness", "joinability"):
        results = found(search, "births.csv", "--key", "year,month", "--rank", rank)["results"]
        order = [result["evidence"]["usefulness" if rank == "usefulness" else "containment"] for result in results]
        assert order == sorted(order, reverse=True)
    assert results[0]["evidence"]["names"] is not None
    without = found(search, "births.csv", "--key", "year,month", "--no-names")["results"]
    assert without[0]["evidence"]["names"] is None
    code, out, _ = search("births.csv", "--key", "year,month", "--no-names")
    assert (code, "names" in out.split("─")[0]) == (0, False)


# The key


@pytest.mark.parametrize(
    "key", [["First,Last"], ["first , LAST"], ["First", "Last"], ["Country, of birth", "Last,First"]]
)
def test_ways_to_name_the_key(search: Run, key: list[str]) -> None:
    mapping = found(search, "elsewhere.csv", *(f"--key={text}" for text in key))["results"][2]["mapping"]
    assert (mapping["First"], mapping["Last"]) == ("Vorname", "Nachname")
    assert ("Country, of birth" in mapping) == ("Country, of birth" in key)


# The query's own tables


def test_exclude_self_knows_the_file_and_its_copies(search: Run) -> None:
    assert names(found(search, "elsewhere.csv", *KEY)) == ["query", "same content", "people"]
    assert names(found(search, "elsewhere.csv", *KEY, "--exclude-self")) == ["people"]
    assert names(found(search, "lake/query.csv", *KEY, "--exclude-self")) == ["people"]
    assert names(found(search, "changed.csv", *KEY, "--exclude-self")) == ["query", "same content", "people"]


def test_exclude_self_knows_the_path_after_the_file_changed(search: Run, folder: Path) -> None:
    own = folder / "lake/query.csv"
    own.write_text(QUERY + "One,more,row,3\n")
    try:
        assert names(found(search, "lake/../lake/query.csv", *KEY, "--exclude-self")) == ["same content", "people"]
    finally:
        own.write_text(QUERY)


# What goes wrong

ASKED = ["elsewhere.csv", "--key", "First"]
AS_IN_THE_PAPER = [*ASKED, "--system", "mate"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", "--key", "a"], "none.csv: no such file or folder"),
        (["elsewhere.csv", "--key", "Frist"], 'elsewhere has no column "Frist"; did you mean "first"?'),
        (["elsewhere.csv", "--key", "First,"], 'elsewhere has no column ""; known: '),
        (["elsewhere.csv", "--key", "First,first"], 'the key names the column "First" twice'),
        ([*ASKED, "--system", "mtae"], 'unknown system "mtae"; did you mean "mate"?'),
        ([*AS_IN_THE_PAPER, "--hash", "bf"], "the index has no bf; it was built with: xash:128"),
        ([*AS_IN_THE_PAPER, "--hash", "xash:64"], "the index has no xash with 64 bits; it was built"),
        ([*AS_IN_THE_PAPER, "--hash", "xash:x"], "a hash function is named NAME or NAME:BITS, not 'xash:x'"),
        ([*ASKED, "--hash", "xash"], 'hash "xash" is of no use here: column-first'),
        ([*ASKED, "--initial-column", "order"], 'initial_column "order" is of no use here'),
        ([*AS_IN_THE_PAPER, "--initial-column", "longst"], "no strategy or key column is called"),
        ([*ASKED, "--store", "none.mate"], "there is no index at none.mate; build one with: mate index PATH --store"),
        ([*ASKED, "--store", "changed.csv"], "changed.csv is a file; an index is a folder"),
        ([*ASKED, "--store", "lake"], "lake is a folder without an index: it has no manifest.json"),
    ],
)
def test_errors_are_one_line(search: Run, arguments: list[str], message: str) -> None:
    assert_refused(search(*arguments), message)


# Start-up


def test_a_search_loads_nothing_that_it_does_not_need(folder: Path) -> None:
    """Spark and matplotlib have no part in it, and a small search needs no compiler; pandas is loaded by PyArrow."""
    script = (
        "import sys; from mate.cli.program import main; code = main(sys.argv[1:]);"
        "heavy = [n for n in ('pyspark', 'matplotlib') if n in sys.modules];"
        "print(code, heavy, file=sys.stderr)"
    )
    arguments = ["search", "elsewhere.csv", *KEY, "--store", "x.mate", "--exclude-self"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=folder, capture_output=True, text=True, check=True
    )
    assert done.stderr == "0 []\n"
    assert "people" in done.stdout
