"""One file of an index, attached to a connection, and what is wrong with it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.store.base import Ids, Manifest
from mate.store.duckdb import key_column

_BATCH = 1_000_000
_READERS = ("to_arrow_reader", "fetch_record_batch")
_TABLES = ("to_arrow_table", "fetch_arrow_table")
"""What a method is called since DuckDB 2, and before."""

Sums = npt.NDArray[np.uint64]


class Problem(NamedTuple):
    """Something that is wrong."""

    part: str
    text: str
    table_id: int | None = None
    row: int | None = None
    """Number of the row in the index."""


@dataclass(frozen=True)
class Layer:
    """One file of an index, attached to a connection."""

    database: duckdb.DuckDBPyConnection
    name: str
    manifest: Manifest

    def reader(self, sql: str) -> Iterator[pa.Table]:
        """Run a query and yield its records, many at a time; DuckDB gives out as few as it likes."""
        batches: list[pa.RecordBatch] = []
        held = 0
        for batch in _method(self.database.sql(sql), _READERS)(_BATCH):
            batches.append(batch)
            held += batch.num_rows
            if held >= _BATCH:
                yield pa.Table.from_batches(batches).combine_chunks()
                batches, held = [], 0
        if batches:
            yield pa.Table.from_batches(batches).combine_chunks()

    def table(self, sql: str) -> pa.Table:
        """Run a query and return its records."""
        return _method(self.database.sql(sql), _TABLES)().combine_chunks()

    @cached_property
    def rows(self) -> Ids:
        """The numbers of its rows, ascending."""
        found = self.table(f"SELECT DISTINCT row_id FROM {self.name}.rows ORDER BY row_id")
        return np.asarray(found.column(0).to_numpy())

    @property
    def key_columns(self) -> list[str]:
        """The columns that hold super keys."""
        specs = enumerate(self.manifest.hashes)
        return [key_column(number, word) for number, spec in specs for word in range(spec.bits // 64)]


def _method(result: Any, names: tuple[str, str]) -> Any:
    return getattr(result, names[0] if hasattr(result, names[0]) else names[1])


def fingerprint(columns: list[npt.NDArray[Any]]) -> Sums:
    """Return a number for each record; the sum of those of a row's postings changes if any of them does."""
    mixed = np.full(len(columns[0]), 0x9E3779B97F4A7C15, np.uint64)
    for column in columns:
        mixed ^= column.astype(np.int64, copy=False).view(np.uint64) if column.dtype != np.uint64 else column
        mixed *= np.uint64(0xFF51AFD7ED558CCD)
        mixed ^= mixed >> np.uint64(32)
    return mixed
