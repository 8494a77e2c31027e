"""Second step, one task a unit: hash the tokens, OR them into super keys, and post.

Runs after the dictionary of the whole corpus is known, because the parameters of a hash depend on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from mate.hashing import Keys, SuperKeyHash, or_aggregate
from mate.build.stage import TABLES_SCHEMA, Staged
from mate.store.base import HashSpec
from mate.store.duckdb import key_column
from mate.values.token_ids import NO_TOKEN


@dataclass(frozen=True, slots=True)
class KeySettings:
    """How super keys are made and where they go."""

    hashes: tuple[HashSpec, ...]
    layout: str

    def key_fields(self) -> list[tuple[str, pa.DataType]]:
        """Return the columns that hold super keys."""
        return [
            (key_column(number, word), pa.uint64())
            for number, spec in enumerate(self.hashes)
            for word in range(spec.bits // 64)
        ]

    def schemas(self) -> dict[str, pa.Schema]:
        """Return what this step writes, by table."""
        keys = self.key_fields()
        per_cell = self.layout == "per_cell"
        postings = [(name, pa.int64()) for name in ("token_id", "table_id", "column_id", "row_id")]
        parts = {
            "postings": pa.schema(postings + (keys if per_cell else [])),
            "rows": pa.schema([("row_id", pa.int64()), ("table_id", pa.int64()), ("tokens", pa.list_(pa.int64()))]),
            "cells": pa.schema([("row_id", pa.int64()), ("cells", pa.list_(pa.string()))]),
            "tables": pa.schema([("table_id", pa.int64()), *list(TABLES_SCHEMA)[1:]]),
        }
        return parts if per_cell else {**parts, "super_keys": pa.schema([("row_id", pa.int64()), *keys])}


@dataclass(frozen=True, slots=True)
class Offsets:
    """Where a unit's tables and rows stand in the whole index."""

    table: int
    row: int


def key_unit(staged: Staged, offsets: Offsets, settings: KeySettings) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield the unit's part of the index, table by table of the store, in bounded batches."""
    functions = [spec.function() for spec in settings.hashes]
    if staged.tables:
        yield "tables", _tables(staged, offsets)
    row_file, token_file = pq.ParquetFile(staged.path("rows")), pq.ParquetFile(staged.path("tokens"))
    first_row = offsets.row
    for group in range(row_file.num_row_groups):
        rows = row_file.read_row_group(group)
        yield from _batch(rows, token_file.read_row_group(group), first_row, offsets.table, functions, settings)
        first_row += rows.num_rows


def _tables(staged: Staged, offsets: Offsets) -> pa.RecordBatch:
    tables = pq.read_table(staged.path("tables")).combine_chunks()
    numbers = tables.column("table_no").to_numpy() + offsets.table
    first = tables.column("first_row").to_numpy() + offsets.row
    tables = tables.set_column(0, "table_id", pa.array(numbers))
    tables = tables.set_column(tables.schema.get_field_index("first_row"), "first_row", pa.array(first))
    return pa.RecordBatch.from_arrays([_flat(column) for column in tables.columns], names=tables.column_names)


def _batch(
    rows: pa.Table,
    dictionary: pa.Table,
    first_row: int,
    first_table: int,
    functions: list[SuperKeyHash],
    settings: KeySettings,
) -> Iterator[tuple[str, pa.RecordBatch]]:
    lists = _flat(rows.column("tokens"))
    starts = lists.offsets.to_numpy().astype(np.int64)
    ids = lists.values.to_numpy()
    valid = ids != NO_TOKEN
    row_ids = np.arange(first_row, first_row + len(lists))
    table_ids = rows.column("table_no").to_numpy().astype(np.int64) + first_table
    row_of = np.repeat(np.arange(len(lists)), np.diff(starts))[valid]
    keys = super_keys(dictionary, ids[valid], np.concatenate([[0], np.cumsum(valid)])[starts], functions)
    words = [key[:, word] for key in keys for word in range(key.shape[1])]
    per_cell = settings.layout == "per_cell"
    schemas = settings.schemas()
    postings = [ids[valid], table_ids[row_of], (np.arange(len(ids)) - np.repeat(starts[:-1], np.diff(starts)))[valid]]
    postings += [row_ids[row_of], *(word[row_of] for word in words if per_cell)]
    yield "postings", _record(postings, schemas["postings"])
    yield "rows", _record([row_ids, table_ids, lists], schemas["rows"])
    yield "cells", _record([row_ids, _flat(rows.column("cells"))], schemas["cells"])
    if not per_cell:
        yield "super_keys", _record([row_ids, *words], schemas["super_keys"])


def super_keys(
    dictionary: pa.Table,
    ids: npt.NDArray[np.int64],
    starts: npt.NDArray[np.int64],
    functions: list[SuperKeyHash],
) -> list[Keys]:
    """Hash each distinct token once, then OR by row."""
    place = np.searchsorted(dictionary.column("token_id").to_numpy(), ids)
    texts = _flat(dictionary.column("token"))
    return [or_aggregate(function.hash(texts)[place], starts) for function in functions]


def _record(columns: list[object], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, field.type)
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _flat(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
