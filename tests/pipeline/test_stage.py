"""The first step: one unit of sources to Parquet files of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate.build import stage
from mate.build.sources import Unit, find_sources
from mate.build.stage import Staged, StageSettings, stage_unit
from mate.corpus import Chunk, Limits, Reject
from mate.corpus.table import Table
from mate.values.text import NULL_SPELLINGS, token
from mate.values.token_ids import token_id


@dataclass(frozen=True)
class Given:
    """A source that yields what it was given."""

    items: list[Chunk | Reject]
    name: str = "given"
    format: str = "test"
    size: int = 3

    def read(self, limits: Limits) -> Iterator[Chunk | Reject]:
        return iter(self.items)

    def checksum(self) -> str:
        return "sum of " + self.name


@dataclass
class Rows:
    """Chunks of tables of one width, and the rows put into them."""

    width: int
    chunks: list[Chunk | Reject] = field(default_factory=list)
    rows: list[list[str | None]] = field(default_factory=list)

    def add(self, position: int, rows: list[list[str | None]], first: int = 0) -> None:
        table = Table("given", position, position + 1, f"t{position}", tuple(f"c{n}" for n in range(self.width)))
        self.chunks.append(Chunk(table, first, pa.array([cell for row in rows for cell in row], pa.string())))
        self.rows += rows


def settings(**limits: int) -> StageSettings:
    return StageSettings(NULL_SPELLINGS, Limits(**limits))


def part(staged: Staged, name: str) -> list[dict[str, Any]]:
    return pq.read_table(staged.path(name)).to_pylist()


def test_tables_are_numbered_and_know_where_their_rows_are(tmp_path: Path) -> None:
    rows = Rows(2)
    rows.add(0, [["a", "b"], ["c", None]])
    rows.add(0, [["d", "e"]], first=2)  # a second chunk of the same table
    rows.add(1, [["f", "g"]])
    rows.add(2, [])  # no row, no table
    staged = stage_unit(Unit(4, (Given(rows.chunks), Given(rows.chunks[:1], "more"))), str(tmp_path), settings())
    tables = part(staged, "tables")
    assert [(t["table_no"], t["name"], t["first_row"], t["rows"]) for t in tables] == [
        (0, "t0", 0, 3),
        (1, "t1", 3, 1),
        (2, "t0", 4, 2),
    ]
    assert [row["table_no"] for row in part(staged, "rows")] == [0, 0, 0, 1, 2, 2]
    assert [row["cells"] for row in part(staged, "rows")] == [*rows.rows, *rows.rows[:2]]
    assert (staged.unit, staged.files, staged.tables, staged.columns, staged.rows, staged.cells) == (4, 2, 3, 6, 6, 10)
    assert [(s["source"], s["tables"], s["sha256"]) for s in part(staged, "sources")] == [
        ("given", 2, "sum of given"),
        ("more", 1, "sum of more"),
    ]


def test_a_source_read_twice_gives_two_tables(tmp_path: Path) -> None:
    rows = Rows(1)
    rows.add(0, [["a"]])
    staged = stage_unit(Unit(0, (Given(rows.chunks), Given(rows.chunks))), str(tmp_path), settings())
    assert [t["rows"] for t in part(staged, "tables")] == [1, 1]


def test_many_batches_hold_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(3)
    for position in range(40):
        rows.add(position, [[f"v{n % 17}", f"w{n * position}", "x" * 30] for n in range(20)])
    unit = Unit(0, (Given(rows.chunks),))
    whole = stage_unit(unit, str(tmp_path), settings(cell_characters=20))
    monkeypatch.setattr(stage, "BATCH_CELLS", 100)  # 20 batches, so that dictionaries are merged on the way
    pieces = stage_unit(unit, str(tmp_path), settings(cell_characters=20))
    assert pq.ParquetFile(pieces.path("rows")).num_row_groups == 20
    assert pq.ParquetFile(whole.path("rows")).num_row_groups == 1
    for name in ("rows", "tables", "rejects", "sources"):
        assert part(pieces, name) == part(whole, name)
    assert pieces.cells == whole.cells
    expected = Counter(token(cell) for row in rows.rows for cell in row[:2] if cell)
    for staged in (whole, pieces):
        found = part(staged, "dictionary")
        assert {entry["token"]: entry["postings"] for entry in found} == expected
        assert len(found) == len(expected)
        assert all(entry["token_id"] == token_id(entry["token"]) for entry in found)


def test_every_batch_of_rows_has_its_own_dictionary_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "BATCH_CELLS", 4)
    rows = Rows(2)
    for position in range(6):
        rows.add(position, [[f"a{position}", "b"], [None, "c"]])
    staged = stage_unit(Unit(0, (Given(rows.chunks),)), str(tmp_path), settings())
    row_file, token_file = pq.ParquetFile(staged.path("rows")), pq.ParquetFile(staged.path("tokens"))
    assert row_file.num_row_groups == token_file.num_row_groups == 6
    for group in range(6):
        numbers = {n for row in row_file.read_row_group(group).column("tokens").to_pylist() for n in row} - {-1}
        assert token_file.read_row_group(group).column("token_id").to_pylist() == sorted(numbers)


def test_rejects_are_kept_and_counted_by_what_they_stand_for(tmp_path: Path) -> None:
    given = [
        Reject("given", None, "file", "odd"),
        Reject("given", 3, "record", "torn", 4),
        Reject("given", 9, "row", "wide", 2),
    ]
    staged = stage_unit(Unit(0, (Given(list(given)),)), str(tmp_path), settings())
    assert [Reject(**record) for record in part(staged, "rejects")] == given
    assert (staged.rejects, staged.rejected_tables, staged.tables, staged.cells) == (7, 5, 0, 0)
    assert part(staged, "dictionary") == part(staged, "rows") == []


def test_oversized_cells_are_reported_by_table_with_their_first_row(tmp_path: Path) -> None:
    long = "x" * 21
    rows = Rows(2)
    rows.add(0, [["a", "b"], ["c", long], [long, "d"]])
    rows.add(1, [["e", "f"]])
    rows.add(1, [["g", long]], first=1)
    staged = stage_unit(Unit(0, (Given(rows.chunks),)), str(tmp_path), settings(cell_characters=20))
    found = part(staged, "rejects")
    assert [(r["kind"], r["count"]) for r in found] == [("cell", 2), ("cell", 1)]
    assert [r["reason"] for r in found] == [
        "cell longer than 20 characters: kept, not indexed (first in data row 2)",
        "cell longer than 20 characters: kept, not indexed (first in data row 2)",
    ]
    assert staged.cells == 7
    assert [row["cells"] for row in part(staged, "rows")] == rows.rows


def test_a_task_that_runs_twice_writes_to_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    unit = Unit(0, tuple(find_sources([tmp_path / "a.csv"], None, tasks=1)))
    first, second = (stage_unit(unit, str(tmp_path), settings()) for _ in range(2))
    assert first.prefix != second.prefix
    assert part(first, "rows") == part(second, "rows") != []
