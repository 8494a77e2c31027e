"""A search of a database answers as one of a lake does, and as brute force does, whatever the system and the blocks."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest

from baselines.systems import mcr, scr
from mate.build.build import HashRequest
from mate.build.changes.updates import Updates
from mate.errors import StoreError
from mate.lake.base import Index
from mate.lake.folder import LakeFolder
from mate.search.query import QueryTable
from mate.search.results import SearchResult
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from mate.sql import blocks
from mate.sql.schema import LAYOUTS
from tests.search.oracle import top_k
from tests.sql.conftest import write_csv
from tests.sql.places import EVERYWHERE, PLACES, database_index, open_database
from tests.sql.places import index as build_index
from tests.sql.small import built_lake

if TYPE_CHECKING:
    from tests.sql.conftest import Model

HASHES = (
    *(HashRequest("xash", 128), HashRequest("bf", 512)),
    *(HashRequest("wide", 20), HashRequest("fingerprint", 12), HashRequest("fingerprint", 20)),
)
BY_NAME = [("xash", 128), ("bf", 512), ("wide", 20), ("fingerprint", 12), ("fingerprint", 20)]
SYSTEMS = {name: find_system(name) for name in ("column-first", "mate", "scr", "mcr")}
TIGHT = SearchSettings(k=3, filters=FilterSettings(initial_column="pairs", tight_bound=True, semi_join=True))
PRUNING = [SearchSettings(k=3), TIGHT, SearchSettings(k=3, filters=FilterSettings(table_filters=False))]


@pytest.fixture(scope="module", params=EVERYWHERE, ids="-".join)
def index(request: pytest.FixtureRequest, lake: Path) -> Iterator[Index]:
    with database_index(*request.param, lake, hashes=HASHES) as opened:
        yield opened


@pytest.fixture(scope="module")
def same_lake(lake: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    return built_lake(lake, tmp_path_factory.mktemp("same") / "lake.mate", hashes=HASHES)


class Asked(NamedTuple):
    """A query, and all tables that join with brute force: joinability, number, mapping."""

    query: QueryTable
    ranked: list[tuple[int, int, tuple[int, ...]]]

    @property
    def best(self) -> list[int]:
        """Scores of the three best."""
        return [score for score, _, _ in self.ranked[:3]]


@pytest.fixture(scope="module")
def asked(model: Model) -> list[Asked]:
    """Queries of two columns: parts of real rows, shuffled ones among them, and values that nobody has."""
    dice = random.Random(3)
    tables = [table.rows for table in model.tables]
    found = []
    for table in (table for table in model.tables if len(table.header) > 2):
        columns = dice.sample(range(len(table.header)), 2)
        rows = [[row[c] for c in columns] for row in dice.sample(table.rows, min(25, len(table.rows)))]
        rows = [row for row in rows if max(map(len, row)) <= model.limit]
        rows += [[row[0], dice.choice(rows)[1]] for row in rows[:9]] + [["no such word", "word 3"]]
        cells = pa.table({name: [row[place] for row in rows] for place, name in enumerate("ab")})
        found.append(Asked(QueryTable("query", cells), top_k(rows, (0, 1), tables, 99)))
    return found


LIMITS = ["FIRST_PAGE", "MOST_CELLS", "MOST_OCTETS"]


def scores(result: SearchResult) -> list[int]:
    return [found.joinability for found in result]


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_is_exact(index: Index, asked: list[Asked], name: str) -> None:
    for query, ranked in asked:
        mappings = {number: mapping for _, number, mapping in ranked}
        for settings in PRUNING:
            found = SYSTEMS[name](index, query, ["a", "b"], settings=settings)
            assert scores(found) == [score for score, _, _ in ranked[:3]]
            assert {r.table_id: r.column_ids for r in found}.items() <= mappings.items()


@pytest.mark.parametrize("name", SYSTEMS)
def test_blocks_of_single_tables(index: Index, asked: list[Asked], name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("MOST_ROWS", "FIRST_PAGE"):
        monkeypatch.setattr(blocks, limit, 1)
    for one in asked[:1]:
        found = SYSTEMS[name](index, one.query, ["a", "b"], settings=PRUNING[0])
        assert scores(found) == one.best
        everything = SYSTEMS[name](index, one.query, ["a", "b"], settings=PRUNING[2])
        assert found.statistics.segments <= everything.statistics.segments
        assert everything.statistics.segments > 1


@pytest.mark.parametrize(("hash_name", "bits"), BY_NAME)
def test_the_same_candidates_pass_as_in_a_lake(
    index: Index, same_lake: LakeFolder, asked: list[Asked], hash_name: str, bits: int
) -> None:
    settings = SearchSettings(k=50, filters=FilterSettings(hash_name=hash_name, bits=bits, table_filters=False))
    for query, _ in asked:
        one, other = (find_system("mate")(place, query, ["a", "b"], settings=settings) for place in (index, same_lake))
        for counter in ("postings", "pairs", "candidates", "true_positives", "false_positives", "known_tuples"):
            assert getattr(one.statistics, counter) == getattr(other.statistics, counter), counter
        assert one.statistics.hash == other.statistics.hash
        assert one.statistics.candidates
        assert [(r.table, r.joinability, r.mapping) for r in one] == [
            (r.table, r.joinability, r.mapping) for r in other
        ]


@pytest.mark.parametrize("most", [None, 1])
@pytest.mark.parametrize("name", ["mate", "column-first"])
def test_evidence_and_the_most_useful_tables_are_those_of_a_lake(
    index: Index,
    same_lake: LakeFolder,
    asked: list[Asked],
    name: str,
    most: int | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where tables are read one by one, none is kept, and every page of bounds is too short."""
    for limit in LIMITS if most else ():
        monkeypatch.setattr(blocks, limit, most)
    settings = SearchSettings(k=2, rank="usefulness")
    for query, _ in asked[:2]:
        one, other = (SYSTEMS[name](place, query, ["a", "b"], settings=settings) for place in (index, same_lake))
        assert [(r.table_id, r.evidence) for r in one] == [(r.table_id, r.evidence) for r in other]
        assert len(one) == 2


def test_matches_are_those_of_a_lake(index: Index, same_lake: LakeFolder, asked: list[Asked]) -> None:
    for query, _ in asked[:2]:
        for name in ("mate", "scr"):
            one, other = (SYSTEMS[name](place, query, ["a", "b"], k=50) for place in (index, same_lake))
            assert len(one) == len(other) > 1
            for mine, theirs in zip(one, other, strict=True):
                assert [column.tolist() for column in mine.matches] == [column.tolist() for column in theirs.matches]
                assert len(set(mine.matches.tuple_id.tolist())) == mine.joinability


def test_tables_that_are_not_wanted(index: Index, asked: list[Asked]) -> None:
    query = asked[0].query
    found = find_system("mate")(index, query, ["a", "b"], k=50)
    gone = frozenset(result.table_id for result in found.results[:2])
    for name in SYSTEMS:
        left = SYSTEMS[name](index, query, ["a", "b"], settings=SearchSettings(k=50, exclude=gone))
        assert [r.table_id for r in left] == [r.table_id for r in found.results[2:]]


def test_a_query_that_nothing_joins(index: Index) -> None:
    query = QueryTable("query", pa.table({"a": ["no such word", "word 3"], "b": ["word 3", "nor this"]}))
    for name in SYSTEMS:
        assert len(SYSTEMS[name](index, query, ["a", "b"])) == 0


def test_searches_at_the_same_time(index: Index, asked: list[Asked]) -> None:
    search = find_system("column-first")
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda one: scores(search(index, one.query, ["a", "b"], k=3)), asked * 3))
    assert found == [one.best for one in asked] * 3


@pytest.mark.parametrize("kind", PLACES)
def test_an_index_without_a_hash_function(kind: str, lake: Path, asked: list[Asked]) -> None:
    """Rows are not filtered, and everything is found."""
    with database_index(kind, LAYOUTS[1], lake, hashes=()) as opened:
        for name in ("column-first", "scr", "mcr"):
            found = SYSTEMS[name](opened, asked[0].query, ["a", "b"], k=3)
            assert scores(found) == asked[0].best
        with pytest.raises(StoreError, match="the index has no hash function"):
            find_system("mate")(opened, asked[0].query, ["a", "b"])


@pytest.mark.parametrize("kind", PLACES)
def test_posting_lists_are_intersected_in_the_database(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MCR goes by postings in rows with a value of each key column, SCR by all of the initial column."""
    folder = tmp_path / "lake"
    folder.mkdir()
    rows = [[f"name {n}", f"city {n % 10}" if n < 10 else f"town {n}"] for n in range(40)]
    write_csv(folder / "a.csv", ["name", "city"], rows)
    names = [f"name {n}" for n in range(30)]
    query = QueryTable("query", pa.table({"a": names, "b": [f"city {(n + 2 * (n % 2)) % 10}" for n in range(30)]}))
    fetched: dict[str, int] = {}
    bounds = blocks.Blocks._bounds

    def counting(self: blocks.Blocks, limit: int | None) -> tuple[blocks.TableBounds, int | None]:
        found = bounds(self, limit)
        fetched[self.search.statistics.system] = int(found[0].bound.sum())  # type: ignore[attr-defined]
        return found

    monkeypatch.setattr(blocks.Blocks, "_bounds", counting)
    settings = SearchSettings(filters=FilterSettings(initial_column="a"))
    with database_index(kind, LAYOUTS[0], folder, hashes=()) as opened:
        assert scores(scr.SYSTEM(opened, query, ["a", "b"], settings=settings)) == [5]
        assert scores(mcr.SYSTEM(opened, query, ["a", "b"], settings=settings)) == [5]
    assert fetched == {"scr": 30, "mcr": 10}


@pytest.mark.parametrize("name", ["wide", "fingerprint"])
def test_one_connection_is_enough(name: str, lake: Path, asked: list[Asked]) -> None:
    """What keys need to know of the tables is looked up before a session is taken for the search itself."""
    with PLACES["duckdb"](connections=1) as address:
        build_index(lake, address, hashes=(HashRequest(name, 16),))
        with open_database(address) as opened:
            done = threading.Event()

            def search() -> None:
                assert scores(find_system("mate")(opened, asked[0].query, ["a", "b"], k=3)) == asked[0].best
                done.set()

            threading.Thread(target=search, daemon=True).start()
            assert done.wait(60)


@pytest.mark.parametrize("kind", PLACES)
def test_key_tuples_are_filtered_by_the_widths_that_tables_have_now(kind: str, tmp_path: Path) -> None:
    """A table of a new width has keys of a new size, which a search that was made before has no key tuples for."""
    names, columns = [f"name {n}" for n in range(30)], [f"column {n}" for n in range(20)]
    write_csv(tmp_path / "narrow.csv", ["a", "b"], [[name, f"city {name}"] for name in names])
    rows = [[name, f"city {name}", *(f"{name} {n}" for n in range(18))] for name in names]
    wide = write_csv(tmp_path / "wide.csv", columns, rows)
    query = QueryTable("query", pa.table({"a": names, "b": [f"city {name}" for name in names]}))
    with PLACES[kind]() as address:
        build_index([str(tmp_path / "narrow.csv")], address, hashes=(HashRequest("wide", 20),))
        with open_database(address) as opened:
            assert scores(find_system("mate")(opened, query, ["a", "b"])) == [30]
            Updates(address, master="none").add_tables([str(wide)])
            for name in ("column-first", "mate"):
                assert scores(find_system(name)(opened, query, ["a", "b"])) == [30, 30]


@pytest.mark.parametrize("kind", PLACES)
def test_rows_that_repeat_a_key_tuple_are_read_once(kind: str, tmp_path: Path, records_read: list[int]) -> None:
    tuples = [[f"name {n}", f"city {n}"] for n in range(20)]
    write_csv(tmp_path / "a.csv", ["a", "b", "n"], [[*tuples[n % 20], f"{n}"] for n in range(1_000)])
    query = QueryTable("query", pa.table({"a": [a for a, _ in tuples], "b": [b for _, b in tuples]}))
    with PLACES[kind]() as address:
        build_index([str(tmp_path / "a.csv")], address)
        records_read.clear()
        with open_database(address) as opened:
            [found] = find_system("column-first")(opened, query, ["a", "b"]).found
            assert records_read == [1, 20]  # the table's bound, and its key tuples
            assert (found.joinability, found.column_ids, len(found.matches.row)) == (20, (0, 1), 1_000)
