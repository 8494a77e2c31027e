"""The discovery benchmark: queries that are what they claim, answers compared, times summarised."""

import json
from pathlib import Path

import pytest

from benchmarks.__main__ import main
from benchmarks.discovery import Measurement, agree, recall, summary
from experiments.queries import sample_queries
from mate.errors import MateError
from mate.search.query import key_tuples
from mate.store import IndexStore
from tests.lakes import lake

TABLES = [
    [[f"name {(i * step) % 40}", f"{1990 + i % 7}", f"city {i % 11}", "x" if i % 2 else ""] for i in range(60)]
    for step in range(1, 9)
]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    return lake(tmp_path_factory.mktemp("lake") / "x.duckdb", TABLES)


def test_queries_have_the_size_asked_for_and_come_from_the_lake(store: IndexStore) -> None:
    queries = list(sample_queries(store, 5, least=5, below=30, seed=3))
    assert queries
    assert len({query.origin for query in queries}) == len(queries)
    for query in queries:
        tuples = key_tuples(query.table, query.key, frozenset(store.manifest.nulls))
        assert len(tuples) == query.cardinality
        assert 5 <= query.cardinality < 30
    again = [query.name for query in sample_queries(store, 5, least=5, below=30, seed=3)]
    assert again == [query.name for query in queries]


def test_all_systems_answer_and_agree(store: IndexStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, figure = tmp_path / "out.json", tmp_path / "out.png"
    options = ["--store", store.address, "--store", store.address, "--queries", "2", "--rounds", "1"]
    assert main(["discovery", *options, "--json", str(out), "--figure", str(figure)]) == 0
    records = json.loads(out.read_text())
    assert {m["system"] for m in records[0]["measurements"]} == {"mate", "scr", "mcr", "sql"}
    assert all(m["scores"] for m in records[0]["measurements"])
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert "times MATE" in capsys.readouterr().out


@pytest.mark.parametrize("width", [1, 3])
def test_the_sql_join_takes_any_number_of_key_columns(store: IndexStore, width: int) -> None:
    options = ["--queries", "2", "--rounds", "1", "--key-columns", str(width)]
    assert main(["discovery", "--store", store.address, *options]) == 0


@pytest.fixture(scope="module")
def josie_store(tmp_path_factory: pytest.TempPathFactory) -> IndexStore:
    return lake(tmp_path_factory.mktemp("lake") / "josie.duckdb", TABLES, josie=True)


def test_josie_systems_join_in_where_the_index_has_them(
    josie_store: IndexStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["discovery", "--store", josie_store.address, "--queries", "1", "--rounds", "1"]) == 0
    out = capsys.readouterr().out
    assert "scr-josie" in out
    (line,) = [line for line in out.splitlines() if "mcr-josie" in line and line.split()[0] == "all"]
    assert line.split()[-1] == "1.000"


def test_the_looser_bound_takes_part_by_name(
    store: IndexStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out.json"
    options = ["--store", store.address, "--queries", "2", "--rounds", "1", "--json", str(out)]
    assert main(["discovery", *options, "--systems", "mate,mate-loose"]) == 0
    (record,) = json.loads(out.read_text())
    assert {m["system"] for m in record["measurements"]} == {"mate", "mate-loose"}


def test_unary_josie_agrees_with_sql(josie_store: IndexStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["josie", "--store", josie_store.address, "--queries", "4", "--rounds", "1"]) == 0
    assert "reading all lists" in capsys.readouterr().out


def test_josie_needs_its_index(store: IndexStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["josie", "--store", store.address]) == 2
    assert "build it again with mate index --josie" in capsys.readouterr().err


def test_recall_counts_answers_as_good_as_the_exact_ones() -> None:
    exact = {("100", "1:0,1"): [5, 3, 2]}
    assert recall([measurement("mcr-josie", 0.1, [5, 2])], exact) == "0.667"
    assert recall([measurement("mcr-josie", 0.1, [1])], exact) == "0.000"


def measurement(system: str, seconds: float | None, scores: list[int]) -> Measurement:
    return Measurement("100", "1:0,1", 50, system, seconds, scores, {})


def test_a_differing_answer_fails() -> None:
    found = [measurement("mate", 0.1, [5, 3]), measurement("sql", 0.2, [5, 2])]
    with pytest.raises(MateError, match=r"query 1:0,1: mate found \[5, 3\], sql found \[5, 2\]"):
        agree(found)


def test_an_unfinished_answer_is_counted_and_not_compared() -> None:
    found = [measurement("mate", 0.1, [5]), measurement("scr", 0.3, [5]), measurement("sql", None, [])]
    agree(found)
    rows = {row[2]: row for row in summary(found, ["mate", "scr", "sql"]) if row[0] == "all"}
    assert rows["scr"][5] == "3.00"
    assert "sql" not in rows


def test_a_missing_store(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["discovery", "--store", "missing.duckdb"]) == 2
    assert "there is no index at missing.duckdb" in capsys.readouterr().err
