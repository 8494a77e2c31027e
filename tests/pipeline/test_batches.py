"""Chunks to rows of token numbers and a dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.build import batches
from mate.build.batches import ROWS_SCHEMA, TOKENS_SCHEMA, Batch, make_batch
from mate.corpus import Chunk
from mate.corpus.table import Table
from mate.values.text import NULL_SPELLINGS, token
from mate.values.token_ids import NO_TOKEN, token_id

CELLS = st.one_of(st.none(), st.text(max_size=6), st.sampled_from(["a", "A ", " a", "ß", "SS", "NaN", "-", ""]))


def chunk(rows: list[list[str | None]], width: int, position: int = 0) -> Chunk:
    table = Table("t.csv", position, 1, "t", tuple(f"c{n}" for n in range(width)))
    return Chunk(table, 0, pa.array([cell for row in rows for cell in row], pa.string()))


def batch_of(*tables: list[list[str | None]], seed: int = 0, limit: int = 1_000) -> Batch:
    numbered = [(number, chunk(rows, len(rows[0]), number)) for number, rows in enumerate(tables)]
    return make_batch(numbered, NULL_SPELLINGS, seed, limit)


def number(cell: str | None, seed: int = 0, limit: int = 1_000) -> int:
    text = None if cell is None else token(cell)
    return NO_TOKEN if text is None or len(text) > limit else token_id(text, seed)


@st.composite
def tables(draw: st.DrawFn) -> list[list[list[str | None]]]:
    widths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    return [draw(st.lists(st.lists(CELLS, min_size=w, max_size=w), min_size=1, max_size=6)) for w in widths]


@given(tables(), st.integers(0, 2))
def test_rows_hold_every_cell_and_its_number(given_tables: list[list[list[str | None]]], seed: int) -> None:
    batch = batch_of(*given_tables, seed=seed, limit=4)
    rows = [(place, row) for place, table in enumerate(given_tables) for row in table]
    assert batch.rows.schema == ROWS_SCHEMA
    assert batch.rows.column(0).to_pylist() == [place for place, _ in rows]
    assert batch.rows.column(1).to_pylist() == [[number(cell, seed, 4) for cell in row] for _, row in rows]
    assert batch.rows.column(2).to_pylist() == [row for _, row in rows]


@given(tables())
def test_the_dictionary_counts_the_postings_of_each_token(given_tables: list[list[list[str | None]]]) -> None:
    batch = batch_of(*given_tables)
    counts: dict[str, int] = {}
    for cell in (cell for table in given_tables for row in table for cell in row):
        text = None if cell is None else token(cell)
        if text is not None:
            counts[text] = counts.get(text, 0) + 1
    ids, texts, postings = (column.to_pylist() for column in batch.dictionary.columns)
    assert batch.dictionary.schema == TOKENS_SCHEMA
    assert dict(zip(texts, postings, strict=True)) == counts
    assert ids == sorted(map(token_id, counts))
    assert ids == list(map(token_id, texts))


def test_spellings_share_a_token() -> None:
    batch = batch_of([["Straße", "STRASSE"], ["strasse ", None]])
    assert batch.dictionary.to_pylist() == [{"token_id": token_id("strasse"), "token": "strasse", "postings": 3}]


def test_cells_over_the_limit_are_kept_have_no_number_and_are_named() -> None:
    long, fits = "x" * 11, " " + "y" * 10 + " "
    batch = batch_of([["a", long]], [[fits], [long], [None]], limit=10)
    assert batch.too_long.tolist() == [1, 3]
    assert batch.rows.column(1).to_pylist() == [[token_id("a"), NO_TOKEN], [token_id("y" * 10)], [NO_TOKEN], [NO_TOKEN]]
    assert batch.rows.column(2).to_pylist() == [["a", long], [fits], [long], [None]]


def test_a_batch_without_any_value() -> None:
    batch = batch_of([[None, ""], ["n/a", "  "]])
    assert batch.dictionary.num_rows == 0
    assert batch.rows.column(1).to_pylist() == [[NO_TOKEN, NO_TOKEN]] * 2
    assert batch.too_long.dtype == np.int64


def test_two_tokens_that_share_a_number_are_both_in_the_dictionary(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "token_ids", lambda texts, seed: np.full(len(texts), 7, np.int64))
    batch = batch_of([["a", "b"], ["A", "a"]])
    assert sorted(map(tuple, (r.values() for r in batch.dictionary.to_pylist()))) == [(7, "a", 3), (7, "b", 1)]
