"""Large changes: on Spark, and large files cut into parts, with the same result as without."""

from __future__ import annotations

from pathlib import Path

import pytest

import mate.build.changes.updates
import mate.build.engine
from mate.build import parts
from mate.build import sources as pipeline_sources
from mate.build.changes.updates import Updates
from mate.build.engine import LocalEngine
from mate.lake.folder import open_folder
from tests.lakes import sync, write_csv
from tests.updates.conftest import index
from tests.updates.test_sync import held, same_as_built

PART = 20_000


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """A folder of one large file and some small ones."""
    folder = tmp_path / "large"
    folder.mkdir()
    rows = [[f"name {n}", f"city {n % 97}", str(n * n), "x" * (1_200 if n % 500 == 7 else 3)] for n in range(4_000)]
    write_csv(folder / "b.csv", ["name", "city", "number", "more"], rows)
    for number in range(4):
        write_csv(
            folder / f"{'ac'[number % 2]}{number}.csv", ["city", "n"], [[f"city {n}", str(number)] for n in range(9)]
        )
    return folder


def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "LEAST_PART", PART)
    monkeypatch.setattr(pipeline_sources, "_LEAST_UNIT", PART)
    monkeypatch.setattr(pipeline_sources, "_MOST_UNIT", PART)


@pytest.mark.parametrize("master", ["none", "local[2]"])
def test_a_large_change_is_what_a_small_one_is(
    spark: object, store: Path, lake: Path, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    small_parts(monkeypatch)
    if master == "none":
        monkeypatch.setattr(LocalEngine, "parallelism", 2)
    updates = Updates(str(store), master=master)
    report = updates.add_tables([str(large)])
    assert [(t.table_id, t.name, t.rows) for t in report.added] == [
        (2, "a0", 9), (3, "a2", 9), (4, "b", 4_000), (5, "c1", 9), (6, "c3", 9)
    ]  # fmt: skip
    other = index(large, tmp_path / "other.mate")
    with open_folder(store) as mine, open_folder(other) as theirs:
        found = held(mine)
        assert {name: found[name] for name in held(theirs)} == held(theirs)
    updates.remove_tables([0, 1])
    updates.compact()
    write_csv(large / "b.csv", ["name"], [[f"other {n}"] for n in range(3_000)])
    assert [t.table_id for t in sync(updates, [str(large), str(lake)]).changed] == [4]
    with open_folder(store) as mine:
        assert {Path(name).name for name in held(mine)} >= {"people.csv", "cities.csv", "b.csv", "c3.csv"}


def test_spark_is_started_for_large_files_only(
    store: Path, lake: Path, large: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []

    def start(master: str, *_: object, **__: object) -> object:
        if master != "none":
            started.append(master)
        return real("none", {}, verbose=False)

    real = mate.build.changes.updates.start_engine
    monkeypatch.setattr(mate.build.changes.updates, "start_engine", start)
    updates = Updates(str(store))
    updates.add_tables([str(large / "a0.csv")])
    updates.remove_tables([0])
    assert started == []
    monkeypatch.setattr(mate.build.engine, "LARGE", 1_000)
    sync(updates, [str(lake), str(large)])
    assert started == ["local[*]"]
    assert sync(Updates(str(store), master="none"), [str(lake), str(large)]).after is None
    for path in lake.iterdir():
        path.rename(large / path.name)
    sync(updates, [str(lake), str(large)])
    assert len(started) == 1  # the files are small again
    same_as_built(store, large, tmp_path)
