"""A lake as plain lists, what each change does to it, and an index compared with one that is built from it anew."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build_sources
from mate.build.duckdb_target import DuckDBTarget
from mate.build.updates import Updates
from mate.hashing.superkey import from_ints, to_ints
from mate.search.discovery import SearchSettings
from mate.search.query import QueryTable
from mate.search.systems import find_system
from mate.store import IndexStore, open_store
from mate.store.base import Probes, as_ids
from mate.values.text import token
from mate.values.token_ids import NO_TOKEN
from tests.lakes import ListSource

HASHES = (
    HashRequest("xash", 128, {"alpha": 4}),
    HashRequest("xash", 64, {"alpha": 3}),
    HashRequest("bf", 128, {"hashes": 5}),
    HashRequest("lhbf", 128, {"probes": 3}),
    HashRequest("ht", 128),
    HashRequest("md5", 128),
    HashRequest("murmur", 128),
    HashRequest("city", 128),
    HashRequest("simhash", 128),
)
"""Every hash function there is, with the parameters given: those that a build would choose depend on the lake."""

WORDS = [*(f"w{n}" for n in range(9)), "Straße", "STRASSE", "李", 'q"uote', "a|b\\c\n", "'; DROP TABLE postings; --"]
CELLS: list[str | None] = [*WORDS, "", "n/a", None, "long " * 300]


@dataclass
class ModelTable:
    name: str
    header: list[str]
    rows: list[list[str | None]]


@dataclass
class Model:
    """The tables of a lake by number."""

    tables: dict[int, ModelTable] = field(default_factory=dict)
    made: int = 0
    vocabulary: set[str] = field(default_factory=set)
    """Every token that was ever there."""

    def new_table(self, dice: random.Random) -> ModelTable:
        self.made += 1
        width = dice.randint(1, 4)
        rows = [self.row(dice, width) for _ in range(dice.randint(1, 6))]
        rows[0][0] = dice.choice(WORDS)  # some value, so that every build has a cell to index
        return ModelTable(f"table {self.made}", [f"c{n}" for n in range(width)], rows)

    @staticmethod
    def row(dice: random.Random, width: int) -> list[str | None]:
        return [dice.choice(CELLS) for _ in range(width)]

    def remember(self) -> None:
        cells = (cell for table in self.tables.values() for row in table.rows for cell in row)
        self.vocabulary |= {text for cell in cells if cell is not None and (text := token(cell)) is not None}

    # Each operation, on the index and on the model

    def add(self, updates: Updates, dice: random.Random) -> None:
        tables = [self.new_table(dice) for _ in range(dice.randint(1, 2))]
        report = updates.add_sources([source(table) for table in tables])
        assert [info.name for info in report.added] == [table.name for table in tables]
        self.tables.update(zip((info.table_id for info in report.added), tables, strict=True))

    def remove(self, updates: Updates, dice: random.Random) -> None:
        chosen = dice.sample(sorted(self.tables), min(len(self.tables), dice.randint(1, 2)))
        updates.remove_tables(chosen)
        for number in chosen:
            del self.tables[number]

    def append(self, updates: Updates, dice: random.Random) -> None:
        number, table = self.pick(dice)
        rows = [self.row(dice, len(table.header)) for _ in range(dice.randint(1, 3))]
        updates.append_rows(number, rows)
        table.rows += rows

    def update(self, updates: Updates, dice: random.Random) -> None:
        number, table = self.pick(dice)
        cells = [
            (dice.randrange(len(table.rows)), dice.randrange(len(table.header)), dice.choice(CELLS))
            for _ in range(dice.randint(1, 4) if table.rows else 0)
        ]
        updates.update_cells(number, cells)
        for row, column, value in cells:
            table.rows[row][column] = value

    def remove_rows(self, updates: Updates, dice: random.Random) -> None:
        number, table = self.pick(dice)
        rows = dice.sample(range(len(table.rows)), min(len(table.rows), dice.randint(1, 3)))
        updates.remove_rows(number, rows)
        table.rows = [row for place, row in enumerate(table.rows) if place not in rows]

    def add_column(self, updates: Updates, dice: random.Random) -> None:
        number, table = self.pick(dice)
        values = [dice.choice(CELLS) for _ in table.rows]
        updates.add_column(number, "new", values)
        table.header = [*table.header, "new"]
        table.rows = [[*row, value] for row, value in zip(table.rows, values, strict=True)]

    def remove_column(self, updates: Updates, dice: random.Random) -> None:
        number, table = self.pick(dice)
        if len(table.header) > 1:
            column = dice.randrange(len(table.header))
            updates.remove_column(number, column)
            for record in (table.header, *table.rows):
                del record[column]

    def compact(self, updates: Updates, _: random.Random) -> None:
        updates.compact()

    def pick(self, dice: random.Random) -> tuple[int, ModelTable]:
        number = dice.choice(sorted(self.tables))
        return number, self.tables[number]


OPERATIONS: dict[str, Callable[[Model, Updates, random.Random], None]] = {
    "add": Model.add,
    "remove": Model.remove,
    "append": Model.append,
    "update": Model.update,
    "remove rows": Model.remove_rows,
    "add column": Model.add_column,
    "remove column": Model.remove_column,
    "compact": Model.compact,
}


def operate(model: Model, updates: Updates, name: str, seed: int) -> None:
    """Do an operation; a lake without tables gets one."""
    model.remember()
    OPERATIONS[name if model.tables else "add"](model, updates, random.Random(seed))


def source(table: ModelTable) -> ListSource:
    return ListSource(table.rows, table.name, tuple(table.header))


def build(path: Path, tables: Sequence[ModelTable], layout: str, **changes: Any) -> None:
    settings = BuildSettings(**{"hashes": HASHES, "layout": layout, "master": "none", **changes})
    with DuckDBTarget(path) as target:
        build_sources([source(table) for table in tables], target, settings)


def first_lake(dice: random.Random) -> Model:
    model = Model()
    model.tables = dict(enumerate(model.new_table(dice) for _ in range(dice.randint(1, 4))))
    return model


# Two indexes that must be alike


def compare(store: IndexStore, model: Model, folder: Path, dice: random.Random) -> None:
    """Assert that an index holds the model's tables, and answers as one that is built from them."""
    alive = {number: table for number, table in sorted(model.tables.items()) if table.rows}
    assert [(t.table_id, t.name, list(t.columns), t.rows) for t in store.tables()] == [
        (number, table.name, table.header, len(table.rows)) for number, table in sorted(model.tables.items())
    ]
    if not any(token(cell) for table in alive.values() for row in table.rows for cell in row if cell):
        assert store.manifest.cells == store.manifest.distinct_tokens == 0
        return
    path = folder / "rebuilt.duckdb"
    hashes = [HashRequest(spec.name, spec.bits, spec.parameters) for spec in store.manifest.hashes]
    build(path, list(alive.values()), store.manifest.layout, hashes=tuple(hashes))
    with open_store(str(path)) as built:
        number_of = dict(enumerate(alive))
        same_content(store, built, model, number_of)
        same_candidates(store, built, model, number_of)
        same_search(store, built, model, number_of, dice)
    path.unlink()


def places(store: IndexStore) -> dict[int, tuple[int, int]]:
    """Return table and place in the table of every row."""
    rows = store.row_ids(as_ids([table.table_id for table in store.tables()]))
    found: dict[int, tuple[int, int]] = {}
    seen: Counter[int] = Counter()
    for row, table in zip(rows.row_id.tolist(), rows.table_id.tolist(), strict=True):
        found[row] = (table, seen[table])
        seen[table] += 1
    return found


def same_content(store: IndexStore, built: IndexStore, model: Model, number_of: dict[int, int]) -> None:
    """Compare everything that the protocol tells, by table and place of the row in it."""
    for name in ("rows", "cells", "distinct_tokens"):
        assert getattr(store.manifest, name) == getattr(built.manifest, name), name
    empty = [table for table in model.tables.values() if not table.rows]
    assert store.manifest.tables == built.manifest.tables + len(empty)
    assert store.manifest.columns == built.manifest.columns + sum(len(table.header) for table in empty)
    own, other = places(store), places(built)
    where = {row: (number_of[table], place) for row, (table, place) in other.items()}
    assert sorted(own.values()) == sorted(where.values())
    mine, theirs = as_ids(sorted(own, key=own.__getitem__)), as_ids(sorted(where, key=where.__getitem__))
    assert [store.cells(mine)[row] for row in mine.tolist()] == [built.cells(theirs)[row] for row in theirs.tolist()]
    assert tokens_by_place(store, own) == tokens_by_place(built, where)
    for number in range(len(store.manifest.hashes)):
        assert to_ints(store.super_keys(mine, number)) == to_ints(built.super_keys(theirs, number))
    texts = pa.array(sorted(model.vocabulary | {"never there"}), pa.string())
    for a, b in zip(store.tokens(texts), built.tokens(texts), strict=True):
        assert a.tolist() == b.tolist()
    ids = built.tokens(texts).token_id
    assert postings_by_place(store, ids, own) == postings_by_place(built, ids, where)
    weights = np.arange(len(ids)) % 3 + 1
    for given in (None, weights):
        assert counts_by_table(store, ids, given) == {
            number_of[table]: count for table, count in counts_by_table(built, ids, given).items()
        }
    known = store.dictionary(ids)
    assert (known.token_id.tolist(), known.token.to_pylist()) == (
        np.unique(ids).tolist(),
        built.dictionary(ids).token.to_pylist(),
    )
    assert known.postings.tolist() == built.dictionary(ids).postings.tolist()


def tokens_by_place(store: IndexStore, where: dict[int, tuple[int, int]]) -> dict[tuple[int, int], list[int]]:
    rows = store.rows(as_ids(sorted(where)))
    assert rows.row_id.tolist() == sorted(where)
    ends = zip(rows.row_id.tolist(), rows.offsets[:-1], rows.offsets[1:], strict=True)
    return {where[row]: rows.token_id[start:stop].tolist() for row, start, stop in ends}


def postings_by_place(store: IndexStore, ids: Any, where: dict[int, tuple[int, int]]) -> Counter[tuple[int, ...]]:
    found = store.postings(ids)
    assert len(found.row_id) == store.manifest.cells
    records = zip(*(column.tolist() for column in found), strict=True)
    return Counter((text, column, *where[row]) for text, _, column, row in records)


def counts_by_table(store: IndexStore, ids: Any, weights: Any) -> dict[int, int]:
    counts = store.count_by_table(ids, weights)
    return dict(zip(counts.table_id.tolist(), counts.postings.tolist(), strict=True))


def same_candidates(store: IndexStore, built: IndexStore, model: Model, number_of: dict[int, int]) -> None:
    own, other = places(store), places(built)
    rows = built.rows(as_ids(sorted(other)))
    tokens = rows.token_id[rows.token_id != NO_TOKEN]
    dice = np.random.default_rng(len(tokens))
    chosen = dice.choice(tokens, 12)
    for number in (*range(len(store.manifest.hashes)), None):
        bits = store.manifest.hashes[number or 0].bits
        keys = to_ints(built.super_keys(as_ids(dice.choice(sorted(other), 12)), number or 0))
        probes = Probes(chosen, np.arange(12), from_ints(keys, bits))
        for tables in (None, list(number_of)[::2]):
            restricted = None if tables is None else as_ids([number_of[table] for table in tables])
            mine = store.candidates(probes, number, restricted)
            theirs = built.candidates(probes, number, None if tables is None else as_ids(tables))
            records = zip(*(column.tolist() for column in theirs), strict=True)
            assert Counter(
                (t, table, column, own[row][1])
                for t, table, column, row in zip(*(c.tolist() for c in mine), strict=True)
            ) == Counter((t, number_of[table], column, other[row][1]) for t, table, column, row in records)


def same_search(
    store: IndexStore, built: IndexStore, model: Model, number_of: dict[int, int], dice: random.Random
) -> None:
    """Search for the key of a table, with some hash functions and with every other system."""
    hashes = list(store.manifest.hashes)
    wide = [table for table in model.tables.values() if len(table.header) > 1 and table.rows]
    for table in dice.sample(wide, min(1, len(wide))):
        names = [f"k{n}" for n in range(len(table.header))]
        rows = [*table.rows, WORDS[: len(names)]]  # one row at least that has a value everywhere
        columns = [pa.array([row[n] for row in rows], pa.string()) for n in range(len(names))]
        query = QueryTable("query", pa.table(columns, names=names))
        key = names[: dice.randint(2, 3)]
        for system, hash_ in [
            ("scr", hashes[0]),
            ("mcr", hashes[0]),
            *(("mate", h) for h in dice.sample(hashes, min(3, len(hashes)))),
        ]:
            settings = SearchSettings(hash_name=hash_.name, bits=hash_.bits)
            mine = find_system(system)(store, query, key, 50, settings)
            theirs = find_system(system)(built, query, key, 50, settings)
            assert [(r.joinability, r.table_id, r.table.name, r.column_ids, r.mapping) for r in mine] == [
                (r.joinability, number_of[r.table_id], r.table.name, r.column_ids, r.mapping) for r in theirs
            ], (system, hash_)
