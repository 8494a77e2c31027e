"""The benchmark of changes: what it measures, on tiny lakes and without Spark."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.updates import COMPACT, OPERATIONS, REBUILD
from mate.store import open_store
from mate.store.changes import changes_path
from tests.updates.model import ModelTable, build


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("updates")
    out, figure = folder / "new" / "out.json", folder / "new" / "out.png"
    options = ["--sizes", "0.01", "--rounds", "1", "--piles", "0,2", "--master", "none", "--layout", "per_row"]
    assert main(["updates", *options, "--json", str(out), "--figure", str(figure)]) == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_every_operation_is_measured_beside_a_build(record: dict[str, Any]) -> None:
    assert [cost["operation"] for cost in record["costs"]] == [REBUILD, *OPERATIONS, COMPACT]
    assert all(cost["best"] == min(cost["seconds"]) > 0 for cost in record["costs"])
    assert all(start > 0 for cost in record["costs"] for start in cost["start_seconds"])
    rows = {cost["operation"]: cost["rows"] for cost in record["costs"]}
    assert (rows["add a table"], rows["append 10 rows"], rows["update a cell"], rows["remove a row"]) == (200, 10, 1, 1)
    assert rows["remove a table"] == rows["add a column"] == rows["remove a column"] > 1
    assert (
        len({cost["cells"] for cost in record["costs"]} - {record["costs"][-1]["cells"]}) == 1
    )  # each on the same index
    assert [pile["changes_before"] for pile in record["piles"]] == [0, 2]


def test_an_index_of_ones_own_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "own.duckdb"
    build(store, [ModelTable(name, ["a", "b"], [["x", "y"], ["z", "w"]]) for name in ("one", "two")], "per_cell")
    before = store.read_bytes()
    assert main(["updates", "--store", str(store), "--rounds", "1", "--piles", "0"]) == 0
    assert "own.duckdb" in capsys.readouterr().out
    assert store.read_bytes() == before
    assert not changes_path(store).exists()
    with open_store(str(store)) as index:
        assert index.manifest.tables == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "ten"], "--sizes takes numbers such as 1,10,40, not 'ten'"),
        (["--piles", "-1"], "--piles takes numbers"),
        (["--layout", "per_table"], 'unknown layout "per_table"'),
        (["--rounds", "0"], "--rounds takes a whole number from 1 on, not 0"),
        (["--store", "no/such.duckdb"], "there is no index at no/such.duckdb"),
        (["--json", "."], "cannot write to ."),
    ],
)
def test_bad_input(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["updates", *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("benchmarks: ")
    assert message in line
