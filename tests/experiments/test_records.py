"""Records: written whole, read back, refused when damaged, and only those that an experiment consists of."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.errors import RecordError
from experiments.records import SEARCHES, load, missing, note_plan, plan, read, write

ROW: dict[str, Any] = {
    "lake": "mine",
    "query": "a\x00b\n\"'; DROP",
    "k": 10,
    "counted": True,
    "seconds": 0.5,
    "phases": {"fetch rows": 0.25},
    "answer_scores": [3, 1],
    "finished": True,
}


def test_records_come_back_as_they_were_written(tmp_path: Path) -> None:
    write(tmp_path / "a/x.parquet", [ROW], SEARCHES, {"seed": 7})
    found = read(tmp_path / "a/x.parquet")
    (row,) = found.table.to_pylist()
    assert {name: row[name] for name in ROW} == {**ROW, "phases": [("fetch rows", 0.25)]}
    assert row["bits"] is None
    assert found.metadata == {"format": 3, "records": 1, "seed": 7}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["x.parquet"]


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="int"):
        write(tmp_path / "x.parquet", [{**ROW, "k": "ten"}], SEARCHES, {})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("damage", ["cut", "text", "empty", "foreign"])
def test_damaged_records_are_named(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "x.parquet"
    write(path, [ROW] * 50, SEARCHES, {})
    whole = path.read_bytes()
    if damage == "foreign":
        pd.DataFrame({"a": [1]}).to_parquet(path)
    else:
        path.write_bytes({"cut": whole[: len(whole) // 2], "text": b"no records", "empty": b""}[damage])
    with pytest.raises(RecordError, match=r"x\.parquet cannot be read.*--redo"):
        read(path)


def test_load_returns_what_belongs_to_the_experiment(tmp_path: Path) -> None:
    write(tmp_path / "records/a.parquet", [ROW], SEARCHES, {"seed": 7})
    write(tmp_path / "records/b.parquet", [{**ROW, "lake": "other", "phases": {}}], SEARCHES, {})
    write(tmp_path / "records/stale.parquet", [ROW], SEARCHES, {})
    note_plan(tmp_path, "table1", "mine", "arrays", {"files": ["records/a.parquet"]})
    note_plan(
        tmp_path,
        "table1",
        "other",
        "arrays",
        {"files": ["records/a.parquet", "records/b.parquet", "records/c.parquet"]},
    )
    frame = load(tmp_path, "table1")
    assert frame["lake"].tolist() == ["mine", "other"]
    assert frame["phase_fetch_rows"].iloc[0] == 0.25
    assert frame["phase_fetch_rows"].isna().iloc[1]
    assert frame["k"].tolist() == [10, 10]
    assert frame["bits"].isna().all()
    assert frame.attrs["files"][0]["seed"] == 7
    assert missing(tmp_path, "table1") == ["records/c.parquet"]
    assert set(plan(tmp_path, "table1")["lakes"]) == {"mine", "other"}


def test_files_with_other_columns_are_loaded_in_their_order(tmp_path: Path) -> None:
    shorter = SEARCHES.remove(SEARCHES.get_field_index("k"))
    files = {name: f"records/{name}.parquet" for name in "abcd"}
    for name, path in files.items():
        schema = shorter if name == "c" else SEARCHES
        write(tmp_path / path, [{**ROW, "query": name, "phases": {f"phase of {name}": 0.5}}], schema, {"seed": name})
    note_plan(tmp_path, "table1", "mine", "arrays", {"files": list(files.values())})
    frame = load(tmp_path, "table1")
    assert frame["query"].tolist() == list("abcd")
    assert frame["k"].isna().tolist() == [False, False, True, False]
    assert [file["seed"] for file in frame.attrs["files"]] == list("abcd")
    phases = frame[[f"phase_phase_of_{name}" for name in "abcd"]].notna().to_numpy()
    assert (phases == np.eye(4, dtype=bool)).all()


def test_missing_results_say_how_to_make_them(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"no results of figure4.*experiments run figure4"):
        load(tmp_path, "figure4")
    note_plan(tmp_path, "figure4", "mine", "arrays", {"files": ["records/c.parquet"]})
    with pytest.raises(RecordError, match="begun but nothing of it is finished"):
        load(tmp_path, "figure4")


def test_a_damaged_plan_is_named(tmp_path: Path) -> None:
    note_plan(tmp_path, "figure4", "mine", "arrays", {"files": []})
    (tmp_path / "experiments/figure4.json").write_text("{")
    with pytest.raises(RecordError, match=r"figure4\.json cannot be read"):
        load(tmp_path, "figure4")
