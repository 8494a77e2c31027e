"""How many statements a search takes, from opening the index to its answer."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from mate.search.query import QueryTable
from mate.search.systems import BUILT_IN
from tests.sql.conftest import write_csv
from tests.sql.faulty import FAULTY, FaultyServer, faulty_server
from tests.sql.places import index, open_database

TABLES, ROWS = 40, 3_000
MOST = {10: 7, 200: 9, 2_500: 15}
"""Key tuples, and the statements that are enough for them."""


@pytest.fixture(scope="module", params=FAULTY)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    folder = tmp_path_factory.mktemp("lake")
    (folder / "lake").mkdir()
    for number in range(TABLES):
        # Table n holds all but n of a hundred pairs; values alone are in every table.
        rows = [[f"city {n}", f"{n % 97 + (n % 100 < number)}", f"{number}"] for n in range(0, ROWS, 1 + number // 4)]
        write_csv(folder / "lake" / f"table {number:02d}.csv", ["city", "year", "own"], rows)
    with faulty_server(request.param, folder) as running:
        index(folder / "lake", running.address())
        yield running


def the_query(tuples: int) -> QueryTable:
    numbers = range(tuples)
    return QueryTable("query", pa.table({"a": [f"City {n}" for n in numbers], "b": [str(n % 97) for n in numbers]}))


@pytest.mark.parametrize("tuples", MOST)
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_search_takes_few_statements(server: FaultyServer, tuples: int, name: str) -> None:
    query = the_query(tuples)
    server.statements.clear()
    with open_database(server.address()) as opened:
        found = BUILT_IN[name](opened, query, ["a", "b"], k=10)
        sent = [statement for statement in server.statements if not statement.startswith(("BEGIN", "SET "))]
        assert len(found) == 10  # tables that tie are told apart by evidence, which takes one more statement each
    assert found.results[0].joinability == tuples
    assert len(sent) <= MOST[tuples], "\n".join(statement[:120] for statement in sent)


def test_few_records_come_back(server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows of the best tables are read, not those of all tables that hold a value."""
    from mate.sql import blocks

    read: list[int] = []
    take = blocks.memory_segment

    def counting(block: blocks.RowBlock, keys: object = ()) -> object:
        read.append(len(block.table_id))
        return take(block, keys)  # type: ignore[arg-type]

    monkeypatch.setattr(blocks, "memory_segment", counting)
    monkeypatch.setattr(blocks, "FIRST_ROWS", 1_000)
    query = the_query(200)
    with open_database(server.address()) as opened:
        found = BUILT_IN["column-first"](opened, query, ["a", "b"], k=3)
        assert 3 <= sum(read) <= 1_200
        assert len(found) == 3
