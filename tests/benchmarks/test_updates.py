"""The benchmark of changes: what it measures, on tiny lakes and without Spark."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.__main__ import main
from benchmarks.updates import ADD_LARGE, ALL, REBUILD, UPDATE_LARGE
from mate.lake.folder import open_folder
from tests.lakes import lake

SMALL = ["--rounds", "1", "--large", "300"]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("updates")
    out, figure = folder / "new" / "out.json", folder / "new" / "out.png"
    options = ["--sizes", "0.01", "--piles", "0,2", "--master", "none", *SMALL]
    assert main(["updates", *options, "--json", str(out), "--figure", str(figure)]) == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    found: dict[str, Any] = json.loads(out.read_text())
    return found


def test_every_operation_is_measured_beside_a_build(record: dict[str, Any]) -> None:
    assert [cost["operation"] for cost in record["costs"]] == [REBUILD, *ALL]
    assert all(cost["best"] == min(cost["seconds"]) > 0 for cost in record["costs"])
    assert all(start > 0 for cost in record["costs"] for start in cost["start_seconds"])
    rows = {cost["operation"]: cost["rows"] for cost in record["costs"]}
    assert (rows["add a table"], rows["append 10 rows"], rows["update a cell"], rows["remove a row"]) == (200, 10, 1, 1)
    assert (rows[ADD_LARGE], rows[UPDATE_LARGE]) == (300, 1)
    assert rows["remove a table"] == rows["add a column"] == rows["remove a column"] > 1
    assert [pile["changes_before"] for pile in record["piles"]] == [0, 2]


def test_each_operation_meets_the_lake_as_it_was(record: dict[str, Any]) -> None:
    cells = {cost["operation"]: cost["cells"] for cost in record["costs"]}
    last = cells.pop("compact after that")
    large = cells.pop(UPDATE_LARGE)
    (built,) = set(cells.values())
    assert last < built
    assert large == built + 4 * 300


def test_a_lake_of_ones_own_is_not_touched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = tmp_path / "own.mate"
    lake(store, [[["x", "y"], ["z", "w"]]] * 2)
    before = {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()}
    assert main(["updates", "--store", str(store), "--piles", "0", *SMALL]) == 0
    assert "own.mate" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in sorted(store.rglob("*")) if path.is_file()} == before
    with open_folder(store) as index:
        assert index.manifest.counts.tables == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sizes", "ten"], "--sizes takes numbers such as 1,10,40, not 'ten'"),
        (["--piles", "-1"], "--piles takes numbers"),
        (["--large", "0"], "--large takes a whole number from 1 on, not 0"),
        (["--rounds", "0"], "--rounds takes a whole number from 1 on, not 0"),
        (["--store", "no/such.mate"], "there is no index at no/such.mate"),
        (["--json", "."], "cannot write to ."),
    ],
)
def test_bad_input(options: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["updates", *options]) == 2
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("benchmarks: ")
    assert message in line
