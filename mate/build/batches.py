"""Chunks of tables joined into batches of rows with their tokens: what one unit of work hands to the next step."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.corpus import Chunk
from mate.values.text import characters, tokens
from mate.values.token_ids import NO_TOKEN, token_ids

ROWS_SCHEMA = pa.schema([("table_no", pa.int32()), ("tokens", pa.list_(pa.int64())), ("cells", pa.list_(pa.string()))])
TOKENS_SCHEMA = pa.schema([("token_id", pa.int64()), ("token", pa.string()), ("postings", pa.int64())])


@dataclass(frozen=True)
class Batch:
    """Rows of one or more tables, and the dictionary of their tokens, sorted by number.

    Two tokens that share a number are both in the dictionary, so that the build sees it.
    """

    rows: pa.RecordBatch
    dictionary: pa.RecordBatch
    too_long: npt.NDArray[np.int64]
    """Places, in the flat order of cells, of those that are longer than the limit."""


def make_batch(chunks: list[tuple[int, Chunk]], nulls: Set[str], seed: int, cell_characters: int) -> Batch:
    """Tokenise chunks of numbered tables; each distinct cell is normalised once."""
    cells = pa.concat_arrays([chunk.cells for _, chunk in chunks])
    encoded = cells.dictionary_encode()
    texts = tokens(encoded.dictionary, nulls)
    excess = characters(texts) > cell_characters
    if excess.any():
        texts = pc.if_else(pa.array(excess), pa.scalar(None, pa.string()), texts)
    # Several spellings of a cell may share a token. One more entry at the end stands for none.
    spelled = texts.dictionary_encode()
    distinct = spelled.dictionary
    token_of = np.append(spelled.indices.fill_null(len(distinct)).to_numpy(zero_copy_only=False), len(distinct))
    ids = np.append(token_ids(distinct, seed), NO_TOKEN)
    index = encoded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
    cell_tokens = token_of[index]
    too_long = np.flatnonzero(np.append(excess, False)[index]) if excess.any() else np.empty(0, np.int64)
    return Batch(_rows(chunks, cells, ids[cell_tokens]), _dictionary(distinct, ids, cell_tokens), too_long)


def _rows(chunks: list[tuple[int, Chunk]], cells: pa.StringArray, cell_ids: npt.NDArray[np.int64]) -> pa.RecordBatch:
    heights = [chunk.rows for _, chunk in chunks]
    widths = np.repeat([len(chunk.table.header) for _, chunk in chunks], heights)
    offsets = pa.array(np.concatenate([[0], np.cumsum(widths)]), pa.int32())
    return pa.RecordBatch.from_arrays(
        [
            pa.array(np.repeat([number for number, _ in chunks], heights), pa.int32()),
            pa.ListArray.from_arrays(offsets, pa.array(cell_ids)),
            pa.ListArray.from_arrays(offsets, cells),
        ],
        schema=ROWS_SCHEMA,
    )


def _dictionary(
    distinct: pa.StringArray, ids: npt.NDArray[np.int64], cell_tokens: npt.NDArray[np.integer]
) -> pa.RecordBatch:
    """Return the distinct tokens with their number and how many cells have them."""
    postings = np.bincount(cell_tokens, minlength=len(ids))[:-1]
    order = np.argsort(ids[:-1], kind="stable")
    columns = [pa.array(ids[order]), distinct.take(pa.array(order)), pa.array(postings[order])]
    return pa.RecordBatch.from_arrays(columns, schema=TOKENS_SCHEMA)
