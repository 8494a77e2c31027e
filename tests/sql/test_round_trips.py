"""How many statements a search takes, from opening the index to its answer."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from mate.search.query import QueryTable
from mate.search.settings import SearchSettings
from mate.search.systems import BUILT_IN, find_system
from tests.sql.conftest import write_csv
from tests.sql.faulty import FAULTY, FaultyServer, faulty_server
from tests.sql.places import index, open_database

TABLES, ROWS = 40, 3_000
MOST = {"column-first": {10: 6, 200: 9, 2_500: 11}, "mate": {10: 6, 200: 9, 2_500: 12}}
"""Key tuples, and the statements that are enough for them in a search by joinability."""
MOST_USEFUL = {"column-first": {10: 7, 200: 10, 2_500: 12}, "mate": {10: 8, 200: 11, 2_500: 12}}
"""The same for searches by usefulness, the default of `mate search`: whole tables are measured, in two rounds."""


@pytest.fixture(scope="module", params=FAULTY)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyServer]:
    folder = tmp_path_factory.mktemp("lake")
    (folder / "lake").mkdir()
    for number in range(TABLES):
        # Table n holds all but n of a hundred pairs; values alone are in every table.
        numbers = range(0, ROWS, 1 + number // 4)
        rows = [[f"city {n}", f"{n % 97 + (n % 100 < number)}", f"{number}"] for n in numbers]
        write_csv(folder / "lake" / f"table {number:02d}.csv", ["city", "year", "own"], rows)
    with faulty_server(request.param, folder) as running:
        index(folder / "lake", running.address())
        yield running


def the_query(tuples: int) -> QueryTable:
    numbers = range(tuples)
    return QueryTable("query", pa.table({"a": [f"City {n}" for n in numbers], "b": [str(n % 97) for n in numbers]}))


def sent_for(server: FaultyServer, name: str, query: QueryTable, settings: SearchSettings) -> list[str]:
    """Open the index, search it and read the answer; return the statements."""
    server.statements.clear()
    with open_database(server.address()) as opened:
        found = find_system(name)(opened, query, ["a", "b"], settings=settings)
        assert len(found) == 10
        assert found.found[0].joinability == len(found.key)
    return [statement for statement in server.statements if not statement.startswith(("BEGIN", "SET "))]


@pytest.mark.parametrize("tuples", MOST["mate"])
@pytest.mark.parametrize("name", BUILT_IN)
def test_a_search_takes_few_statements(server: FaultyServer, tuples: int, name: str) -> None:
    query = the_query(tuples)
    for rank, most in (("joinability", MOST[name]), ("usefulness", MOST_USEFUL[name])):
        sent = sent_for(server, name, query, SearchSettings(k=10, rank=rank))
        assert len(sent) <= most[tuples], "\n".join(statement[:120] for statement in sent)


def test_few_records_come_back(server: FaultyServer, records_read: list[int]) -> None:
    """A record per key tuple that the best tables hold: none of other tables, and no other cells."""
    k, tuples = 10, 200
    with open_database(server.address()) as opened:
        found = find_system("column-first")(opened, the_query(tuples), ["a", "b"], k=k)
        assert len(found) == k
    assert TABLES + sum(result.joinability for result in found.found) <= sum(records_read) <= TABLES + k * tuples
