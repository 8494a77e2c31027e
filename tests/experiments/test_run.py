"""Runs from end to end on a lake of small files: measured, skipped, refused, compared, timed out."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest

from experiments import batches, records
from experiments.__main__ import main
from experiments.definitions import Definition, Method
from experiments.lakes import Request
from experiments.queries import Query
from experiments.registry import EXPERIMENTS
from experiments.settings import RELEASED
from experiments.worker import Searcher, Task
from mate.build.build import BuildSettings, HashRequest, build
from mate.build.lake_target import LakeTarget
from mate.search.query import QueryTable
from tests.experiments.conftest import Experiments, records_of


def test_every_experiment_runs_and_can_be_loaded(
    experiments: Experiments, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("--all", "--queries", "1") == 0
    for name in EXPERIMENTS:
        assert len(records.load(results, name))
        assert not records.missing(results, name)
    table2, table3 = records.load(results, "table2"), records.load(results, "table3")
    assert table2.drop(columns="experiment").equals(table3.drop(columns="experiment"))
    assert set(table2["method"]) >= {"scr", "bf 128", "bf 128 (fair)", "xash 512", "simhash 256", "md5 128"}
    assert table2["finished"].all()
    assert (table2["seconds"] > 0).all()
    for _, answers in table2.groupby(["query_set", "query"]):
        assert answers["checksum"].nunique() == 1
        assert answers["best"].iloc[0] == answers["cardinality"].iloc[0]  # its own table is in the lake
        assert (answers["best_other"] <= answers["best"]).all()
    assert set(records.load(results, "top-k")["k"]) == {2, 10, 20}
    assert set(records.load(results, "figure6")["key_columns"]) == set(range(2, 11))
    strategies = records.load(results, "initial-column").groupby("variant")["postings"].mean()
    best, worst = strategies["best case (ground truth)"], strategies["worst case"]
    assert best == strategies.min() < strategies.max() == worst
    builds = records.load(results, "index-generation").set_index("build")
    assert builds.loc["super keys", "per_cell_bytes_computed"] == builds["cells"].iloc[0] * 16
    assert builds.loc["super keys", "bytes_super_keys"] >= builds["rows"].iloc[0] * 16
    assert builds.loc["super keys, repeated", ["seconds", "josie_seconds", "josie_index_seconds"]].notna().all()
    assert builds.loc["super keys", "josie_index_bytes"] > builds.loc["super keys", "josie_bytes"]
    assert builds.loc["inverted index", "bytes_super_keys"] == 0 < builds.loc["super keys", "josie_bytes"]
    facts = records.load(results, "figure4").attrs["files"][0]
    assert {"definition", "versions", "machine", "seed", "scale", "command"} <= set(facts)

    before = records_of(results)
    assert experiments("--all", "--queries", "1") == 0
    assert records_of(results) == before
    capsys.readouterr()
    assert experiments("--all", "--queries", "1", "--dry-run") == 0
    assert "12 of 12" in capsys.readouterr().out
    assert main(["list", "--results", str(results)]) == 0
    assert capsys.readouterr().out.count("mine (smoke)") == len(EXPERIMENTS)


def test_a_dry_run_does_nothing(experiments: Experiments, results: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert experiments("table1", "top-k", "--dry-run") == 0
    out = capsys.readouterr().out
    assert "0 of 1" in out
    assert "0 of 48" in out
    assert not (results / "records").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "tabel2"], 'unknown experiment "tabel2"; did you mean "table2"?'),
        (["run"], "name experiments, or --all"),
        (["run", "table1", "--all"], "name experiments, or --all"),
        (["run", "table1", "--queries", "0"], "take numbers above 0"),
        (["run", "table1", "--queries", "3,0"], "take numbers above 0"),
        (["run", "table1", "--lake", "synthetik"], 'did you mean "synthetic"?'),
        (["run", "table1", "--lake", "webtables"], "--webtables DIR"),
        (["run", "table1", "--lake", "school=x"], "no name for a lake of your own"),
        (["run", "table1", "--webtables", "nowhere"], "there is no folder nowhere"),
        (["run", "table1", "--store", "nowhere.mate"], "there is no index at nowhere.mate"),
        (["run", "table1", "--lake", "synthetic", "--lake", "synthetic"], 'two lakes are called "synthetic"'),
        (["run", "table1", "--lake", "synthetic", "--kaggle", "nowhere"], "--kaggle: there is no folder nowhere"),
    ],
)
def test_what_makes_no_sense_is_said_in_one_line(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = ["--results", str(tmp_path), "--dry-run"]
    assert main([*arguments, *more]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_damaged_records_stop_the_run_until_they_are_redone(
    experiments: Experiments, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("table1") == 0
    name = sorted(records_of(results))[0]
    (results / name).write_bytes(b"nothing")
    assert experiments("table1") == 2
    error = capsys.readouterr().err
    assert Path(name).name in error
    assert "--redo" in error
    assert (results / name).read_bytes() == b"nothing"
    assert experiments("table1", "--redo") == 0
    assert len(records.load(results, "table1"))


def test_a_wrong_system_is_found_out(
    experiments: Experiments, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("figure4", "--system", "tests.experiments.systems:wrong") == 2
    error = capsys.readouterr().err
    assert "query" in error
    assert "tests.experiments.systems:wrong found joinabilities" in error
    assert not records_of(results)
    assert experiments("figure4") == 0
    assert experiments("figure4", "--system", "tests.experiments.systems:wrong") == 2  # against finished records, too


def test_a_search_without_end_is_stopped_and_the_others_go_on(experiments: Experiments, results: Path) -> None:
    options = ["--system", "tests.experiments.systems:endless", "--timeout", "2", "--queries", "1"]
    assert experiments("figure4", *options) == 0
    found = records.load(results, "figure4")
    endless = found[found["system"].str.endswith("endless")]
    assert len(endless) == endless["query_set"].nunique()
    assert not endless["finished"].any()
    assert endless["seconds"].isna().all()
    assert set(endless["error"]) == {"stopped after 2 s"}
    assert found[found["system"] == "scr"]["finished"].all()


def test_failing_systems_are_recorded_as_such(experiments: Experiments, results: Path) -> None:
    options = [f"--system=tests.experiments.systems:{name}" for name in ("dying", "failing", "nothing")]
    assert experiments("figure4", *options, "--queries", "1") == 0
    found = records.load(results, "figure4").groupby("system")["error"].first()
    assert "ended with code 9" in found["tests.experiments.systems:dying"]
    assert found["tests.experiments.systems:failing"] == "ZeroDivisionError: no answer"
    assert "there is no system" in found["tests.experiments.systems:nothing"]


def test_too_few_tables_are_said_and_empty_sets_left_out(
    experiments: Experiments, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("table1", "--queries", "50") == 0
    error = capsys.readouterr().err
    assert "mine (100): mine has only" in error
    assert "of 50 tables for it (10 to 99 distinct key tuples" in error
    assert "mine (10000): mine has no table for it" in error
    frame = records.load(results, "table1")
    assert "mine (10000)" not in set(frame["query_set"])
    sets = records.plan(results, "table1")["lakes"]["mine"]["arrays"]["query_sets"]
    assert 0 < sets["mine (100)"]["queries"] < sets["mine (100)"]["wanted"] == 50


def test_an_experiment_without_any_query_fails(
    results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thin").mkdir()
    (tmp_path / "thin/a.csv").write_text("one\n1\n2\n")
    options = ["--lake", f"thin={tmp_path / 'thin'}", "--results", str(results), "--scale", "smoke"]
    assert main(["run", "figure6", *options]) == 2
    error = capsys.readouterr().err
    assert "thin key size: thin has no table for it (ten columns that vary" in error
    assert "nothing could be measured" in error
    assert not (results / "experiments/figure6.json").exists()


def test_an_index_that_is_there_serves_what_it_can(
    files: Path, results: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = tmp_path / "own.mate"
    with LakeTarget(own) as target:
        build([str(files)], target, BuildSettings((HashRequest("xash"), Request("xash-paper")), master="none"))
    options = ["--store", str(own), "--results", str(results), "--scale", "smoke", "--queries", "1"]
    assert main(["run", "figure4", "table2", "index-generation", *options]) == 0
    error = capsys.readouterr().err
    assert "it has no super keys for md5 128" in error
    assert "index-generation needs the corpus itself" in error
    assert set(records.load(results, "table2")["method"]) == {"scr", "xash 128", "xash 128 (paper's alpha)"}
    assert len(set(records.load(results, "figure4")["method"])) == 11


def test_query_files_and_jobs(experiments: Experiments, results: Path, tmp_path: Path) -> None:
    (tmp_path / "queries/kaggle").mkdir(parents=True)
    (tmp_path / "queries/kaggle/a.csv").write_text("n,y\nname 1,1991\nname 2,1992\n")
    (tmp_path / "queries/queries.csv").write_text("path,key_columns\nkaggle/a.csv,n;y\n")
    folder = next(iter(RELEASED))
    (tmp_path / f"queries/{folder}").mkdir()
    for row in range(3):
        (tmp_path / f"queries/{folder}/{row}.csv").write_text(f"0,2\nname {row},city {row}\n")
    (tmp_path / "queries/keysize").mkdir()
    rows = [[f"name {row}", *(str(1990 + row) for _ in range(10))] for row in range(5)]
    lines = "\n".join(",".join(row) for row in [[str(i) for i in range(11)], *rows])
    (tmp_path / "queries/keysize/1290.csv").write_text(lines + "\n")
    queries = str(tmp_path / "queries")
    assert experiments("table1", "--kaggle", f"{queries}/kaggle", "--released", queries, "--jobs", "2") == 0
    frame = records.load(results, "table1")
    assert {"Kaggle", "released WT (10)", "mine (10)"} <= set(frame["query_set"])
    assert experiments("figure6", "--released", queries) == 0
    keys = records.load(results, "figure6")
    assert set(keys[keys["query_set"] == "released key size"]["key_columns"]) == set(range(2, 11))
    plan = json.loads((results / "experiments/table1.json").read_text())
    assert plan["lakes"]["mine"]["arrays"]["query_sets"]["Kaggle"] == {"role": "kaggle", "wanted": 1, "queries": 1}
    released = frame[frame["query_set"] == "released WT (10)"]
    assert released["query"].nunique() == 3, "--queries is about sampled sets"


def test_with_several_jobs_one_failure_ends_all(
    experiments: Experiments, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    systems = [f"--system=tests.experiments.systems:{name}" for name in ("wrong", "endless_elsewhere")]
    assert experiments("figure4", *systems, "--queries", "1", "--jobs", "2", "--timeout", "600") == 2
    assert "answers that should be equal differ" in capsys.readouterr().err
    assert not records_of(results)


def test_compiling_does_not_count_as_searching() -> None:
    """The first searches compile for a minute on a new machine; a time limit of seconds would stop them every time."""
    limits: dict[str, float] = {}
    plain = Definition("g", "lake", "", "", "set", "", Method("mate"), 10, 1, 2.0)
    theirs = replace(plain, method=Method("tests.experiments.systems:endless"))
    queries = SimpleNamespace(queries=[SimpleNamespace(cardinality=1)], path="queries")
    worker = SimpleNamespace(run=lambda task, timeout: limits.update({task.method.system: timeout}))
    batch = batches.Batch((plain, theirs), queries, "lake.mate")  # type: ignore[arg-type]
    batches._warm_up(batch, worker, batch.definitions)  # type: ignore[arg-type]
    assert limits["mate"] > 60
    assert limits["tests.experiments.systems:endless"] == 2.0


@pytest.mark.parametrize(("action", "rows"), [("search", 3), ("warm up", 1)])
def test_a_database_is_warmed_up_by_one_row(action: str, rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The smallest query of a lake may take a database minutes: the time limit does not hold for warming up."""
    table = QueryTable("query", pa.table({"a": ["1", "2", "3"], "b": ["4", "5", "6"]}))
    searcher, seen = Searcher(), []
    monkeypatch.setattr(searcher, "_index", lambda address: "a database")
    monkeypatch.setattr(searcher, "_query", lambda path, number: Query("query", table, ("a", "b"), 3, -1))
    monkeypatch.setattr("experiments.worker._searched", lambda index, query, task: seen.append(query))
    searcher(Task("postgresql://host/db", "queries", 0, Method("mate"), 10, action))
    assert [query.table.columns.num_rows for query in seen] == [rows]


def test_sets_may_have_different_numbers_of_queries(
    experiments: Experiments, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("table1", "--queries", "3,1", "--dry-run") == 0
    sets = [line.split() for line in capsys.readouterr().out.splitlines() if "up to" in line]
    assert [line[line.index("to") + 1] for line in sets][:3] == ["3", "1", "1"]
    with pytest.raises(SystemExit):
        experiments("table1", "--queries", "3,x")
    assert "no list such as 50,50,16" in capsys.readouterr().err
