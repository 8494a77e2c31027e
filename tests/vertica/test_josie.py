"""The JOSIE index that the server makes is the one that DuckDB makes, and both systems find the same with it."""

from __future__ import annotations

import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.systems import josie_costs, mcr_josie, scr_josie
from mate.build.build import BuildSettings, build
from mate.build.duckdb_target import DuckDBTarget
from mate.cli.program import main
from mate.corpus import Limits
from mate.errors import StoreError
from mate.sql import vertica_josie_sql as sql
from mate.sql.vertica_sql import Generation
from mate.store import open_store
from tests.store.conftest import write_csv
from tests.vertica.compare import josie_records, same, same_josie
from tests.vertica.conftest import HASHES
from tests.vertica.places import index, place
from tests.vertica.standin import StandIn
from tests.vertica.standin.server import PASSWORD
from tests.vertica.standin.wire import ClosedError
from tests.vertica.test_errors import tables as tables_of
from tests.vertica.test_exactly_once import loaded_twice


@pytest.fixture(scope="module")
def with_josie(small_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small lake in the embedded store, with what JOSIE needs."""
    path = tmp_path_factory.mktemp("josie") / "lake.duckdb"
    with DuckDBTarget(path) as target:
        build([str(small_lake)], target, BuildSettings(master="none", hashes=HASHES, josie=True))
    return path


@pytest.fixture(autouse=True)
def no_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    line = josie_costs.Line(1e-3, 1e-4, 1e-6)
    monkeypatch.setattr(josie_costs, "calibrate", lambda index: josie_costs.Costs(line, line))


@pytest.fixture
def query(tmp_path: Path) -> Path:
    rows = [[f"NAME {n}", f"city {n % 7}", str(n)] for n in range(0, 60, 3)]
    return write_csv(tmp_path / "query.csv", ["who", "where", "own"], rows)


@pytest.mark.parametrize("layout", ["per_cell", "per_row"])
def test_every_table_is_the_one_that_duckdb_makes(small_lake: Path, with_josie: Path, layout: str) -> None:
    with place() as address:
        index(small_lake, address, hashes=HASHES, layout=layout, josie=True)
        same_josie(address, with_josie)
        with open_store(address) as store:
            assert set(store.sizes()) >= set(sql.TABLES)


def test_the_order_of_hundreds_of_lists_of_one_length(tmp_path: Path) -> None:
    """Only the sums of their sets' numbers order them."""
    lake, dice = tmp_path / "lake", random.Random(3)
    lake.mkdir()
    tables: list[list[list[str]]] = [[["head"]] for _ in range(12)]
    for token in range(300):
        for table in dice.sample(tables, 5):
            table.append([f"token {token}"])
    for number, rows in enumerate(tables):
        write_csv(lake / f"{number:02d}.csv", ["a"], rows)
    with DuckDBTarget(tmp_path / "x.duckdb") as target:
        build([str(lake)], target, BuildSettings(master="none", josie=True))
    with place() as address:
        index(lake, address, josie=True)
        same_josie(address, tmp_path / "x.duckdb")
    lists = {number for _, number, length in josie_records(tmp_path / "x.duckdb")["josie_tokens"] if length == 5}
    assert len(lists) > 200


WORDS = st.sampled_from([0, 1, 2**31, 2**32 - 2, 2**32 - 1])


@settings(max_examples=60)
@given(
    signs=st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=2, max_size=6),
    chosen=st.lists(st.sets(st.integers(0, 5), min_size=1), min_size=2, max_size=12),
)
def test_sums_are_those_of_64_bits_carries_included(
    signs: list[tuple[int, int, int, int]], chosen: list[set[int]]
) -> None:
    """The two steps of the server, on numbers that tie in all but a few bits."""
    holders = [{i % len(signs) for i in sets} for sets in chosen]
    generation = Generation("mate", 1)
    by_name = {step.split()[2]: step for step in sql.steps(generation)}
    with duckdb.connect() as database:
        database.execute("CREATE SCHEMA mate")
        for name in ("josie_pairs", "josie_signs", "josie_signed", "josie_lists"):
            listed = ", ".join(f"{column} BIGINT" for column in sql.columns(name))
            database.execute(f"CREATE TABLE {generation.table(name)} ({listed})")
        pairs = [(i, token) for token, sets in enumerate(holders) for i in sets]
        database.executemany("INSERT INTO mate.josie_pairs_1 VALUES (?, ?)", pairs)
        database.executemany(
            "INSERT INTO mate.josie_signs_1 VALUES (?, ?, ?, ?, ?)", [(i, *words) for i, words in enumerate(signs)]
        )
        for name in ("josie_signed", "josie_lists"):
            database.execute(by_name[generation.table(name)])
        query = "SELECT list_id, list_length, low1, low2, high1, high2, token_count FROM mate.josie_lists_1 ORDER BY 1"
        found = database.execute(query).fetchall()
    sums = Counter(
        (
            len(sets),
            sum(signs[i][0] * 2**32 + signs[i][1] for i in sets),
            sum(signs[i][2] * 2**32 + signs[i][3] for i in sets),
        )
        for sets in holders
    )
    assert found == [
        (number, length, low >> 32, low & 2**32 - 1, high >> 32, high & 2**32 - 1, sums[length, low, high])
        for number, (length, low, high) in enumerate(sorted(sums))
    ]


def test_batches_of_rows_do_not_show(small_lake: Path, with_josie: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mate.build.stage.BATCH_CELLS", 20)
    with place() as address:
        index(small_lake, address, hashes=HASHES, josie=True, limits=Limits(chunk_cells=20))
        same_josie(address, with_josie)


@pytest.mark.parametrize("system", ["scr-josie", "mcr-josie"])
def test_the_command_line(
    server: StandIn, small_lake: Path, with_josie: Path, query: Path, capsys: pytest.CaptureFixture[str], system: str
) -> None:
    address = server.address(in_list=10)
    assert main(["index", str(small_lake), "--store", address, "--master", "none", "--josie"]) == 0
    assert "josie index" in capsys.readouterr().out
    found = []
    for store, how in ((address, system), (str(with_josie), system), (address, "mate")):
        assert main(["search", str(query), "--key", "who,where", "--system", how, "--store", store, "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        found.append([(result["table_id"], result["joinability"]) for result in told["results"]])
    assert found[0]
    assert found[0] == found[1] == found[2]


def test_an_index_without_it(server: StandIn, small_lake: Path, query: Path) -> None:
    index(small_lake, server.address())
    with open_store(server.address()) as store:
        assert not store.manifest.josie
        for search in (scr_josie.search, mcr_josie.search):
            with pytest.raises(StoreError, match="mate index --josie"):
                search(store, str(query), ["who", "where"])
    assert not any(name.startswith("josie") for name in tables_of(server))


def test_only_the_index_is_left(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address(), josie=True)
    assert {name for name in tables_of(server) if name.startswith("josie")} == {f"{name}_1" for name in sql.TABLES}
    index(small_lake, server.address())
    index(small_lake, server.address())
    assert not any(name.startswith("josie") for name in tables_of(server))


def test_a_missing_table_is_noticed(server: StandIn, small_lake: Path) -> None:
    index(small_lake, server.address(), josie=True)
    server.database.execute("DROP TABLE mate.josie_members_1")
    with pytest.raises(StoreError, match="lacks the table josie_members_1: build the index again"):
        open_store(server.address())


# Exactly once


def at_once(load: Callable[[], int]) -> None:
    threads = [threading.Thread(target=load) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("run", [lambda load: [load(), load()], at_once], ids=["again", "at the same time"])
def test_members_that_are_loaded_twice_count_once(
    server: StandIn, small_lake: Path, with_josie: Path, run: Callable[[Callable[[], int]], None]
) -> None:
    server.locks.timeout = 10.0
    logged: list[str] = []

    def watch(event: str, _: Any, detail: str) -> None:
        if event == "statement" and detail.startswith("INSERT INTO mate.josie_log_"):
            logged.append(detail)

    with server.faulty(watch):
        loaded_twice(server, small_lake, run, josie=True)
    assert len(logged) > len(set(logged))
    same_josie(server.address(), with_josie)


def test_members_that_are_missing_are_noticed(server: StandIn, small_lake: Path) -> None:
    def lose(event: str, _: Any, detail: str) -> None:
        if event == "statement" and detail.startswith("INSERT INTO mate.josie_sets_"):
            server.database.execute(
                "DELETE FROM mate.josie_stage_1 WHERE token_id ="
                " (SELECT token_id FROM mate.josie_stage_1 GROUP BY token_id ORDER BY COUNT(*), token_id LIMIT 1)"
            )

    with server.faulty(lose), pytest.raises(StoreError, match="not sound: the number of tokens is wrong in 1 places"):
        index(small_lake, server.address(), josie=True)
    assert tables_of(server) == {"builds", "manifest"}


@pytest.mark.parametrize(
    "part",
    [
        "CREATE TABLE mate.josie_stage_",
        "COPY mate.josie_stage_",
        "INSERT INTO mate.josie_log_",
        "INSERT INTO mate.josie_sets_",
        "INSERT INTO mate.josie_postings_",
        "DROP TABLE IF EXISTS mate.josie_pairs_2",
        "ANALYZE_STATISTICS('mate.josie_sets_",
    ],
)
def test_a_connection_that_is_cut(server: StandIn, small_lake: Path, with_josie: Path, part: str) -> None:
    """The index in use stays, JOSIE's part of it included."""
    index(small_lake, server.address(), hashes=HASHES, josie=True)
    before, left = tables_of(server), [1]

    def cut(event: str, _: Any, detail: str) -> None:
        if event == "statement" and part in detail and left:
            left.pop()
            raise ClosedError

    with server.faulty(cut), pytest.raises(StoreError, match="the connection was lost") as caught:
        index(small_lake, server.address(), hashes=HASHES[:1], josie=True)
    assert PASSWORD not in str(caught.value)
    assert tables_of(server) == before
    same_josie(server.address(), with_josie)
    with open_store(server.address()) as store, open_store(str(with_josie)) as other:
        same(store, other)
