"""One file, published in one step: who may build, what is left behind, and what is no index."""

from __future__ import annotations

import fcntl
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from mate.build import duckdb_target
from mate.build.build import BuildSettings, Summary, build
from mate.build.duckdb_target import DuckDBTarget
from mate.errors import MateError, StoreError
from mate.store import open_store
from mate.store.flat import flat_path

BuildIndex = Callable[..., Summary]
NO_SPARK = BuildSettings(master="none")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    (folder / "a.csv").write_text("name,country\nLee,US\nKim,KR\n")
    return folder


def publish(lake: Path, store: Path) -> Summary:
    with DuckDBTarget(store) as target:
        return build([str(lake)], target, NO_SPARK)


def names(folder: Path) -> list[str]:
    """What is in a folder; an index stands for its flat file as well."""
    found = {path.name for path in folder.iterdir()}
    return sorted(found - {f"{name}.flat" for name in found})


# Where an index may go


def test_a_missing_folder_is_made_and_nothing_but_the_index_is_in_it(lake: Path, tmp_path: Path) -> None:
    publish(lake, tmp_path / "new" / "folder" / "a.duckdb")
    assert names(tmp_path / "new" / "folder") == ["a.duckdb"]


@pytest.mark.parametrize("master", ["local[2]", "none"])
def test_odd_names(build_index: BuildIndex, lake: Path, tmp_path: Path, master: str) -> None:
    store = tmp_path / "o'dd [1] {a,b} * %20#ü, $x" / 'my "lake" [v2].duckdb'
    build_index(lake, store, master=master)
    with open_store(str(store)) as index:
        assert index.cells(np.arange(2)) == {0: ["Lee", "US"], 1: ["Kim", "KR"]}
        assert index.sizes()["file"] == store.stat().st_size + flat_path(store).stat().st_size
    assert names(store.parent) == [store.name]


@pytest.mark.parametrize("name", ["what?.duckdb", "back\\slash.duckdb"])
def test_names_that_duckdb_cannot_write_are_refused_at_once(tmp_path: Path, name: str) -> None:
    with pytest.raises(StoreError, match="cannot write to a path with"), DuckDBTarget(tmp_path / name):
        pass
    assert names(tmp_path) == []


def test_a_folder_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder; --store takes the path of a file"), DuckDBTarget(tmp_path):
        pass
    with pytest.raises(StoreError, match="there is no index at"):
        open_store(str(tmp_path))


def test_a_parent_that_is_a_file(lake: Path) -> None:
    with pytest.raises(StoreError, match="cannot write to"), DuckDBTarget(lake / "a.csv" / "a.duckdb"):
        pass


def test_memory_that_makes_no_sense_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="--memory takes a size such as 4GB, not 'plenty'"):
        DuckDBTarget(tmp_path / "a.duckdb", "plenty").__enter__()
    assert names(tmp_path) == []


# One build at a time


def test_a_second_build_of_the_same_store_is_refused(lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.duckdb"
    with DuckDBTarget(store) as first:
        (first.directory / "file").write_text("x")
        with pytest.raises(StoreError, match=r"another build of .*a\.duckdb is under way"):
            publish(lake, store)
        assert (first.directory / "file").exists()
        publish(lake, tmp_path / "b.duckdb")
    publish(lake, store)
    assert names(tmp_path) == ["a.duckdb", "b.duckdb", "lake"]


def test_the_lock_of_a_build_that_ends_at_that_moment_does_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = tmp_path / "a.duckdb"
    ending = DuckDBTarget(store).__enter__()
    real = fcntl.flock

    def flock(file: int, operation: int) -> None:
        monkeypatch.setattr(fcntl, "flock", real)
        ending.__exit__()  # after the lock's file was opened, before it is locked
        real(file, operation)

    monkeypatch.setattr(fcntl, "flock", flock)
    with DuckDBTarget(store) as second:
        assert second.directory.is_dir()
        with pytest.raises(StoreError, match="under way"), DuckDBTarget(store):
            pass
    assert names(tmp_path) == []


def test_what_a_killed_build_left_is_removed_by_the_next(lake: Path, tmp_path: Path) -> None:
    remains = tmp_path / ".a.duckdb.build" / "0123456789ab" / "stage-0"
    remains.mkdir(parents=True)
    (remains / "000000.rows.parquet").write_bytes(b"half")
    (tmp_path / ".a.duckdb.build" / "lock").touch()
    with DuckDBTarget(tmp_path / "a.duckdb") as target:  # before the build needs the room
        assert names(tmp_path / ".a.duckdb.build") == sorted([target.directory.name, "lock"])
    publish(lake, tmp_path / "a.duckdb")
    assert names(tmp_path) == ["a.duckdb", "lake"]


# Published at once, or not at all


def test_an_open_index_goes_on_answering_from_the_old_file(lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.duckdb"
    publish(lake, store)
    with open_store(str(store)) as old:
        (lake / "b.csv").write_text("name,country\nSøren,DK\n")
        publish(lake, store)
        assert old.cells(np.arange(9)) == {0: ["Lee", "US"], 1: ["Kim", "KR"]}
        with open_store(str(store)) as new:
            assert new.cells(np.arange(9)) == {0: ["Lee", "US"], 1: ["Kim", "KR"], 2: ["Søren", "DK"]}
            assert (old.manifest.tables, new.manifest.tables) == (1, 2)
            assert [len(table) for table in (old.tables(), new.tables())] == [1, 2]
    assert names(tmp_path) == ["a.duckdb", "lake"]


def test_a_closed_index_can_be_replaced_and_opened_again(lake: Path, tmp_path: Path) -> None:
    store = tmp_path / "a.duckdb"
    for count in (1, 2, 3):
        (lake / f"b{count}.csv").write_text("name,country\nSøren,DK\n")
        publish(lake, store)
        with open_store(str(store)) as index:
            assert len(index.tables()) == 1 + count


@pytest.mark.parametrize("step", ["task", "load", "publish"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(13, "Permission denied"), StoreError("no way")])
def test_a_build_that_fails_leaves_the_old_index_and_nothing_else(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    store = tmp_path / "a.duckdb"
    publish(lake, store)
    before = store.read_bytes()

    def fail(*_: Any) -> Any:
        raise error

    (lake / "b.csv").write_text("name,country\nSøren,DK\n")
    monkeypatch.setattr(DuckDBTarget, step, fail)
    expected = MateError if isinstance(error, OSError) else type(error)
    with pytest.raises(expected) as raised:
        publish(lake, store)
    assert "\n" not in str(raised.value)
    assert store.read_bytes() == before
    assert names(tmp_path) == ["a.duckdb", "lake"]


def test_a_rename_that_fails_is_one_line(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def replace(*_: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(MateError, match=r"the step 'publish' failed: OSError: \[Errno 13\] Permission denied"):
        publish(lake, tmp_path / "a.duckdb")
    assert names(tmp_path) == ["lake"]


@pytest.mark.parametrize("table", ["tokens", "postings", "rows", "cells", "tables"])
def test_records_that_got_lost_are_noticed_before_publishing(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    real = DuckDBTarget._create

    def create(self: DuckDBTarget, database: duckdb.DuckDBPyConnection, *rest: Any) -> None:
        real(self, database, *rest)
        database.execute(f"DELETE FROM {table} WHERE rowid = 0")

    monkeypatch.setattr(duckdb_target.DuckDBTarget, "_create", create)
    with pytest.raises(StoreError, match=rf"the table {table} has \d+ records where \d+ were staged"):
        publish(lake, tmp_path / "a.duckdb")
    assert names(tmp_path) == ["lake"]


def test_a_text_that_shares_its_number_with_a_token_is_not_taken_for_it(
    lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(lake, tmp_path / "a.duckdb")
    with open_store(str(tmp_path / "a.duckdb")) as index:
        number = index.tokens(pa.array(["lee"])).token_id
        monkeypatch.setattr("mate.store.duckdb.token_ids", lambda texts, seed: np.repeat(number, len(texts)))
        assert index.tokens(pa.array(["other", "lee"])).place.tolist() == [1]


# What is no index


def manifest_with(store: Path, **changes: Any) -> None:
    with duckdb.connect(store) as database:
        found = database.execute("SELECT value FROM manifest").fetchall()
        record = {**json.loads(found[0][0]), **changes}
        kept = {key: value for key, value in record.items() if value is not ...}
        database.execute("UPDATE manifest SET value = $1", [json.dumps(kept)])


def sql(statement: str) -> Callable[[Path], None]:
    def run(store: Path) -> None:
        with duckdb.connect(store) as database:
            database.execute(statement)

    return run


def sqlite(store: Path) -> None:
    store.unlink()
    with sqlite3.connect(store) as database:
        database.execute("CREATE TABLE manifest (name, value)")


SPOILED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "missing": (Path.unlink, r"there is no index at .*; build one with: mate index PATH --store"),
    "text": (lambda store: store.write_text("hello, world\n" * 1_000), "cannot be opened as an index"),
    "empty": (lambda store: store.write_bytes(b""), "cannot be opened as an index"),
    "cut": (lambda store: store.write_bytes(store.read_bytes()[:5_000]), "cannot be opened as an index"),
    "SQLite": (sqlite, "cannot be opened as an index: .*not a valid DuckDB database file"),
    "other DuckDB": (sql("DROP TABLE manifest"), "is a DuckDB file but holds no MATE index"),
    "no manifest": (sql("DELETE FROM manifest"), "holds an index without a manifest"),
    "no JSON": (sql("UPDATE manifest SET value = '{'"), "has a manifest that cannot be read"),
    "NULL": (sql("UPDATE manifest SET value = NULL"), "has a manifest that cannot be read"),
    "no object": (sql("UPDATE manifest SET value = '[]'"), "has a manifest that cannot be read"),
    "other columns": (sql("ALTER TABLE manifest DROP value"), "cannot be opened as an index"),
    "a table less": (sql("DROP TABLE postings"), "lacks the table postings: build the index again"),
    "newer": (lambda store: manifest_with(store, format=99), "has format 99, .* reads format 1: upgrade MATE"),
    "older": (lambda store: manifest_with(store, format=0), "has format 0, .*: build the index again"),
    "other tokens": (lambda store: manifest_with(store, normalisation=0), "built with normalisation 0"),
    "no format": (lambda store: manifest_with(store, format=...), "manifest that cannot be read: 'format'"),
    "no layout": (lambda store: manifest_with(store, layout=...), "manifest that cannot be read: .*layout"),
    "odd layout": (lambda store: manifest_with(store, layout="per_table"), 'unknown layout "per_table"'),
    "odd hash": (lambda store: manifest_with(store, hashes=[{"nome": "xash"}]), "manifest that cannot be read"),
}


@pytest.mark.parametrize("what", SPOILED)
def test_what_is_no_index_is_a_clear_error(lake: Path, tmp_path: Path, what: str) -> None:
    store = tmp_path / "a.duckdb"
    publish(lake, store)
    spoil, message = SPOILED[what]
    spoil(store)
    with pytest.raises(StoreError, match=message) as error:
        open_store(str(store))
    assert str(store) in str(error.value)
    assert "\n" not in str(error.value)
    publish(lake, store)  # what stands there does not keep a new index from being built
    with open_store(str(store)) as index:
        assert index.manifest.tables == 1
