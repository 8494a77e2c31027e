"""An index follows its files: whatever happened to them, it is as if built from them."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from mate.build.changes.check import check
from mate.build.changes.sync import _gone
from mate.build.changes.updates import Updates
from mate.errors import CorpusError, UpdateError
from mate.lake.folder import MANIFEST, LakeFolder, open_folder
from tests.lakes import cells_of, sync, write_csv
from tests.updates.conftest import index

EXAMPLES = int(os.environ.get("MATE_EXAMPLES", "3"))


def held(store: LakeFolder) -> dict[str, list[Any]]:
    """Return what an index holds of each file."""
    found: dict[str, list[Any]] = {}
    for record in store.sources():
        found[record["source"]] = [record["sha256"], record["tables"], record["bytes"]]
    for table in store.tables():
        found[table.source] += [table.columns, cells_of(store, table.table_id)]
    for reject in store.rejects():
        found[reject["source"]].append((reject["kind"], reject["reason"], reject["count"]))
    return found


def same_as_built(store: Path, lake: Path, folder: Path) -> None:
    other = index(lake, folder / "again.mate")
    with open_folder(store) as mine, open_folder(other) as theirs:
        assert held(mine) == held(theirs)
        assert mine.manifest.counts == theirs.manifest.counts
    shutil.rmtree(other)
    assert check(str(store)).sound


def test_what_came_changed_and_went(store: Path, lake: Path, tmp_path: Path) -> None:
    write_csv(lake / "new.csv", ["a"], [["b"]])
    write_csv(lake / "people.csv", ["name", "age"], [["Ada", "36"]])
    (lake / "cities.csv").unlink()
    outside = write_csv(tmp_path / "outside.csv", ["x"], [["y"]])
    updates = Updates(str(store))
    updates.add_tables([str(outside)])
    difference = updates.compare([str(lake)])
    assert [Path(source.name).name for source in difference.new] == ["new.csv"]
    assert [Path(source.name).name for source in difference.changed] == ["people.csv"]
    assert [Path(name).name for name in difference.gone] == ["cities.csv"]
    assert difference.same == 1
    report = sync(updates, [str(lake)])
    assert [(t.table_id, t.name) for t in report.added] == [(3, "new")]
    assert [(t.table_id, t.name) for t in report.changed] == [(1, "people")]  # it keeps its number
    assert [(t.table_id, t.name) for t in report.removed] == [(0, "cities")]
    with open_folder(store) as opened:
        assert str(outside) in held(opened)
    updates.remove_tables([2])
    same_as_built(store, lake, tmp_path)


def test_nothing_to_do(store: Path, lake: Path) -> None:
    updates, before = Updates(str(store)), (store / MANIFEST).read_bytes()
    os.utime(lake / "people.csv", (1, 1))  # only the content counts
    assert not updates.compare([str(lake)])
    assert sync(updates, [str(lake)]).after is None
    assert (store / MANIFEST).read_bytes() == before


def test_tables_that_were_changed_by_hand_become_their_files_again(store: Path, lake: Path, tmp_path: Path) -> None:
    updates = Updates(str(store))
    updates.update_cells(0, [(0, 0, "elsewhere")])
    updates.remove_tables([1])
    difference = updates.compare([str(lake)])
    assert [Path(source.name).name for source in difference.changed] == ["cities.csv"]
    assert [Path(source.name).name for source in difference.new] == ["people.csv"]
    sync(updates, [str(lake)])
    same_as_built(store, lake, tmp_path)


def test_paths_may_be_written_in_other_ways(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = index(Path("lake"), tmp_path / "relative.mate")
    updates = Updates(str(store))
    write_csv(lake / "people.csv", ["name", "age"], [["Ada", "36"]])
    for written in (str(lake), "./lake", "lake/../lake"):
        difference = updates.compare([written])
        assert ([source.name for source in difference.changed], difference.new) == (["lake/people.csv"], [])
    sync(updates, [str(lake)])
    same_as_built(store, Path("lake"), tmp_path)


def test_one_file_alone(store: Path, lake: Path) -> None:
    write_csv(lake / "people.csv", ["name", "age"], [["Ada", "36"]])
    (lake / "cities.csv").unlink()
    difference = Updates(str(store)).compare([str(lake / "people.csv")])
    assert (len(difference.changed), difference.gone) == (1, [])
    with pytest.raises(CorpusError, match=r"cities\.csv: no such file or folder"):
        Updates(str(store)).compare([str(lake / "cities.csv")])


def test_a_folder_without_files_and_one_that_is_not_there(store: Path, lake: Path) -> None:
    for path in lake.iterdir():
        path.unlink()
    sync(Updates(str(store)), [str(lake)])
    with open_folder(store) as opened:
        assert (opened.manifest.counts.tables, opened.sources(), opened.rejects()) == (0, [], [])
    lake.rmdir()
    with pytest.raises(CorpusError, match="no such file or folder"):
        sync(Updates(str(store)), [str(lake)])


def test_a_file_that_turns_into_none_and_back(store: Path, lake: Path, tmp_path: Path) -> None:
    good = (lake / "people.csv").read_text()
    (lake / "people.csv").write_text("")
    updates = Updates(str(store))
    report = sync(updates, [str(lake)])
    assert [t.name for t in report.removed] == ["people"]
    same_as_built(store, lake, tmp_path)
    (lake / "people.csv").write_text(good)
    assert [t.table_id for t in sync(updates, [str(lake)]).added] == [2]
    same_as_built(store, lake, tmp_path)


def test_several_tables_of_a_file_keep_their_numbers(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir()
    table = '{"relation": [["a", "%s"], ["b", "1"]], "tableType": "RELATION", "hasHeader": true, "headerRowIndex": 0}\n'
    (lake / "web.json").write_text("".join(table % name for name in ("x", "y", "z")))
    store = index(lake, tmp_path / "web.mate")
    with open_folder(store) as opened:
        assert opened.manifest.counts.tables == 3
    (lake / "web.json").write_text("".join(table % name for name in ("x", "other")))
    report = sync(Updates(str(store)), [str(lake)])
    assert ([t.table_id for t in report.changed], [t.table_id for t in report.removed]) == ([0, 1], [2])
    same_as_built(store, lake, tmp_path)


def test_the_index_itself_and_synthetic_tables_are_no_files_of_the_folder(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = index(lake, lake / "lake.mate")
    updates = Updates(str(store))
    updates.add_tables(["synthetic:tables=3,seed=3"])
    monkeypatch.chdir(lake)
    assert not updates.compare(["."])
    (lake / "people.csv").unlink()
    assert [Path(name).name for name in updates.compare(["."]).gone] == ["people.csv"]


def test_an_index_that_somebody_changed_meanwhile(store: Path, lake: Path) -> None:
    updates = Updates(str(store))
    write_csv(lake / "people.csv", ["name", "age"], [["Ada", "36"]])
    difference = updates.compare([str(lake)])
    sync(updates, [str(lake)])
    with pytest.raises(UpdateError, match="changed by somebody else in the meantime"):
        updates.apply(difference)


@settings(max_examples=EXAMPLES, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(seed=st.integers(0, 2**32))
def test_any_history_of_a_folder(seed: int) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        _any_history(folder, random.Random(seed))
    finally:
        shutil.rmtree(folder)


def _any_history(folder: Path, dice: random.Random) -> None:
    lake = folder / "lake"
    (lake / "sub").mkdir(parents=True)
    names = ["a.csv", "b.csv", "sub/c.csv", "sub/d.csv", "e.xyz"]

    def write(name: str) -> None:
        width = dice.randint(1, 3)
        rows = [[dice.choice(["x", "y", "z", "", "n/a"]) for _ in range(width)] for _ in range(dice.randint(1, 4))]
        write_csv(lake / name, [f"h{dice.randrange(3)}{n}" for n in range(width)], [*rows, ["end"] * width])

    for name in names[:3]:
        write(name)
    store = index(lake, folder / "lake.mate")
    updates = Updates(str(store))
    for _ in range(3):
        for name in dice.sample(names, 2):
            if dice.random() < 0.4 and sum(1 for path in lake.rglob("*.csv") if path.is_file()) > 1:
                (lake / name).unlink(missing_ok=True)
            else:
                write(name)
        with open_folder(store) as opened:
            tables = [table for table in opened.tables() if table.rows]
        if tables and dice.random() < 0.5:
            updates.remove_rows(dice.choice(tables).table_id, [0])
        if dice.random() < 0.3:
            updates.compact()
        sync(updates, [str(lake)])
    if any(path.suffix == ".csv" for path in lake.rglob("*")):
        same_as_built(store, lake, folder)


def test_what_cannot_be_looked_at_is_not_gone(tmp_path: Path) -> None:
    """In a process of its own, that is nobody where it would else be root."""
    locked = tmp_path / "locked"
    locked.mkdir()
    (locked / "a.csv").write_text("a,b\n1,2\n")
    locked.chmod(0)
    program = (
        "import os, sys; from pathlib import Path; from mate.build.changes.sync import _gone\n"
        "if os.geteuid() == 0: os.seteuid(65534)\n"
        "sys.exit(_gone(sys.argv[1], [Path(sys.argv[2])]))"
    )
    try:
        done = subprocess.run([sys.executable, "-c", program, str(locked / "a.csv"), str(tmp_path)], check=False)
    finally:
        locked.chmod(0o700)
    assert done.returncode == 0
    (locked / "a.csv").unlink()
    assert _gone(str(locked / "a.csv"), [tmp_path])
    assert _gone(str(tmp_path / "gone/a.csv"), [tmp_path])
