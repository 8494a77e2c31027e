"""The discovery benchmark: queries that are what they claim, answers compared, times summarised."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.discovery import SYSTEMS, agree
from benchmarks.discovery_report import (
    READ,
    USEFUL,
    Group,
    Measurement,
    exponents,
    fastest,
    order,
    recall,
    summary,
    winners,
)
from benchmarks.growth import exponent
from experiments.queries import Shape, sample_queries
from mate.build.changes.updates import Updates
from mate.errors import MateError
from mate.lake.folder import LakeFolder
from mate.search.query import key_tuples
from tests.lakes import lake as make_lake

TABLES = [
    [[f"name {(i * step) % 40}", f"{1990 + i % 7}", f"city {i % 11}", "x" if i % 2 else ""] for i in range(60)]
    for step in range(1, 9)
]


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    return make_lake(tmp_path_factory.mktemp("lake") / "x.mate", TABLES, segments=3)


def test_queries_have_the_size_asked_for_and_come_from_the_lake(lake: LakeFolder) -> None:
    shape = Shape(least=5, below=30)
    queries = list(sample_queries(lake, 5, shape, seed=3))
    assert queries
    assert len({query.origin for query in queries}) == len(queries)
    for query in queries:
        tuples = key_tuples(query.table, query.key, frozenset(lake.manifest.nulls))
        assert len(tuples) == query.cardinality
        assert 5 <= query.cardinality < 30
    again = [query.name for query in sample_queries(lake, 5, shape, seed=3)]
    assert again == [query.name for query in queries]


def test_all_systems_answer_and_agree(lake: LakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, figure = tmp_path / "out.json", tmp_path / "out.png"
    small = make_lake(tmp_path / "small.mate", TABLES[:4])
    options = ["--store", small.address, "--store", lake.address, "--queries", "2", "--rounds", "1"]
    assert main(["discovery", *options, "--json", str(out), "--figure", str(figure)]) == 0
    records = json.loads(out.read_text())
    assert [record["cells"] for record in records] == [small.manifest.counts.cells, lake.manifest.counts.cells]
    assert {m["system"] for m in records[0]["measurements"]} == set(SYSTEMS)
    assert all(m["scores"] for m in records[0]["measurements"])
    assert figure.read_bytes().startswith(b"\x89PNG")
    printed = capsys.readouterr().out
    assert "fastest, of" in printed
    assert "exponent of the median" in printed
    (line,) = [line for line in printed.splitlines() if "mcr-josie" in line and line.split()[0] == "all"][:1]
    assert line.split()[-1] == "1.000"


def test_keys_of_one_two_and_three_columns(lake: LakeFolder, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--queries", "1", "--rounds", "1", "--key-columns", "1,2,3", "--systems", "column-first,sql"]
    assert main(["discovery", "--store", lake.address, *options]) == 0
    printed = capsys.readouterr().out
    assert "under 100, 1 column " in printed
    assert "under 100, 3 columns" in printed


def test_superseded_tables_are_in_no_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Some query joins with all seven tables that are left, and none with more."""
    out = tmp_path / "out.json"
    changed = make_lake(tmp_path / "x.mate", TABLES)
    Updates(changed.address).update_cells(2, [(0, 0, "another name")])
    Updates(changed.address).remove_tables([5])
    options = ["--store", changed.address, "--queries", "2", "--rounds", "1", "--json", str(out)]
    assert main(["discovery", *options]) == 0
    (record,) = json.loads(out.read_text())
    most = {name: max(len(m["scores"]) for m in record["measurements"] if m["system"] == name) for name in SYSTEMS}
    assert most == dict.fromkeys(SYSTEMS, 7)
    assert main(["single-column", "--store", changed.address]) == 2
    assert "has superseded tables, which JOSIE counts: mate compact removes them" in capsys.readouterr().err


def test_algorithm_1_of_the_paper_takes_part_by_name(lake: LakeFolder, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    options = ["--store", lake.address, "--queries", "2", "--rounds", "1", "--json", str(out)]
    assert main(["discovery", *options, "--systems", "mate,mate-tight"]) == 0
    (record,) = json.loads(out.read_text())
    assert {m["system"] for m in record["measurements"]} == {"mate", "mate-tight"}


def test_josie_for_one_column_agrees_with_sql(lake: LakeFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["single-column", "--store", lake.address, "--queries", "4", "--rounds", "1"]) == 0
    assert "reading all lists" in capsys.readouterr().out


def measurement(system: str, seconds: float | None, scores: list[int], query: str = "1:0,1") -> Measurement:
    return Measurement(Group("100", 2), query, 50, system, seconds, scores, {})


def test_recall_counts_answers_as_good_as_the_exact_ones() -> None:
    exact = {(Group("100", 2), "1:0,1"): [5, 3, 2]}
    assert recall([measurement("mcr-josie", 0.1, [5, 2])], exact) == "0.667"
    assert recall([measurement("mcr-josie", 0.1, [1])], exact) == "0.000"


def test_a_differing_answer_fails() -> None:
    found = [measurement("column-first", 0.1, [5, 3]), measurement("sql", 0.2, [5, 2])]
    with pytest.raises(MateError, match=r"query 1:0,1: column-first found \[5, 3\], sql found \[5, 2\]"):
        agree(found)


def test_an_unfinished_answer_is_counted_and_not_compared() -> None:
    found = [measurement("column-first", 0.1, [5]), measurement("scr", 0.3, [5]), measurement("sql", None, [])]
    agree(found)
    rows = {row[2]: row for row in summary(found, ["column-first", "scr", "sql"]) if row[0] == "all"}
    assert rows["scr"][6] == "3.00"
    assert "sql" not in rows


def test_who_is_fastest_and_how_far_column_first_is_behind() -> None:
    found = [measurement("column-first", 0.4, [5]), measurement("mate", 0.1, [5]), measurement("mcr-josie", 0.01, [4])]
    found += [measurement("column-first", 0.1, [5], "other"), measurement("mate", 0.2, [5], "other")]
    assert [(entry.best.system, entry.behind) for entry in fastest(found)] == [("mate", 4.0), ("column-first", 1.0)]
    told, verdict, behind = winners(found)
    assert told == "fastest, of 2 queries: mate 1, column-first 1"
    assert verdict.startswith("2 queries over 5 ms: column-first has 0.25 of the speed")
    assert verdict.endswith("(query 1:0,1); at least 0.8: NO")
    assert behind.row_count == 1


def test_queries_of_a_few_milliseconds_are_not_judged() -> None:
    fast = [measurement("column-first", 0.004, [5]), measurement("mate", 0.001, [5])]
    assert list(winners(fast))[1] == "no query takes column-first longer than 5 ms"
    slow = [measurement("column-first", 0.01, [5], "other"), measurement("mate", 0.009, [5], "other")]
    assert list(winners(fast + slow))[1].endswith("(query other); at least 0.8: yes")
    assert not any("longer than" in str(part) for part in winners([measurement("mate", 0.1, [5])]))


def test_what_the_order_by_usefulness_costs(
    lake: LakeFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base, useful = measurement("column-first", 0.1, [5]), measurement(USEFUL, 0.25, [3])
    base.phases[READ], useful.phases[READ] = 0.1, 0.05
    useful.counts.update(rounds=2, tables_measured=12)
    agree([base, useful])
    assert [entry.best for entry in fastest([base, useful])] == [base]
    (told,) = order([base, useful])
    assert told.startswith("the order by usefulness takes 1.50 times as long at the median, 1.50 times at 95 %;")
    assert told.endswith("rounds: 2.00, at most 2; tables measured: 12 at the median, at most 12")
    out = tmp_path / "out.json"
    options = ["--queries", "1", "--rounds", "1", "--systems", "column-first", "--rank", "--json", str(out)]
    assert main(["discovery", "--store", lake.address, *options]) == 0
    printed = capsys.readouterr().out
    assert "the order by usefulness takes" in printed
    assert "reading the results in order" in printed
    (record,) = json.loads(out.read_text())
    measured = [m["counts"]["tables_measured"] for m in record["measurements"] if m["system"] == USEFUL]
    assert measured
    assert all(measured)


def test_growth_is_the_exponent_of_a_power() -> None:
    assert exponent([(1, 3.0), (10, 30.0), (100, 300.0)]) == pytest.approx(1)
    assert exponent([(1, 5.0), (4, 10.0)]) == pytest.approx(0.5)
    assert exponent([(7, 1.0), (7, 2.0)]) is None
    results: list[tuple[int, list[Measurement]]] = [
        (cells, [measurement("mate", cells**2 * share, [1], str(share)) for share in (1.0, 2.0, 3.0)])
        for cells in (10, 100, 1_000)
    ]
    rows: list[list[Any]] = exponents(results, ["mate", "scr"])
    assert [row[1:] for row in rows] == [["mate", 3, "2.00", "2.00"]] * 2
    assert exponents(results[:1], ["mate"]) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--store", "missing.mate"], "there is no index at missing.mate"),
        (["--store", "x", "--key-columns", "2,x"], "--key-columns takes whole numbers"),
    ],
)
def test_bad_input(options: list[str], message: str, lake: LakeFolder, capsys: pytest.CaptureFixture[str]) -> None:
    given = [lake.address if option == "x" else option for option in options]
    assert main(["discovery", *given]) == 2
    assert message in capsys.readouterr().err
