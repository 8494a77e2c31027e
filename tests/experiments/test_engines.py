"""Experiments on databases: the same answers as on arrays."""

import time
from pathlib import Path

import pytest

from experiments import records
from experiments.__main__ import main
from experiments.definitions import Method
from experiments.lakes import ALL_IN_DATABASES, IN_DATABASES, MeasuredLake
from experiments.query_sets import SetSpec, obtain
from experiments.records import read
from experiments.reporting.results import read_results
from experiments.worker import Task, Worker
from mate.stores import open_index
from tests.experiments.conftest import Experiments
from tests.postgresql.server import shared_server
from tests.sql.places import PLACES, duckdb_place, index, postgresql_place


@pytest.mark.parametrize("engine", PLACES)
def test_figure_4_on_a_database_beside_arrays(
    experiments: Experiments, results: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("figure4", "--queries", "1") == 0
    with PLACES[engine]() as address:
        given = [] if engine == "duckdb" else ["--database", address.replace("schema=", "label=")]
        assert experiments("figure4", "--queries", "1", "--engine", engine, *given) == 0
    found = records.load(results, "figure4")
    assert found["finished"].all()
    methods = found.groupby("engine")["method"].agg(set)
    assert set(methods.index) == {"arrays", engine}
    assert methods[engine] >= {"column-first", "xash 128", "xash 128 (paper's alpha)", "xash 128 (released)", "scr"}
    assert methods["arrays"] - methods[engine] == {"scr-josie", "mcr-josie"}
    assert "no column sets for scr-josie, mcr-josie; left out" in capsys.readouterr().err
    funnel = found[found["engine"] == engine].groupby("method")["pairs"].sum()
    assert 0 < funnel["mcr"] <= funnel["scr"], "posting lists are intersected where they are"
    assert (found.groupby(["query_set", "query"])["checksum"].nunique() == 1).all()
    servers = {fact.get("server", "") for fact in found.attrs["files"]}
    assert len(servers - {""}) == 1, "the records of the database name its version"
    assert "phase_evidence" not in found, "answers are not read, so that nothing but the search is timed"


@pytest.mark.parametrize(("engine", "layout"), [("vertica", "per_cell"), ("duckdb", "per_row")])
def test_a_database_from_an_empty_schema_to_a_report(
    experiments: Experiments,
    results: Path,
    engine: str,
    layout: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All hash functions are loaded and searched, sizes are asked for, and nothing is left behind."""
    drop = MeasuredLake.drop
    with PLACES[engine]() as address:
        given = [] if engine == "duckdb" else ["--database", address.replace("schema=", "label=")]
        given += ["--engine", engine, "--layout", layout, "--hashes", "all", "--master", "none", "--queries", "1"]
        assert experiments("table2", "index-generation", *given, "--dry-run") == 0
        printed = capsys.readouterr().out
        assert printed.count("CREATE TABLE") >= 10
        assert "DROP SCHEMA" in printed
        dropped: list[str] = []
        monkeypatch.setattr(MeasuredLake, "drop", lambda lake, folder: (dropped.append(lake.where), drop(lake, folder)))
        assert experiments("table2", "index-generation", *given, "--clean") == 0
        assert len(dropped) == 3, "two builds whose sizes were asked for, and the index"
        found = records.load(results, "table2")
        (record,) = {tuple(fact["definition"]["method"]["engine"].split()) for fact in found.attrs["files"]}
        assert record == ((engine,) if layout == "per_cell" else (engine, layout))
        assert len(set(found["method"])) == 1 + len(ALL_IN_DATABASES.hashes)
        assert found["finished"].all()
        builds = records.load(results, "index-generation").set_index("build")["bytes"]
        plain, keyed = (builds[f"{build} in {' '.join(record)}"] for build in ("inverted index", "super keys"))
        assert 0 < plain <= keyed
    assert main(["report", "--results", str(results)]) == 0


def test_two_engines_in_one_folder_of_results(experiments: Experiments, results: Path) -> None:
    options = ["--queries", "1", "--timeout"]
    assert experiments("figure4", *options, "60") == 0
    assert experiments("figure4", *options, "50", "--engine", "duckdb") == 0
    both = read_results(results)
    assert both.engines(["figure4"]) == ["arrays", "duckdb"]
    assert set(both.queries("figure4")["limit"]) == {60}
    assert set(both.queries("figure4", "duckdb")["limit"]) == {50}
    assert "--engine duckdb" not in both.commands["figure4", "mine", "arrays"]
    assert "column sets" in " ".join(both.notes)
    file = next(p for p in (results / "records").rglob("scr-k10-*") if read(p).metadata["definition"]["timeout"] == 50)
    file.unlink()
    without = read_results(results)
    assert any("mine, duckdb" in gap.what for gap in without.gaps)
    assert len(without.queries("figure4")) == len(both.queries("figure4"))
    assert len(without.queries("figure4", "duckdb")) < len(both.queries("figure4", "duckdb"))


def test_an_index_in_a_database_has_the_keys_of_few_hash_functions(experiments: Experiments, results: Path) -> None:
    assert experiments("table3", "--queries", "1", "--engine", "duckdb") == 0
    (file,) = (results / "lakes").rglob("*.duckdb")
    with open_index(f"duckdb:{file}") as index:
        assert index.manifest.layout == "per_cell"
        assert {(spec.name, spec.bits) for spec in index.manifest.hashes} == set(IN_DATABASES.hashes)
    found = records.load(results, "table3")
    assert set(found["engine"]) == {"duckdb"}
    assert len(set(found["method"])) == 1 + len(IN_DATABASES.hashes)
    assert main(["report", "--results", str(results)]) == 0


def test_the_engine_of_an_index_that_is_there(files: Path, tmp_path: Path) -> None:
    with duckdb_place() as address:
        index(files, address)
        given = ["--store", address, "--results", str(tmp_path), "--scale", "smoke", "--queries", "1"]
        assert main(["run", "figure4", *given]) == 0
    assert set(records.load(tmp_path, "figure4")["engine"]) == {"duckdb"}


def test_a_search_that_was_stopped_does_not_go_on_in_the_server(files: Path, tmp_path: Path) -> None:
    with postgresql_place(label="stopped") as address:
        index(files, address)
        with open_index(address) as opened:
            spec = SetSpec("mine (100)", "sampled", 1, 1, 2, 100)
            queries = obtain(tmp_path, "mine", spec, opened)
        task = Task(address, str(queries.path), 0, Method("tests.experiments.systems:endless_statement"), 10)
        with Worker() as worker:
            assert worker.run(task, 5).error == "stopped after 5 s"
            sleeping = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'stopped'"
            for _ in range(50):
                ((left,),) = shared_server().run(sleeping)
                if not left:
                    break
                time.sleep(0.1)
    assert left == 0


@pytest.mark.parametrize("given", [["--engine", "postgresql"], ["--database", "vertica://me@host/db"]])
def test_a_server_needs_its_address(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "figure4", *given]) == 2
    assert "--database ADDRESS goes with --engine" in capsys.readouterr().err
