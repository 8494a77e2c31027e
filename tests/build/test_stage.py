"""The first step: one unit of sources to files of its own, and chunks to cells, codes and a dictionary."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.build import stage
from mate.build.sources import Item, Provenance, find_sources
from mate.build.stage import TOKENS_SCHEMA, Lot, StageSettings, TokenisedChunks, stage_unit, tokenise
from mate.corpus import Chunk, Limits, Reject
from mate.corpus.table import Table
from mate.values.text import NULL_SPELLINGS, token
from tests.keys import token_id


@dataclass(frozen=True)
class ListSource:
    """A source that yields what is in a list."""

    items: list[Chunk | Reject]
    name: str = "given"
    size: int = 3

    def read(self, limits: Limits) -> Iterator[Item]:
        yield from self.items
        yield Provenance("test", self.size, "sum of " + self.name)


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


def part(staged: Lot, name: str) -> list[dict[str, Any]]:
    return staged.records(name).to_pylist()


def tokens_of(staged: Lot) -> list[list[list[str | None]]]:
    """The tokens of each piece, row by row, by way of codes and dictionaries."""
    codes, dictionaries, found, at = staged.codes(), list(staged.dictionaries()), [], 0
    for piece in part(staged, "pieces"):
        size = piece["rows"] * piece["width"]
        texts = [*dictionaries[piece["group"]].column(1).to_pylist(), None] if size else []
        turned = codes[at : at + size].reshape(piece["width"], piece["rows"]).T
        found.append([[texts[code] for code in row] for row in turned.tolist()])
        at += size
    assert at == len(codes) == staged.slots
    return found


def cells_of(staged: Lot) -> list[list[list[str | None]]]:
    """The cells of each piece, row by row."""
    file, found = pq.ParquetFile(staged.path("cells.parquet")), []
    for piece in part(staged, "pieces"):
        size = piece["rows"] * piece["width"]
        cells = file.read_row_group(piece["group"]).column(0).to_pylist() if size else []
        columns = [
            cells[piece["offset"] + c * piece["rows"] : piece["offset"] + (c + 1) * piece["rows"]]
            for c in range(piece["width"])
        ]
        found.append([list(row) for row in zip(*columns, strict=True)])
    return found


def rows_by_table(staged: Lot, pieces: list[list[list[str | None]]]) -> dict[int, list[list[str | None]]]:
    found: dict[int, list[list[str | None]]] = {}
    for piece, rows in zip(part(staged, "pieces"), pieces, strict=True):
        found.setdefault(piece["table_no"], []).extend(rows)
    return found


def test_tables_are_numbered_and_know_where_their_rows_are(tmp_path: Path) -> None:
    rows = Rows(2)
    rows.add(0, [["a", "b"], ["c", None]])
    rows.add(0, [["d", "e"]], first=2)  # a second chunk of the same table
    rows.add(1, [["f", "g"]])
    rows.add(2, [])  # no row, no table
    sources = [ListSource(rows.chunks), ListSource(rows.chunks[:1], "more")]
    [staged] = stage_unit(sources, str(tmp_path), settings())
    assert [(t["table_id"], t["name"]) for t in part(staged, "tables")] == [(0, "t0"), (1, "t1"), (2, "t0")]
    assert rows_by_table(staged, cells_of(staged)) == {0: rows.rows[:3], 1: rows.rows[3:], 2: rows.rows[:2]}
    assert (staged.files, staged.tables, staged.columns) == (2, 3, 6)
    assert (staged.cells, staged.slots, staged.distinct) == (10, 12, 7)
    assert [(s["source"], s["tables"], s["sha256"]) for s in part(staged, "sources")] == [
        ("given", 2, "sum of given"),
        ("more", 1, "sum of more"),
    ]


def test_many_batches_hold_the_same_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = Rows(3)
    for position in range(40):
        rows.add(position, [[f"v{n % 17}", f"w{n * position}", "x" * 30] for n in range(20)])
    unit = [ListSource(rows.chunks)]
    [whole] = stage_unit(unit, str(tmp_path), settings(cell_characters=20))
    monkeypatch.setattr(stage, "BATCH_CELLS", 100)  # 20 batches, so that ids are united on the way
    [pieces] = stage_unit(unit, str(tmp_path), settings(cell_characters=20))
    assert pq.ParquetFile(pieces.path("cells.parquet")).num_row_groups == len(list(pieces.dictionaries())) == 20
    assert pq.ParquetFile(whole.path("cells.parquet")).num_row_groups == len(list(whole.dictionaries())) == 1
    for name in ("tables", "rejects", "sources"):
        assert part(pieces, name) == part(whole, name)
    assert (pieces.cells, pieces.slots) == (whole.cells, whole.slots)
    words = {token(cell) for row in rows.rows for cell in row[:2] if cell}
    for staged in (whole, pieces):
        assert [row for piece in cells_of(staged) for row in piece] == rows.rows
        assert [row for piece in tokens_of(staged) for row in piece] == [[*row[:2], None] for row in rows.rows]
        assert np.fromfile(staged.path("ids"), np.int64).tolist() == sorted(token_id(word) for word in words if word)
        assert staged.distinct == len(words)


def test_rejects_are_kept_and_counted_by_what_they_stand_for(tmp_path: Path) -> None:
    given = [
        Reject("given", None, "file", "odd"),
        Reject("given", 3, "record", "torn", 4),
        Reject("given", 9, "row", "wide", 2),
    ]
    [staged] = stage_unit([ListSource(list(given))], str(tmp_path), settings())
    assert [Reject(**record) for record in part(staged, "rejects")] == given
    assert (staged.rejects, staged.rejected_tables, staged.tables, staged.cells, staged.slots) == (7, 5, 0, 0, 0)
    assert len(staged.codes()) == len(list(staged.dictionaries())) == 0


def test_oversized_cells_are_reported_by_table_with_their_first_row(tmp_path: Path) -> None:
    long = "x" * 21
    rows = Rows(2)
    rows.add(0, [["a", "b"], ["c", long], [long, "d"]])
    rows.add(1, [["e", "f"]])
    rows.add(1, [["g", long]], first=1)
    [staged] = stage_unit([ListSource(rows.chunks)], str(tmp_path), settings(cell_characters=20))
    found = part(staged, "rejects")
    assert [(r["kind"], r["count"]) for r in found] == [("cell", 2), ("cell", 1)]
    assert {r["reason"] for r in found} == {"cell longer than 20 characters: kept, not indexed (first in data row 2)"}
    assert staged.cells == 7
    assert [row for piece in cells_of(staged) for row in piece] == rows.rows


def test_a_task_that_runs_twice_writes_to_other_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    unit = find_sources([tmp_path / "a.csv"])
    [first], [second] = (stage_unit(unit, str(tmp_path), settings()) for _ in range(2))
    assert first.prefix != second.prefix
    assert cells_of(first) == cells_of(second) == [[["1", "2"]]]


def test_a_large_unit_is_staged_in_lots_that_end_with_a_table(tmp_path: Path) -> None:
    rows = Rows(2)
    for position, count in enumerate((3, 4, 1, 20, 2)):
        rows.add(position, [[f"t{position}", str(n)] for n in range(count)])
        rows.add(position, [[f"t{position}", "more"]], first=count)  # 8, 10, 4, 42, 6 cells
    given = [*rows.chunks[:4], Reject("given", 3, "record", "torn"), *rows.chunks[4:]]
    how = replace(settings(), most_cells=12)
    lots = stage_unit([ListSource(given), ListSource(rows.chunks[:2], "more")], str(tmp_path), how)
    assert [lot.slots for lot in lots] == [18, 46, 14]
    assert [[t["name"] for t in part(lot, "tables")] for lot in lots] == [["t0", "t1"], ["t2", "t3"], ["t4", "t0"]]
    assert [[t["table_id"] for t in part(lot, "tables")] for lot in lots] == [[0, 1]] * 3
    assert [row for lot in lots for piece in cells_of(lot) for row in piece] == [*rows.rows, *rows.rows[:4]]
    assert [row for lot in lots for piece in tokens_of(lot) for row in piece] == [*rows.rows, *rows.rows[:4]]
    noted = [[(s["source"], s["tables"]) for s in part(lot, "sources")] for lot in lots]
    assert noted == [[], [], [("given", 5), ("more", 1)]]
    assert ([lot.files for lot in lots], [lot.rejects for lot in lots]) == ([0, 0, 2], [1, 0, 0])
    assert len({lot.prefix for lot in lots}) == 3


# Chunks to cells, codes and a dictionary


CELLS = st.one_of(st.none(), st.text(max_size=6), st.sampled_from(["a", "A ", " a", "ß", "SS", "NaN", "-", ""]))


def chunk(rows: list[list[str | None]], width: int, position: int = 0) -> Chunk:
    table = Table("t.csv", position, 1, "t", tuple(f"c{n}" for n in range(width)))
    return Chunk(table, 0, pa.array([cell for row in rows for cell in row], pa.string()))


def batch_of(*tables: list[list[str | None]], limit: int = 1_000) -> TokenisedChunks:
    chunks = [chunk(rows, len(rows[0]), number) for number, rows in enumerate(tables)]
    return tokenise(chunks, NULL_SPELLINGS, limit)


def by_column(*tables: list[list[str | None]]) -> list[str | None]:
    return [cell for table in tables for column in zip(*table, strict=True) for cell in column]


def texts_of(batch: TokenisedChunks) -> list[str | None]:
    """The token of each cell, by way of the dictionary."""
    known = [*batch.dictionary.column(1).to_pylist(), None]
    return [known[code] for code in batch.codes.tolist()]


def expected_token(cell: str | None, limit: int = 1_000) -> str | None:
    text = None if cell is None else token(cell)
    return None if text is None or len(text) > limit else text


@st.composite
def batches(draw: st.DrawFn) -> list[list[list[str | None]]]:
    widths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    return [draw(st.lists(st.lists(CELLS, min_size=w, max_size=w), min_size=1, max_size=6)) for w in widths]


@given(batches())
def test_a_batch_holds_every_cell_and_its_token_column_after_column(given_tables: list[list[list[str | None]]]) -> None:
    batch = batch_of(*given_tables, limit=4)
    assert batch.cells.to_pylist() == by_column(*given_tables)
    assert texts_of(batch) == [expected_token(cell, 4) for cell in by_column(*given_tables)]


@given(batches())
def test_the_dictionary_has_each_token_once_with_its_id(given_tables: list[list[list[str | None]]]) -> None:
    batch = batch_of(*given_tables)
    ids, texts = (column.to_pylist() for column in batch.dictionary.columns)
    assert batch.dictionary.schema == TOKENS_SCHEMA
    assert sorted(texts) == sorted({expected_token(cell) for cell in by_column(*given_tables)} - {None})
    assert ids == list(map(token_id, texts))


def test_cells_over_the_limit_are_kept_have_no_token_and_are_named() -> None:
    long, fits = "x" * 11, " " + "y" * 10 + " "
    batch = batch_of([["a", long]], [[fits], [long], [None]], limit=10)
    assert batch.too_long.tolist() == [1, 3]
    assert texts_of(batch) == ["a", None, "y" * 10, None, None]
    assert batch.cells.to_pylist() == ["a", long, fits, long, None]
    batch = batch_of([["a", "b"], ["c", long], [long, "d"]], limit=10)
    assert batch.too_long.tolist() == [3, 4]  # row by row, as the chunk has them


def test_a_batch_without_any_value() -> None:
    batch = batch_of([[None, ""], ["n/a", "  "]])
    assert batch.dictionary.num_rows == 0
    assert batch.codes.tolist() == [-1] * 4
    assert batch.too_long.dtype == np.int64


def test_two_tokens_that_share_an_id_are_both_in_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "token_ids", lambda texts: np.full(len(texts), 7, np.int64))
    batch = batch_of([["a", "b"], ["A", "a"]])
    assert [tuple(record.values()) for record in batch.dictionary.to_pylist()] == [(7, "a"), (7, "b")]
    assert texts_of(batch) == ["a", "a", "b", "a"]
