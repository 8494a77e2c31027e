"""The same changes to an index in Vertica, on the stand-in: same answers, one transaction each, no statement a row."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from mate.build.build import BuildSettings, build_sources
from mate.build.updates import Updates
from mate.cli.program import main
from mate.errors import StoreError
from mate.sql.vertica_target import VerticaTarget
from mate.store import open_store
from mate.store.base import LAYOUTS, as_ids
from tests.store.conftest import write_csv
from tests.updates.model import HASHES, OPERATIONS, Model, compare, first_lake, operate, source
from tests.vertica.conftest import server  # noqa: F401  (a fixture)
from tests.vertica.grammar import problems
from tests.vertica.places import index
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ClosedError

EXAMPLES = int(os.environ.get("MATE_EXAMPLES", "2"))
SOME_HASHES = HASHES[:2]


def built(address: str, model: Model, layout: str) -> None:
    chosen = BuildSettings(hashes=SOME_HASHES, layout=layout, master="none")
    with VerticaTarget(address) as target:
        build_sources([source(table) for table in model.tables.values()], target, chosen)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(
    max_examples=EXAMPLES,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 2**32),
    steps=st.lists(
        st.tuples(st.sampled_from(sorted(set(OPERATIONS) - {"compact"})), st.integers(0, 2**32)), min_size=3, max_size=7
    ),
)
def test_any_sequence_of_changes(
    server: StandIn,  # noqa: F811
    layout: str,
    seed: int,
    steps: list[tuple[str, int]],
) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        address = server.address(f"s{seed}_{random.getrandbits(30)}", in_list=20)
        model = first_lake(random.Random(seed))
        built(address, model, layout)
        for name, dice in steps:
            operate(model, Updates(address), name, dice)
        model.remember()
        with open_store(address) as store:
            compare(store, model, folder, random.Random(seed))
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    write_csv(folder / "people.csv", ["name", "city"], [[f"name {n}", f"city {n % 5}"] for n in range(50)])
    write_csv(folder / "cities.csv", ["city", "state"], [[f"city {n}", f"state {n % 3}"] for n in range(20)])
    return folder


@pytest.fixture
def address(server: StandIn, lake: Path) -> str:  # noqa: F811
    place = server.address()
    index(lake, place)
    return place


def test_a_change_takes_as_many_statements_however_large_it_is(
    server: StandIn,  # noqa: F811
    address: str,
    tmp_path: Path,
) -> None:
    counts = []
    for rows in (3, 300):
        new = write_csv(tmp_path / f"new {rows}.csv", ["a", "b"], [[f"a {n}", f"b {n}"] for n in range(rows)])
        server.statements.clear()
        report = Updates(address).add_tables([str(new)])
        Updates(address).remove_tables([report.added[0].table_id])
        counts.append(len(server.statements))
        for statement in sorted(set(server.statements)):
            assert problems(statement) == [], statement
    assert counts[1] <= counts[0]


def test_the_commands_take_the_address(address: str, lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_csv(lake / "new.csv", ["x"], [["y"]])
    write_csv(lake / "people.csv", ["name", "city"], [["Ada", "London"]])
    (lake / "cities.csv").unlink()
    assert main(["sync", str(lake), "--store", address]) == 0
    assert "table 2 (new) added, table 1 (people) changed, table 0 (cities) removed" in capsys.readouterr().out
    assert (
        main(["update", "--table", "people", "--row", "1", "--column", "city", "--value", "Paris", "--store", address])
        == 0
    )
    assert main(["stats", "--store", address]) == 0
    capsys.readouterr()
    with open_store(address) as store:
        assert store.cells(store.row_ids(as_ids([1])).row_id).popitem()[1] == ["Ada", "Paris"]
        assert (store.manifest.tables, store.manifest.rows, store.manifest.cells) == (2, 2, 3)
    for command in (["compact"], ["check"]):
        assert main([*command, "--store", address]) == 2
        error = capsys.readouterr().err
        assert "for an index in a file" in error
        assert PASSWORD not in error


@pytest.mark.parametrize("moment", ["copy data", "statement", "COMMIT"])
def test_a_change_that_breaks_off_leaves_nothing(server: StandIn, address: str, moment: str) -> None:  # noqa: F811
    with open_store(address) as store:
        before = (store.tables(), store.manifest, store.cells(np.arange(100)))

    def fault(event: str, session: Any, detail: str) -> None:
        hit = {
            "copy data": event == "copy data" and ".cells_" in detail,
            "statement": event == "statement" and detail.startswith("UPDATE mate.manifest"),
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
    with open_store(address) as store:
        assert (store.tables(), store.manifest, store.cells(np.arange(100))) == before
    Updates(address).update_cells(0, [(0, 0, "new value")])
    with open_store(address) as store:
        assert store.cells(np.arange(1))[0][0] == "new value"


def test_two_writers(server: StandIn, address: str) -> None:  # noqa: F811
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
    with open_store(address) as store:
        assert [store.cells(np.arange(3))[n][0] for n in range(3)] == ["writer 0", "writer 1", "writer 2"]
        assert store.manifest.notes["operations"] == 3


def test_numbers_are_never_used_again(address: str, tmp_path: Path) -> None:
    updates = Updates(address)
    updates.remove_tables([1])
    new = write_csv(tmp_path / "new.csv", ["a"], [["b"]])
    assert [t.table_id for t in updates.add_tables([str(new)]).added] == [2]
