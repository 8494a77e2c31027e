"""Chunks to cells, codes and a dictionary."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.build import stage
from mate.build.stage import TOKENS_SCHEMA, TokenisedChunks, tokenise
from mate.corpus import Chunk
from mate.corpus.table import Table
from mate.values.text import NULL_SPELLINGS, token
from tests.keys import token_id

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


def expected(cell: str | None, limit: int = 1_000) -> str | None:
    text = None if cell is None else token(cell)
    return None if text is None or len(text) > limit else text


@st.composite
def tables(draw: st.DrawFn) -> list[list[list[str | None]]]:
    widths = draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    return [draw(st.lists(st.lists(CELLS, min_size=w, max_size=w), min_size=1, max_size=6)) for w in widths]


@given(tables())
def test_a_batch_holds_every_cell_and_its_token_column_after_column(given_tables: list[list[list[str | None]]]) -> None:
    batch = batch_of(*given_tables, limit=4)
    assert batch.cells.to_pylist() == by_column(*given_tables)
    assert texts_of(batch) == [expected(cell, 4) for cell in by_column(*given_tables)]


@given(tables())
def test_the_dictionary_has_each_token_once_with_its_id(given_tables: list[list[list[str | None]]]) -> None:
    batch = batch_of(*given_tables)
    ids, texts = (column.to_pylist() for column in batch.dictionary.columns)
    assert batch.dictionary.schema == TOKENS_SCHEMA
    assert sorted(texts) == sorted({expected(cell) for cell in by_column(*given_tables)} - {None})
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
