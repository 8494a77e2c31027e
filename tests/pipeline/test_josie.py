"""The JOSIE index holds what its definition says, and is the same whoever builds it."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from mate.build.build import BuildSettings, Summary, build
from mate.build.duckdb_josie import create
from mate.build.duckdb_target import DuckDBTarget
from mate.corpus import Limits
from mate.errors import StoreError
from mate.store import open_store
from mate.store.base import as_ids
from tests.conftest import BuildIndex, DumpIndex

TABLES = {"josie_tokens", "josie_postings", "josie_members", "josie_sets"}


def write(folder: Path) -> Path:
    """Write tables that share values; one is long enough for several batches of rows."""
    folder.mkdir()
    (folder / "a.csv").write_text("x,y,z\n" + "".join(f"v{n % 7},w{n},\n" for n in range(40)) + "last,row,end\n")
    (folder / "b.csv").write_text("x,y\n" + "".join(f"w{n},v{n % 5}\n" for n in range(20)))
    (folder / "c.csv").write_text("x,y\nv1,v1\nV1 ,n/a\nalone,twin\n")
    return folder


def build_here(folder: Path, store: Path, **changes: Any) -> Summary:
    with DuckDBTarget(store) as target:
        return build([str(folder)], target, BuildSettings(master="none", **changes))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("josie") / "lake")


@pytest.fixture(scope="module")
def store(files: Path) -> Path:
    path = files.parent / "lake.duckdb"
    build_here(files, path, josie=True)
    return path


def test_it_holds_what_the_postings_say(store: Path) -> None:
    """Sets, lists, global order and positions, made again in Python from the ordinary index."""
    with duckdb.connect(str(store), read_only=True) as database:

        def read(sql: str) -> list[tuple[int, ...]]:
            return database.execute(sql).fetchall()

        columns: dict[tuple[int, int], set[int]] = defaultdict(set)
        for token, table, column in read("SELECT token_id, table_id, column_id FROM postings"):
            columns[table, column].add(token)
        sets = read("SELECT set_id, table_id, column_id, size FROM josie_sets")
        lists = {token: (number, length) for token, number, length in read("FROM josie_tokens")}
        items = read("SELECT list_id, set_id, position, size FROM josie_postings")
        members = read("FROM josie_members")
    assert sets == [(i, *column, len(columns[column])) for i, column in enumerate(sorted(columns))]
    holders = defaultdict(set)
    for i, _, _, _ in sets:
        for token in columns[sorted(columns)[i]]:
            holders[token].add(i)
    assert {token: length for token, (_, length) in lists.items()} == {t: len(h) for t, h in holders.items()}
    by_list = defaultdict(set)
    for token, (number, _) in lists.items():
        by_list[number].add(frozenset(holders[token]))
    assert all(len(groups) == 1 for groups in by_list.values()), "a list stands for the same sets"
    assert len({group for groups in by_list.values() for group in groups}) == len(by_list), "and each sets for one list"
    lengths = [len(next(iter(by_list[number]))) for number in range(len(by_list))]
    assert lengths == sorted(lengths)
    expected = {
        (number, i, sum(lists[t][0] <= number for t in columns[table, column]) - 1, size)
        for i, table, column, size in sets
        for number in {lists[t][0] for t in columns[table, column]}
    }
    assert items == sorted(expected)
    assert members == sorted((i, number) for number, i, _, _ in expected)


def test_look_ups(store: Path) -> None:
    with open_store(str(store)) as index, duckdb.connect(str(store), read_only=True) as database:
        josie = index.josie()
        assert josie is index.josie()
        for table, key, look_up in (
            ("josie_tokens", "token_id", josie.lists_of),
            ("josie_postings", "list_id", josie.items),
            ("josie_sets", "set_id", josie.columns),
        ):
            rows = database.execute(f"SELECT * FROM {table} ORDER BY ALL").fetchall()
            chosen = sorted({row[0] for row in rows})[::2]
            found = look_up(as_ids([*chosen, 2**62]))
            width = len(found)
            expected = [row[:width] for row in rows if row[0] in chosen]
            assert sorted(zip(*(column.tolist() for column in found), strict=True)) == expected, key
        whole = josie.members(np.arange(josie.sets), -1)
        after = int(np.median(whole.list_id))
        part = josie.members(np.arange(josie.sets), after)
        assert len(part.list_id) == (whole.list_id > after).sum()
        assert not len(josie.items(as_ids([])).set_id)
        of_first = josie.sets_of(as_ids([0]))
        assert set(josie.columns(of_first).table_id.tolist()) == {0}


def test_it_is_reported(files: Path, store: Path, tmp_path: Path) -> None:
    summary = build_here(files, tmp_path / "with.duckdb", josie=True)
    assert summary.seconds["josie index"] > 0
    assert summary.manifest.josie
    with open_store(str(store)) as index:
        assert set(index.sizes()) >= TABLES


def test_it_is_left_out_unless_asked_for(files: Path, tmp_path: Path) -> None:
    summary = build_here(files, tmp_path / "plain.duckdb", josie=False)
    assert "josie index" not in summary.seconds
    with open_store(str(tmp_path / "plain.duckdb")) as index:
        assert not TABLES & set(index.sizes())
        with pytest.raises(StoreError, match="mate index --josie"):
            index.josie()


def test_batches_of_rows_do_not_show(files: Path, store: Path, tmp_path: Path, dump_index: DumpIndex) -> None:
    """A column's token that comes in several batches is one member."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mate.build.stage.BATCH_CELLS", 10)
        build_here(files, tmp_path / "small.duckdb", josie=True, limits=Limits(chunk_cells=10))
    assert dump_index(tmp_path / "small.duckdb") == dump_index(store)


def test_spark_builds_the_same(
    files: Path, store: Path, tmp_path: Path, build_index: BuildIndex, dump_index: DumpIndex
) -> None:
    summary = build_index(files, tmp_path / "spark.duckdb", josie=True)
    assert summary.seconds["josie index"] > 0
    assert dump_index(tmp_path / "spark.duckdb") == dump_index(store)


def test_lost_members_are_noticed() -> None:
    with duckdb.connect() as database:
        database.execute("CREATE TABLE tokens AS SELECT unnest([1, 2]) AS token_id")
        members = pa.table({"token_id": [1, 1], "table_id": [0, 0], "column_id": [0, 1]})
        with pytest.raises(StoreError, match="not sound"):
            create(database.register("members_given", members), "members_given")
