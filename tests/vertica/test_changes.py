"""Changes to an index in Vertica: one transaction each, no statement per row."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate.build.changes.updates import Updates
from mate.errors import StoreError
from tests.keys import token_id
from tests.sql.conftest import write_csv
from tests.sql.places import index, open_database
from tests.vertica.grammar import problems
from tests.vertica.standin import StandIn


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


def test_two_texts_that_share_a_number_are_refused(server: StandIn, address: str, tmp_path: Path) -> None:
    """A database tells cells apart by the numbers of their tokens alone."""
    number = token_id("name 1")
    server.run(f"UPDATE mate.tokens_1 SET token = 'another' WHERE token_id = {number}")
    new = write_csv(tmp_path / "new.csv", ["a"], [["name 1"]])
    with pytest.raises(StoreError, match="1 numbers stand for two texts each"):
        Updates(address).add_tables([str(new)])
    with open_database(address) as found:
        assert found.manifest.operations == 0
        assert len(found.tables()) == 2
