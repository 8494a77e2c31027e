"""Whatever is wrong with an index is found, every time; what can be computed is repaired.

`MATE_SEEDS=50 pytest tests/updates/test_integrity.py` tries each kind of damage more often, and to every file.
"""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import duckdb
import pytest

from mate.build.repair import repair, rewrite_flat
from mate.build.updates import Updates
from mate.cli.program import main
from mate.integrity import check
from mate.store import open_store
from mate.store.base import LAYOUTS, as_ids
from mate.store.blocks import damage
from mate.store.changes import changes_path
from mate.store.flat import flat_path
from tests.updates.model import HASHES, Model, build, compare, first_lake, operate

SEEDS = range(int(os.environ.get("MATE_SEEDS", "1")))
THOROUGH = len(SEEDS) > 1
SOME_HASHES = HASHES[:2]
STEPS = ("append", "update", "add", "remove rows", "add column", "remove", "update")


KINDS = [(layout, changed) for layout in LAYOUTS for changed in (True, False)]


MADE: dict[tuple[str, bool], tuple[Path, Model]] = {}


@pytest.fixture(params=KINDS if THOROUGH else KINDS[:1], ids=str)
def sound(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Model]:
    """An index, as built or changed, and what it holds; each kind is made once."""
    if request.param not in MADE:
        MADE[request.param] = made(tmp_path_factory.mktemp("sound") / "lake.duckdb", *request.param)
    return MADE[request.param]


def made(store: Path, layout: str, changed: bool) -> tuple[Path, Model]:
    model = Model()
    for seed in range(3):
        more = first_lake(random.Random(seed)).tables.values()
        model.tables |= dict(enumerate(more, len(model.tables)))
    for number, table in model.tables.items():
        table.name = f"table {number}"
    model.made = len(model.tables)
    build(store, list(model.tables.values()), layout, hashes=SOME_HASHES)
    for seed, name in enumerate(STEPS if changed else ()):
        operate(model, Updates(str(store)), name, seed)
    model.remember()
    assert check(str(store)).sound
    return store, model


@pytest.fixture
def index(sound: tuple[Path, Model], tmp_path: Path) -> tuple[Path, Model]:
    """A copy to spoil."""
    store, model = sound
    for path in store.parent.iterdir():
        shutil.copy(path, tmp_path / path.name)
    return tmp_path / store.name, model


# Damage done by SQL: the files are whole, what they say is not


PER_CELL, PER_ROW, CHANGED = "per_cell", "per_row", "changed"

WRONG: dict[str, tuple[str, str]] = {
    "a posting lost": ("", "DELETE FROM postings WHERE {one}"),
    "a posting twice": ("", "INSERT INTO postings FROM postings WHERE {one}"),
    "a bit of a posting's token": ("", "UPDATE postings SET token_id = xor(token_id, 1::BIGINT << {bit}) WHERE {one}"),
    "a posting's column": ("", "UPDATE postings SET column_id = column_id + 1 WHERE {one}"),
    "a posting's row": ("", "UPDATE postings SET row_id = row_id + 1 WHERE {one}"),
    "a posting's row far away": ("", "UPDATE postings SET row_id = row_id + 1000000 WHERE {one}"),
    "a posting's table": ("", "UPDATE postings SET table_id = table_id + 1 WHERE {one}"),
    "a bit of a super key": (PER_CELL, "UPDATE postings SET {key} = xor({key}, 1::UBIGINT << {bit}) WHERE {one}"),
    "a bit of a row's super key": (
        PER_ROW,
        "UPDATE super_keys SET {key} = xor({key}, 1::UBIGINT << {bit}) WHERE {one}",
    ),
    "super keys lost": (PER_ROW, "DELETE FROM super_keys WHERE {one}"),
    "super keys twice": (PER_ROW, "INSERT INTO super_keys FROM super_keys WHERE {one}"),
    "super keys of no row": (PER_ROW, "UPDATE super_keys SET row_id = row_id + 1000000 WHERE {one}"),
    "a row lost": ("", "DELETE FROM rows WHERE {one}"),
    "a row twice": ("", "INSERT INTO rows FROM rows WHERE {one}"),
    "a row's table": ("", "UPDATE rows SET table_id = table_id + 1 WHERE {one}"),
    "a row's token": (
        "",
        "UPDATE rows SET tokens = list_prepend(xor(tokens[1], 1::BIGINT << {bit}), tokens[2:]) WHERE {one}",
    ),
    "a token too many": ("", "UPDATE rows SET tokens = list_append(tokens, 7) WHERE {one}"),
    "cells lost": ("", "DELETE FROM cells WHERE {one}"),
    "cells twice": ("", "INSERT INTO cells FROM cells WHERE {one}"),
    "a cell": ("", "UPDATE cells SET cells = list_prepend('another {bit}', cells[2:]) WHERE {one}"),
    "a cell too many": ("", "UPDATE cells SET cells = list_append(cells, 'more') WHERE {one}"),
    "cells of no row": ("", "UPDATE cells SET row_id = row_id + 1000000 WHERE {one}"),
    "a token lost": ("", "DELETE FROM tokens WHERE {one}"),
    "a token twice": ("", "INSERT INTO tokens FROM tokens WHERE {one}"),
    "a token's count": ("", "UPDATE tokens SET postings = postings + 1 WHERE {one}"),
    "a token's text": ("", "UPDATE tokens SET token = token || 'x' WHERE {one}"),
    "a table lost": ("", "DELETE FROM tables WHERE {one}"),
    "a table twice": ("", "INSERT INTO tables FROM tables WHERE {one}"),
    "a table's rows": ("", "UPDATE tables SET rows = rows + 1 WHERE {one}"),
    "a table's columns": ("", "UPDATE tables SET columns = list_append(columns, 'more') WHERE {one}"),
    "a table's source": ("", "UPDATE tables SET source = 'elsewhere' WHERE {one}"),
    "a source lost": ("", "DELETE FROM sources WHERE {one}"),
    "a source's tables": ("", "UPDATE sources SET tables = tables + 1 WHERE {one}"),
    "a reject lost": ("", "DELETE FROM rejects WHERE {one}"),
    "no value": ("", "UPDATE rows SET tokens = NULL WHERE {one}"),
    "no number": ("", "UPDATE postings SET row_id = NULL WHERE {one}"),
    "a dead row forgotten": (CHANGED, "DELETE FROM dead_rows WHERE {one}"),
    "a row called dead": (CHANGED, "UPDATE dead_rows SET stop = stop + 1 WHERE {one}"),
    "a dead table forgotten": (CHANGED, "DELETE FROM dead_tables WHERE {one}"),
    "a dead posting forgotten": (CHANGED, "DELETE FROM dead_postings WHERE {one}"),
    "a dead posting's count": (CHANGED, "UPDATE dead_postings SET postings = postings + 1 WHERE {one}"),
    "a dead source forgotten": (CHANGED, "DELETE FROM dead_sources WHERE {one}"),
}
COUNTS = ("tables", "columns", "rows", "cells", "distinct_tokens", "rejects")


def spoil(path: Path, statement: str, dice: random.Random) -> bool:
    """Run a statement on one record of a file; False if there is none."""
    table = statement.replace("INSERT INTO", "FROM").replace("UPDATE", "FROM").partition("FROM ")[2].split()[0]
    with duckdb.connect(str(path)) as database:
        numbers = [number for (number,) in database.execute(f"SELECT rowid FROM {table}").fetchall()]
        if not numbers:
            return False
        key = f"key{dice.randrange(len(SOME_HASHES))}_0"
        before = database.execute(f"FROM {table} ORDER BY ALL").fetchall()
        chosen = statement.format(one=f"rowid = {dice.choice(numbers)}", bit=dice.randrange(62), key=key)
        database.execute(chosen)
        return before != database.execute(f"FROM {table} ORDER BY ALL").fetchall()


def files(store: Path) -> list[Path]:
    return [path for path in (store, changes_path(store)) if path.exists()]


def suits(kind: tuple[str, bool], what: str) -> bool:
    """Tell whether a kind of damage is tried on a kind of index: on all that it can be done to, or on one of them."""
    layout, changed = kind
    needed = WRONG[what][0]
    if THOROUGH:
        return needed in ("", layout) or (needed == CHANGED and changed)
    return kind == (KINDS[-1] if needed == PER_ROW else KINDS[0])


def cases(kinds: Iterable[str]) -> list[tuple[tuple[str, bool], str]]:
    return [(kind, what) for kind in KINDS for what in kinds if suits(kind, what)]


def places(what: str, store: Path) -> list[Path]:
    """Return the files that a kind of damage is done to: each that it can be done to, or one of them."""
    if WRONG[what][0] == CHANGED:
        return files(store)[1:]
    return files(store) if THOROUGH else files(store)[list(WRONG).index(what) % 2 :][:1] or files(store)


@pytest.mark.parametrize(("sound", "what"), cases(WRONG), indirect=["sound"], ids=str)
def test_what_is_wrong_is_found(index: tuple[Path, Model], what: str) -> None:
    store, _ = index
    tried = 0
    for path in places(what, store):
        good = path.read_bytes()
        for seed in SEEDS:
            if spoil(path, WRONG[what][1], random.Random(seed)):
                findings = check(str(store))
                assert not findings.sound, (what, path.name, seed)
                assert all("\n" not in problem.text for problem in findings.problems)
                tried += 1
            path.write_bytes(good)
    assert tried


@pytest.mark.parametrize("name", COUNTS)
def test_a_count_of_the_manifest_that_is_wrong_is_found(index: tuple[Path, Model], name: str) -> None:
    store, _ = index
    for path in files(store):
        good = path.read_bytes()
        with duckdb.connect(str(path)) as database:
            [(text,)] = database.execute("SELECT value FROM manifest WHERE name = 'manifest'").fetchall()
            manifest = json.loads(text)
            manifest[name] += 1
            database.execute("UPDATE manifest SET value = $1 WHERE name = 'manifest'", [json.dumps(manifest)])
        findings = check(str(store))
        assert findings.counts["manifest"] == 1, path.name
        assert name.replace("_", " ") in findings.problems[0].text
        path.write_bytes(good)


def test_problems_are_told_by_table_and_row(index: tuple[Path, Model]) -> None:
    store, _ = index
    with open_store(str(store)) as opened:
        table = opened.tables()[1]
        row = int(opened.row_ids(as_ids([table.table_id])).row_id[0])
        token = next(int(t) for t in opened.rows(as_ids([row])).token_id if t >= 0)
    for path in files(store):
        with duckdb.connect(str(path)) as database:
            database.execute("DELETE FROM postings WHERE row_id = $1 AND token_id = $2", [row, token])
    findings = check(str(store))
    found = {(p.part, p.table_id, p.row) for p in findings.problems}
    assert ("postings", table.table_id, row) in found
    [problem] = [p for p in findings.problems if p.part == "postings"]
    assert "missing" in problem.text


# Damage done to the bytes


def positions(size: int, dice: random.Random) -> Iterator[int]:
    yield from (dice.randrange(size) for _ in range(8 * len(SEEDS)))


def test_a_flipped_bit_is_found_wherever_it_is(index: tuple[Path, Model]) -> None:
    store, _ = index
    for path in files(store):
        good = path.read_bytes()
        for position in positions(len(good), random.Random(1)):
            spoiled = bytearray(good)
            spoiled[position] ^= 1 << position % 8
            path.write_bytes(spoiled)
            findings = check(str(store))
            assert findings.damaged, (path.name, position)
            assert str(path) in findings.problems[0].text
        path.write_bytes(good)
    assert check(str(store)).sound


def test_a_file_that_was_cut_off_is_found(index: tuple[Path, Model]) -> None:
    store, _ = index
    for path in files(store):
        good = path.read_bytes()
        whole_blocks = [12_288 + 262_144 * n for n in range((len(good) - 12_288) // 262_144)]
        lengths = [0, 100, 4_096, *whole_blocks[:: 1 if THOROUGH else 3], *positions(len(good), random.Random(2))]
        for length in lengths:
            path.write_bytes(good[:length])
            assert not check(str(store)).sound, (path.name, length)
        path.write_bytes(good)


def test_overwritten_blocks_are_found(index: tuple[Path, Model]) -> None:
    store, _ = index
    for path in files(store):
        good = path.read_bytes()
        for position in positions(len(good) - 5_000, random.Random(3)):
            path.write_bytes(good[:position] + bytes(5_000) + good[position + 5_000 :])
            if path.read_bytes() != good:
                assert check(str(store)).damaged, (path.name, position)
        path.write_bytes(good)


def test_arrays_that_do_not_fit_the_index_are_found(index: tuple[Path, Model]) -> None:
    store, _ = index
    path = flat_path(store)
    good = path.read_bytes()
    for position in list(positions(len(good), random.Random(4)))[::2]:
        spoiled = bytearray(good)
        spoiled[position] ^= 1 << position % 8
        path.write_bytes(spoiled)
        findings = check(str(store))
        assert findings.counts["flat file"] == 1, position
        assert not findings.damaged
    path.write_bytes(good[:-1])
    assert check(str(store)).counts["flat file"] == 1
    rewrite_flat(str(store), 0)
    assert path.read_bytes() == good
    path.write_bytes(b"")
    assert run("--store", str(store), "--repair") == 0
    assert path.read_bytes() == good


def test_blocks_of_files_that_are_no_index(tmp_path: Path) -> None:
    for content in (b"", b"short", b"x" * 20_000):
        (tmp_path / "file").write_bytes(content)
        assert list(damage(tmp_path / "file")) == ["it does not begin as a DuckDB file does"]


# Repair


EXACT = [
    what
    for what in WRONG
    if not what.startswith(("a cell", "cells", "a table", "a source", "a dead", "a row called", "a reject"))
]
"""Damage to what follows from the cells, which says nothing else than they do."""


@pytest.mark.parametrize(("sound", "what"), cases(EXACT if THOROUGH else EXACT[::5]), indirect=["sound"], ids=str)
def test_what_follows_from_the_cells_is_repaired(index: tuple[Path, Model], what: str, tmp_path: Path) -> None:
    store, model = index
    spoiled = [spoil(path, WRONG[what][1], random.Random(7)) for path in places(what, store)]
    assert any(spoiled)
    assert not check(str(store)).sound
    assert not repair(str(store), 0).lost
    assert check(str(store)).sound, what
    with open_store(str(store)) as opened:
        compare(opened, model, tmp_path, random.Random(1))


def test_lost_cells_are_restored_from_their_tokens(index: tuple[Path, Model]) -> None:
    store, _ = index
    with open_store(str(store)) as opened:
        table = next(t for t in opened.tables() if t.rows)
        rows = opened.row_ids(as_ids([table.table_id])).row_id
        row = int(rows[0])
        before = opened.rows(as_ids([row])).token_id.tolist()
    for path in files(store):
        with duckdb.connect(str(path)) as database:
            database.execute("DELETE FROM cells WHERE row_id = $1", [row])
    repaired = repair(str(store), 0)
    assert repaired.restored == {table.table_id: 1}
    assert check(str(store)).sound
    with open_store(str(store)) as opened:
        [same] = opened.tables(as_ids([table.table_id]))
        first = opened.row_ids(as_ids([table.table_id])).row_id[:1]
        assert (same.rows, opened.rows(first).token_id.tolist()) == (table.rows, before)
        [record] = opened.sources_named([table.source])
        assert record["sha256"] == ""  # to be read again


def test_a_row_of_which_nothing_is_left_is_lost(index: tuple[Path, Model]) -> None:
    store, _ = index
    with open_store(str(store)) as opened, duckdb.connect(str(store), read_only=True) as database:
        built = [row for (row,) in database.execute("SELECT row_id FROM rows ORDER BY row_id").fetchall()]
        tables = {table.table_id: table.rows for table in opened.tables()}
        alive = dict(zip(*(column.tolist() for column in opened.row_ids(as_ids(list(tables)))), strict=True))
    row = next(row for row in built if row in alive and tables[alive[row]] > 1)
    number = alive[row]
    with duckdb.connect(str(store)) as database:
        for name in ("rows", "cells", "postings"):
            database.execute(f"DELETE FROM {name} WHERE row_id = $1", [row])
    assert not check(str(store)).sound
    assert repair(str(store), 0).lost == {number: 1}
    assert check(str(store)).sound
    with open_store(str(store)) as opened:
        assert opened.tables(as_ids([number]))[0].rows == tables[number] - 1


# The command


def run(*arguments: str) -> int:
    return main(["check", *arguments])


def test_the_command(index: tuple[Path, Model], capsys: pytest.CaptureFixture[str]) -> None:
    store, _ = index
    assert run("--store", str(store)) == 0
    assert f"{store} is sound" in capsys.readouterr().out
    spoil(store, WRONG["a token's count"][1], random.Random(1))
    assert run("--store", str(store)) == 1
    told = capsys.readouterr().out
    assert "is noted with" in told
    assert f"mate check --repair --store {store}" in told
    assert run("--store", str(store), "--json") == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["sound"], found["damaged"], found["problems"][0]["part"]) == (False, False, "tokens")
    assert run("--store", str(store), "--repair") == 0
    assert "was repaired and is sound" in capsys.readouterr().out
    assert run("--store", str(store)) == 0


@pytest.mark.parametrize(
    "cut", [lambda data: data[:-262_144], lambda data: data[:50_000], lambda data: data[:20_000] + b"!" + data[20_001:]]
)
def test_a_damaged_file_is_one_clear_error(
    index: tuple[Path, Model], capsys: pytest.CaptureFixture[str], cut: Callable[[bytes], bytes]
) -> None:
    store, _ = index
    store.write_bytes(cut(store.read_bytes()))
    assert run("--store", str(store), "--repair") == 1
    told = capsys.readouterr()
    assert "is damaged and cannot be repaired" in told.out
    assert "Traceback" not in told.out + told.err
    assert told.err == ""


def test_no_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--store", str(tmp_path / "a.duckdb")) == 2
    assert "there is no index at" in capsys.readouterr().err
