"""Chunks of tables joined into batches: the cells, column after column, and their tokens."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from mate.corpus import Chunk
from mate.lake.arrays import Array
from mate.values.text import characters, tokens
from mate.values.token_ids import token_ids

TOKENS_SCHEMA = pa.schema([("token_id", pa.int64()), ("token", pa.string())])
CELLS_SCHEMA = pa.schema([("cell", pa.dictionary(pa.int32(), pa.string()))])


@dataclass(frozen=True)
class Batch:
    """Chunks one after the other; in each of them column after column."""

    cells: pa.DictionaryArray
    """As they were read."""
    codes: Array
    """The token of each cell, as its place in the dictionary; -1 for none."""
    dictionary: pa.RecordBatch
    """The distinct tokens of the batch with their ids."""
    too_long: Array
    """Places, in the order of the chunks' own cells, of those that are longer than the limit."""


def make_batch(chunks: list[Chunk], nulls: Set[str], cell_characters: int) -> Batch:
    """Tokenise chunks; each distinct cell is normalised once."""
    encoded = pa.concat_arrays([chunk.cells for chunk in chunks]).dictionary_encode()
    texts = tokens(encoded.dictionary, nulls)
    excess = characters(texts) > cell_characters
    if excess.any():
        texts = pc.if_else(pa.array(excess), pa.scalar(None, pa.string()), texts)
    distinct = texts.dictionary_encode()  # several spellings of a cell may share a token
    token_of = np.append(distinct.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    # One more entry at the end stands for a cell that is null.
    spelling = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    too_long = np.flatnonzero(np.append(excess, False)[spelling]) if excess.any() else np.empty(0, np.int64)
    spelling = _by_column(chunks, spelling)
    mask = spelling == len(texts)
    indices = pa.array(spelling, pa.int32(), mask=mask if mask.any() else None)
    cells = pa.DictionaryArray.from_arrays(indices, encoded.dictionary)
    ids = pa.array(token_ids(distinct.dictionary))
    dictionary = pa.RecordBatch.from_arrays([ids, distinct.dictionary], schema=TOKENS_SCHEMA)
    return Batch(cells, token_of[spelling], dictionary, too_long)


def _by_column(chunks: list[Chunk], cells: Array) -> Array:
    """Return the cells of every chunk, which come row by row, column after column."""
    transposed = np.empty(len(cells), np.int32)
    start = 0
    for chunk in chunks:
        stop, width = start + len(chunk.cells), len(chunk.table.header)
        transposed[start:stop] = cells[start:stop].reshape(-1, width).T.ravel()
        start = stop
    return transposed
