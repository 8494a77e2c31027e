"""The same changes to an index in Vertica and to a lake: same contents, one transaction each, no statement per row."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mate.build.build import HashRequest
from mate.build.updates import Updates
from mate.cli.program import main
from mate.errors import StoreError
from mate.index.base import Index
from mate.index.lake import open_lake
from mate.open import open_index
from mate.sql.vertica_sql import LAYOUTS
from mate.sql.vertica_target import VerticaTarget
from mate.values.token_ids import token_id
from tests.sql.conftest import HOSTILE, write_csv
from tests.vertica.compare import same
from tests.vertica.conftest import built_lake
from tests.vertica.grammar import problems
from tests.vertica.places import index, open_vertica
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ClosedError

EXAMPLES = int(os.environ.get("MATE_EXAMPLES", "2"))
HASHES = (HashRequest("xash", 128, {"alpha": 4}), HashRequest("bf", 128, {"hashes": 5}))
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


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.integers(0, 2**32)), min_size=4, max_size=8))
def test_any_sequence_of_changes(
    server: StandIn, files: Path, tmp_path: Path, layout: str, steps: list[tuple[str, int]]
) -> None:
    number = random.getrandbits(40)
    address, path = server.address(f"s{number}", in_list=20, layout=layout), tmp_path / f"{number}.mate"
    index(files, address, hashes=HASHES)
    built_lake(files, path, hashes=HASHES)
    for step, (name, seed) in enumerate(steps):
        for place in (address, str(path)):
            OPERATIONS[name](Updates(place, master="none"), random.Random(f"{step} {seed}"), tmp_path)
    with open_vertica(address) as found:
        same(found, open_lake(path))


# One change


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    write_csv(folder / "people.csv", ["name", "city"], [[f"name {n}", f"city {n % 5}"] for n in range(50)])
    write_csv(folder / "cities.csv", ["city", "state"], [[f"city {n}", f"state {n % 3}"] for n in range(20)])
    return folder


@pytest.fixture
def address(server: StandIn, files: Path) -> str:
    place = server.address()
    index(files, place)
    return place


def test_a_change_takes_as_many_statements_however_large_it_is(server: StandIn, address: str, tmp_path: Path) -> None:
    counts = []
    for rows in (3, 300):
        new = write_csv(tmp_path / f"new {rows}.csv", ["a", "b"], [[f"a {n}", f"b {n}"] for n in range(rows)])
        server.statements.clear()
        report = Updates(address).add_tables([str(new)])
        Updates(address).append_rows(report.added[0].table_id, [["x", "y"]])
        Updates(address).remove_tables([report.added[0].table_id])
        counts.append(len(server.statements))
        for statement in sorted({s if len(s) < 2_000 else s[:40] for s in server.statements}):
            assert len(statement) == 40 or problems(statement) == [], statement
    assert counts[1] <= counts[0]


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
    with open_vertica(address) as found:
        assert found.cells(1, np.array([0])) == [["Ada", "Paris"]]
        counts = found.manifest.counts
        assert (counts.tables, counts.rows, counts.cells) == (2, 2, 3)
        assert sorted(text for _, text, _ in found.reader.records("tokens")) == ["ada", "paris", "y"]
    for command in (["compact"], ["check"]):
        assert main([*command, "--store", address]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert PASSWORD not in error


@pytest.mark.parametrize("moment", ["copy data", "statement", "dictionary", "COMMIT"])
def test_a_change_that_breaks_off_leaves_nothing(server: StandIn, address: str, files: Path, moment: str) -> None:
    before = built_lake(files, files.parent / "before.mate", hashes=(HashRequest(),))

    def fault(event: str, session: Any, detail: str) -> None:
        hit = {
            "copy data": event == "copy data" and ".cells_" in detail,
            "statement": event == "statement" and detail.startswith("UPDATE mate.manifest"),
            "dictionary": event == "statement" and detail.startswith("INSERT INTO mate.tokens_"),
            "COMMIT": event == "statement" and detail == "COMMIT" and session.loads,
        }[moment]
        if event == "copy data" and ".cells_" in detail:
            session.loads = True
        if hit:
            raise ClosedError

    with server.faulty(fault), pytest.raises(StoreError, match="the connection was lost") as error:
        Updates(address).update_cells(0, [(0, 0, "new value")])
    assert PASSWORD not in str(error.value)
    assert ("mate stats tells whether it was" in str(error.value)) == (moment == "COMMIT")
    with open_vertica(address) as found:
        same(found, before)
    for place in (address, before.address):
        Updates(place).update_cells(0, [(0, 0, "new value")])
    with open_vertica(address) as found:
        assert found.cells(0, np.array([0]))[0][0] == "new value"
        same(found, open_lake(before.address))


def test_two_writers(server: StandIn, address: str) -> None:
    with VerticaTarget(address), pytest.raises(StoreError, match=r"another build or change of .* is under way"):
        Updates(address, wait=0).remove_tables([0])
    threads = [
        threading.Thread(target=Updates(address, wait=60).update_cells, args=(0, [(n, 0, f"writer {n}")]))
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with open_vertica(address) as found:
        assert [row[0] for row in found.cells(0, np.arange(3))] == ["writer 0", "writer 1", "writer 2"]
        assert found.manifest.operations == 3


def test_numbers_are_never_used_again(address: str, tmp_path: Path) -> None:
    updates = Updates(address)
    updates.remove_tables([1])
    new = write_csv(tmp_path / "new.csv", ["a"], [["b"]])
    assert [t.table_id for t in updates.add_tables([str(new)]).added] == [2]
    with open_vertica(address) as found:
        first, rows = found.first_rows(np.array([0, 2]))
        assert (first.tolist(), rows.tolist()) == ([0, 70], [20, 1])
        assert found.manifest.notes == {"next_row": 71}


def test_two_texts_that_share_a_number_are_refused(
    server: StandIn, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database tells cells apart by the numbers of their tokens alone."""
    number = token_id("name 1")
    server.database.execute(f"UPDATE mate.tokens_1 SET token = 'another' WHERE token_id = {number}")
    new = write_csv(tmp_path / "new.csv", ["a"], [["name 1"]])
    with pytest.raises(StoreError, match="1 numbers stand for two texts each"):
        Updates(address).add_tables([str(new)])
    with open_vertica(address) as found:
        assert found.manifest.operations == 0
        assert len(found.tables()) == 2
