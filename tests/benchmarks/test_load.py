"""Searches while a lake changes: every answer is that of one state, and nothing piles up. The long version is
`python -m benchmarks load`."""

from __future__ import annotations

from pathlib import Path

from benchmarks.load import ROWS, change, complaints, load, look, make_lake
from mate.build.changes.updates import Updates
from mate.lake.folder import open_folder


def test_searching_while_a_writer_changes_the_lake(tmp_path: Path) -> None:
    store = tmp_path / "lake.mate"
    make_lake(store)
    changes, found = load(store, seconds=4, processes=2, threads=3)
    assert complaints(found) == []
    assert changes > 1
    assert len(found) == 2


def test_a_mixture_of_versions_is_noticed(tmp_path: Path) -> None:
    store = tmp_path / "lake.mate"
    make_lake(store)
    change(store, 1)
    with open_folder(store) as lake:
        assert look(lake) == (1, "")
    Updates(str(store)).update_cells(0, [(ROWS - 1, 0, "version 0")])
    with open_folder(store) as lake:
        assert look(lake)[1].startswith("cells of several versions")
