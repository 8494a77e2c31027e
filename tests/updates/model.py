"""A lake as plain lists, what each change does to it, and an index compared with one that is built from it."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from mate.build.build import BuildSettings, HashRequest, build_sources
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.lake.folder import LakeFolder, open_folder
from mate.search.query import QueryTable
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from mate.values.text import token
from tests.lakes import OWN_UNIT, ListSource, dump

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

    def new_table(self, dice: random.Random) -> ModelTable:
        self.made += 1
        width = dice.randint(1, 4)
        rows = [self.row(dice, width) for _ in range(dice.randint(1, 6))]
        rows[0][0] = dice.choice(WORDS)  # some value, so that every build has a cell to index
        return ModelTable(f"table {self.made}", [f"c{n}" for n in range(width)], rows)

    @staticmethod
    def row(dice: random.Random, width: int) -> list[str | None]:
        return [dice.choice(CELLS) for _ in range(width)]

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
    OPERATIONS[name if model.tables else "add"](model, updates, random.Random(seed))


def source(table: ModelTable, size: int = 1) -> ListSource:
    return ListSource(table.rows, table.name, tuple(table.header), size=size)


def build(path: Path, tables: Sequence[ModelTable], **changes: Any) -> None:
    settings = BuildSettings(**{"hashes": HASHES, "master": "none", **changes})
    with LakeTarget(path) as target:
        build_sources([source(table, OWN_UNIT) for table in tables], target, settings)


def first_lake(dice: random.Random) -> Model:
    model = Model()
    model.tables = dict(enumerate(model.new_table(dice) for _ in range(dice.randint(1, 4))))
    return model


# Two indexes that must be alike


def compare(lake: LakeFolder, model: Model, folder: Path, dice: random.Random) -> None:
    """Assert that an index holds the model's tables, and answers as one that is built from them."""
    alive = {number: table for number, table in sorted(model.tables.items()) if table.rows}
    assert [(t.table_id, t.name, list(t.columns), t.rows) for t in lake.tables()] == [
        (number, table.name, table.header, len(table.rows)) for number, table in sorted(model.tables.items())
    ]
    if not any(token(cell) for table in alive.values() for row in table.rows for cell in row if cell):
        assert lake.manifest.counts.cells == 0
        return
    path = folder / "rebuilt.mate"
    hashes = [HashRequest(spec.name, spec.bits, spec.parameters) for spec in lake.manifest.hashes]
    build(path, list(alive.values()), hashes=tuple(hashes))
    with open_folder(path) as built:
        same_content(lake, built, model, list(alive))
        same_search(lake, built, model, list(alive), dice)
    shutil.rmtree(path)


def same_content(lake: LakeFolder, built: LakeFolder, model: Model, number_of: list[int]) -> None:
    """Compare everything that follows from the cells; `number_of` has the number of each rebuilt table."""
    own, other = lake.manifest.counts, built.manifest.counts
    empty = [table for table in model.tables.values() if not table.rows]
    assert (own.rows, own.cells) == (other.rows, other.cells)
    assert own.tables == other.tables + len(empty)
    assert own.columns == other.columns + sum(len(table.header) for table in empty)
    mine, theirs = dump(lake), dump(built)
    for name in ("postings", "codes"):
        assert mine[name] == sorted((*r[:2], number_of[r[2]], *r[3:]) for r in theirs[name]), name
    for name in (*(f"keys{number}" for number in range(len(lake.manifest.hashes))), "cells"):
        records = [record for record in mine[name] if model.tables[record[0]].rows]
        assert records == [(number_of[r[0]], *r[1:]) for r in theirs[name]], name


def same_search(lake: LakeFolder, built: LakeFolder, model: Model, number_of: list[int], dice: random.Random) -> None:
    """Search for the key of a table, with some hash functions and with another system."""
    hashes = list(lake.manifest.hashes)
    wide = [table for table in model.tables.values() if len(table.header) > 1 and table.rows]
    for table in dice.sample(wide, min(1, len(wide))):
        names = [f"k{n}" for n in range(len(table.header))]
        rows = [*table.rows, WORDS[: len(names)]]  # one row at least that has a value everywhere
        columns = [pa.array([row[n] for row in rows], pa.string()) for n in range(len(names))]
        query = QueryTable("query", pa.table(columns, names=names))
        key = names[: dice.randint(2, 3)]
        for system, hash_ in [
            ("column-first", hashes[0]),
            *(("mate", h) for h in dice.sample(hashes, min(3, len(hashes)))),
        ]:
            settings = SearchSettings(filters=FilterSettings(hash_name=hash_.name, bits=hash_.bits))
            mine = find_system(system)(lake, query, key, 50, settings)
            theirs = find_system(system)(built, query, key, 50, settings)
            assert [(r.joinability, r.table_id, r.table.name, r.column_ids, r.mapping) for r in mine] == [
                (r.joinability, number_of[r.table_id], r.table.name, r.column_ids, r.mapping) for r in theirs
            ], (system, hash_)
