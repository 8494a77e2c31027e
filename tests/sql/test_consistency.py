"""A search beside changes and builds: its answer is that of one state, or it says what happened."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from mate.build.changes.updates import Updates
from mate.errors import ChangedError, StoreError
from mate.search.joins import enrich
from mate.search.systems import find_system
from mate.sql.address import Address
from mate.sql.dialects import open_session
from mate.sql.dialects.failures import MissingError
from mate.sql.dialects.session import SessionPool
from mate.sql.index import DatabaseIndex
from mate.sql.schema import Column
from tests.sql.places import index, open_database
from tests.sql.small import PEOPLE_QUERY

CITIES, PEOPLE = 0, 1
search = find_system("column-first")


@pytest.fixture
def opened(address: str) -> Iterator[DatabaseIndex]:
    with open_database(address) as found:
        yield found


def after_the_first_search(patch: pytest.MonkeyPatch, happens: Callable[[], object]) -> list[int]:
    """Let something happen when the first search has read its rows; return what counts the searches."""
    ask, searches = DatabaseIndex.search_segments, [0]

    def changing(self: DatabaseIndex, sought: Any) -> Any:
        searches[0] += 1
        number = searches[0]
        yield from ask(self, sought)
        if number == 1:
            happens()

    patch.setattr(DatabaseIndex, "search_segments", changing)
    return searches


def rename_ten(address: str) -> None:
    Updates(address, master="none").update_cells(PEOPLE, [(n, 0, "another name") for n in range(10)])


def scores(found: DatabaseIndex) -> list[int]:
    return [result.joinability for result in search(found, PEOPLE_QUERY, ["a", "b"])]


def test_a_search_that_met_a_change_is_repeated(
    address: str, opened: DatabaseIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    searches = after_the_first_search(monkeypatch, lambda: rename_ten(address))
    assert scores(opened) == [20]
    assert searches == [2]


def test_a_change_that_another_thread_noticed_first(
    address: str, opened: DatabaseIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both searches go over one open index; the second begins and ends while the first is under way."""

    def change_and_search() -> None:
        rename_ten(address)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(scores, opened).result() == [20]

    searches = after_the_first_search(monkeypatch, change_and_search)
    assert scores(opened) == [20]
    assert searches[0] >= 3
    assert opened.manifest.operations == 1


def remove_half(updates: Updates) -> None:
    updates.remove_rows(PEOPLE, list(range(25, 50)))


@pytest.mark.parametrize(
    "change",
    [remove_half, lambda updates: updates.remove_column(PEOPLE, 0), lambda updates: updates.remove_tables([PEOPLE])],
    ids=["rows", "column", "table"],
)
def test_nothing_is_added_to_an_answer_that_was_found_before_a_change(
    address: str, opened: DatabaseIndex, change: Callable[[Updates], object]
) -> None:
    answer = search(opened, PEOPLE_QUERY, ["a", "b"])
    [kept] = answer.found
    assert len(kept.matches.row) == 30
    [later] = search(opened, PEOPLE_QUERY, ["a", "b"]).found
    change(Updates(address, master="none"))
    for ask in (later.find_matches, later.find_evidence, lambda: enrich(opened, ["a", "b"], answer.key, kept)):
        with pytest.raises(StoreError, match=r"changed since it was searched|no more|has no table 1;"):
            ask()


def test_rows_that_are_not_there_any_more(address: str, opened: DatabaseIndex) -> None:
    remove_half(Updates(address, master="none"))
    with pytest.raises(ChangedError, match="table 1 has 25 rows, and row 40 no more"):
        opened.cells(PEOPLE, np.array([3, 40]))


def test_an_index_that_was_replaced_twice_while_it_was_searched(
    address: str, opened: DatabaseIndex, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    after_the_first_search(monkeypatch, lambda: [index(files, address) for _ in range(2)])
    with pytest.raises(ChangedError, match="was built again, twice, since it was opened: open it again"):
        search(opened, PEOPLE_QUERY, ["a", "b"])
    with pytest.raises(ChangedError, match="open it again"):
        opened.tables()


def test_the_time_that_a_database_takes_is_told(opened: DatabaseIndex) -> None:
    for name in ("column-first", "mate"):
        assert find_system(name)(opened, PEOPLE_QUERY, ["a", "b"]).statistics.seconds["fetch postings"] > 0


def test_a_temporary_table_outlives_a_rollback(address: str) -> None:
    with open_session(Address.parse(address), writes=True) as session:
        session.create_temporary("mate_kept", [Column("id")])
        session.execute("INSERT INTO mate_kept (id) VALUES (1)")
        session.rollback()
        assert session.execute("SELECT COUNT(*) FROM mate_kept")[0][0] == 0
        session.fill("mate_kept", [Column("id")], [pa.array([1, 2])])
        assert session.execute("SELECT COUNT(*) FROM mate_kept")[0][0] == 2


def test_a_session_that_is_in_use_when_all_are_closed_is_closed_when_it_is_given_back(address: str) -> None:
    """As is that of a search which goes on while its index is closed."""
    sessions = SessionPool(Address.parse(address))
    with sessions.session() as busy:
        sessions.close()
        assert [list(row) for row in busy.execute("SELECT 1")] == [[1]]
    with pytest.raises(StoreError):
        busy.execute("SELECT 1")
    assert sessions.ask(lambda session: session.execute("SELECT 2")[0][0]) == 2


def test_an_index_that_is_not_there_is_told_from_one_that_cannot_be_opened(address: str, tmp_path: Path) -> None:
    separator = "&" if "?" in address else "?"
    with pytest.raises(MissingError, match="there is no index at"):
        open_database(f"{address}{separator}schema=nowhere")
    (tmp_path / "lake.duckdb").write_text("no database at all" * 99)
    with pytest.raises(StoreError) as error:
        open_database(f"duckdb:{tmp_path}/lake.duckdb")
    assert not isinstance(error.value, MissingError)
