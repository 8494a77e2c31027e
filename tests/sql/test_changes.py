"""The same changes to an index in a database and to a lake: same contents."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mate.build.build import HashRequest
from mate.build.changes.updates import Updates
from mate.cli.program import main
from mate.errors import StoreError
from mate.lake.base import Index
from mate.lake.folder import open_folder
from mate.stores import open_index, open_target
from tests.lakes import sync
from tests.sql.compare import same
from tests.sql.conftest import HOSTILE, write_csv
from tests.sql.places import EVERYWHERE, PLACES, index, open_database
from tests.sql.small import built_lake

EXAMPLES = int(os.environ.get("MATE_EXAMPLES", "2"))
HASHES = (
    *(HashRequest("xash", 128, {"alpha": 4}), HashRequest("bf", 128, {"hashes": 5})),
    *(HashRequest("wide", 20), HashRequest("fingerprint", 16)),
)
"""With the parameters given: those that a build would choose depend on the lake."""
CELLS: list[str | None] = [*(f"w{n}" for n in range(9)), *HOSTILE, "", "n/a", None, "ü€" * 9_000]


# Random sequences


def table_of(found: Index, dice: random.Random) -> tuple[int, int, int]:
    """Choose a table; return its number, rows and columns."""
    table = dice.choice(found.tables())
    return table.table_id, table.rows, len(table.columns)


def add(updates: Updates, dice: random.Random, folder: Path) -> None:
    path = folder / f"new {dice.getrandbits(40)}.csv"
    if not path.exists():
        rows = [[dice.choice(CELLS) or "x" for _ in range(3)] for _ in range(dice.randint(2, 6))]
        write_csv(path, ["a", "b", "c"], rows)
    updates.add_tables([str(path)])


def remove(updates: Updates, dice: random.Random, _: Path) -> None:
    with open_index(updates.address) as found:
        tables = [table.table_id for table in found.tables()]
    if len(tables) > 1:
        updates.remove_tables(dice.sample(tables, 1))


def on_a_table(change: Callable[[Updates, random.Random, int, int, int], object]) -> Callable[..., None]:
    def run(updates: Updates, dice: random.Random, _: Path) -> None:
        with open_index(updates.address) as found:
            number, rows, columns = table_of(found, dice)
        change(updates, dice, number, rows, columns)

    return run


def cells(dice: random.Random, count: int) -> list[str | None]:
    return [dice.choice(CELLS) for _ in range(count)]


OPERATIONS: dict[str, Callable[[Updates, random.Random, Path], None]] = {
    "add": add,
    "remove": remove,
    "append rows": on_a_table(lambda u, dice, t, _, c: u.append_rows(t, [cells(dice, c) for _ in range(3)])),
    "update cells": on_a_table(
        lambda u, dice, t, r, c: r and u.update_cells(t, [(dice.randrange(r), dice.randrange(c), dice.choice(CELLS))])
    ),
    "remove rows": on_a_table(
        lambda u, dice, t, r, _: r and u.remove_rows(t, dice.sample(range(r), dice.choice([1, r])))
    ),
    "add a column": on_a_table(lambda u, dice, t, r, _: u.add_column(t, "new", cells(dice, r))),
    "remove a column": on_a_table(lambda u, dice, t, _, c: c > 1 and u.remove_column(t, dice.randrange(c))),
}


@pytest.mark.parametrize(("kind", "layout"), EVERYWHERE)
@settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 2**32)), min_size=4, max_size=8))
def test_any_sequence_of_changes(
    files: Path, tmp_path: Path, kind: str, layout: str, steps: list[tuple[str, int]]
) -> None:
    path = tmp_path / f"{random.getrandbits(40)}.mate"
    built_lake(files, path, hashes=HASHES)
    with PLACES[kind](in_list=20, layout=layout) as address:
        index(files, address, hashes=HASHES)
        for step, (name, seed) in enumerate(steps):
            for place in (address, str(path)):
                OPERATIONS[name](Updates(place, master="none"), random.Random(f"{step} {seed}"), tmp_path)
        with open_database(address) as found:
            same(found, open_folder(path))


# One change


def test_the_commands_take_the_address(address: str, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(files / "new.csv", ["x"], [["y"]])
    write_csv(files / "people.csv", ["name", "city"], [["Ada", "London"]])
    (files / "cities.csv").unlink()
    assert main(["sync", str(files), "--store", address]) == 0
    assert "table 2 (new) added, table 1 (people) changed, table 0 (cities) removed" in capsys.readouterr().out
    given = ["--table", "people", "--row", "1", "--column", "city", "--value", "Paris"]
    assert main(["update", *given, "--store", address]) == 0
    assert main(["stats", "--store", address]) == 0
    capsys.readouterr()
    with open_database(address) as found:
        assert found.cells(1, np.array([0])) == [["Ada", "Paris"]]
        counts = found.manifest.counts
        assert (counts.tables, counts.rows, counts.cells) == (2, 2, 3)
        assert sorted(text for _, text, _ in found.records("tokens")) == ["ada", "paris", "y"]
    for command in (["compact"], ["check"]):
        assert main([*command, "--store", address]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "s3cret" not in error


def test_two_writers(address: str) -> None:
    with open_target(address):
        for other in (lambda: Updates(address, wait=0).remove_tables([0]), open_target(address).__enter__):
            with pytest.raises(StoreError, match=r"another build or change of .* is under way"):
                other()
    threads = [
        threading.Thread(target=Updates(address, wait=60).update_cells, args=(0, [(n, 0, f"writer {n}")]))
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_database(address) as found:
        assert [row[0] for row in found.cells(0, np.arange(3))] == ["writer 0", "writer 1", "writer 2"]
        assert found.manifest.operations == 3


def test_numbers_are_never_used_again(address: str, tmp_path: Path) -> None:
    updates = Updates(address)
    updates.remove_tables([1])
    new = write_csv(tmp_path / "new.csv", ["a"], [["b"]])
    assert [t.table_id for t in updates.add_tables([str(new)]).added] == [2]
    with open_database(address) as found:
        assert [table.table_id for table in found.tables()] == [0, 2]
        assert found.manifest.next_table == 3


def test_a_source_with_a_hostile_name_is_found_and_removed(empty_place: str, tmp_path: Path) -> None:
    folder = tmp_path / "hostile"
    folder.mkdir()
    names = ["it's 100% \x10 %s \\ ; --.csv", 'two "quoted"\nlines \x10\x100.csv']
    paths = [str(write_csv(folder / name, ["a"], [["b"]])) for name in names]
    index([str(folder)], empty_place)
    with open_database(empty_place) as found:
        for path in paths:
            assert [found.table(number).source for number in found.tables_from([path])] == [path]
            assert [source["source"] for source in found.sources([path])] == [path]
    Path(paths[0]).unlink()
    sync(Updates(empty_place, master="none"), [str(folder)])
    with open_database(empty_place) as found:
        assert [table.source for table in found.tables()] == paths[1:]
        assert [source["source"] for source in found.sources()] == paths[1:]
