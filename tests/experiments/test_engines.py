"""Experiments on databases: the same answers as on arrays."""

from pathlib import Path

import pytest

from experiments import records
from experiments.__main__ import main
from tests.experiments.conftest import Experiments
from tests.sql.places import PLACES


@pytest.mark.parametrize("engine", PLACES)
def test_figure_4_on_a_database_beside_arrays(
    experiments: Experiments, results: Path, engine: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert experiments("figure4", "--queries", "1") == 0
    arrays = records.load(results, "figure4").groupby(["query_set", "query"])["checksum"].first()
    with PLACES[engine]() as address:
        given = [] if engine == "duckdb" else ["--database", address.replace("schema=", "label=")]
        assert experiments("figure4", "--queries", "1", "--engine", engine, *given) == 0
    found = records.load(results, "figure4")
    assert found["finished"].all()
    assert set(found["method"]) >= {"column-first", "xash 128", "scr", "mcr"}
    assert not {"scr-josie", "mcr-josie"} & set(found["method"])
    assert "scr-josie, mcr-josie; they are left out" in capsys.readouterr().err
    for place, answers in found.groupby(["query_set", "query"]):
        assert set(answers["checksum"]) == {arrays[place]}


@pytest.mark.parametrize("given", [["--engine", "postgresql"], ["--database", "vertica://me@host/db"]])
def test_a_server_needs_its_address(given: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "figure4", *given]) == 2
    assert "--database ADDRESS goes with --engine" in capsys.readouterr().err
