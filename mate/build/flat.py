"""Writing the flat file: one pass over each table of a finished DuckDB index, in the order in which it is sorted."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import duckdb
import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import StoreError
from mate.store.base import Manifest
from mate.store.duckdb import key_column
from mate.store.flat import TYPES, Array, check_fits, layout

_BATCH = 1_000_000
"""Records that are read at a time: what bounds the memory, beside pages of the file that the system writes back."""


def write_flat(database: duckdb.DuckDBPyConnection, manifest: Manifest, path: Path) -> bool:
    """Write the flat file of the index that is in use on this connection; False if it is too large for one."""
    [(widest, cells)] = database.execute("SELECT max(len(columns)), sum(len(columns) * rows) FROM tables").fetchall()
    [(letters,)] = database.execute("SELECT coalesce(sum(strlen(token)), 0) FROM tokens").fetchall()
    tokens, rows, tables = manifest.distinct_tokens, manifest.rows, manifest.tables
    if widest is None or check_fits(tables, rows, tokens, widest):
        return False
    shapes: dict[str, tuple[int, ...]] = dict.fromkeys(TYPES, (0,))
    shapes |= {"token_id": (tokens,), "token_first": (tokens + 1,), "text_first": (tokens + 1,), "text": (letters,)}
    shapes |= {"posting_row": (manifest.cells,), "posting_column": (manifest.cells,)}
    shapes |= {"row_first": (rows + 1,), "row_table": (rows,), "cell_token": (int(cells),)}
    records = _records(database)
    slots = len(records) + 1
    shapes |= {"table_first": (slots,), "record_first": (slots,), "record": (sum(map(len, records)),)}
    shapes |= {f"key{number}": (rows, spec.bits // 64) for number, spec in enumerate(manifest.hashes)}
    head, places, size = layout(shapes, manifest.build, int(widest))
    with path.open("w+b") as stream:
        _reserve(stream.fileno(), size)
        stream.write(head)
        stream.flush()
        arrays: dict[str, Array] = {
            name: np.memmap(stream, np.uint64 if name.startswith("key") else TYPES[name], "r+", places[name], shape)
            for name, shape in shapes.items()
            if np.prod(shape)
        }
        arrays |= {name: np.empty(shape, np.uint8) for name, shape in shapes.items() if not np.prod(shape)}
        _tables(database, arrays, records)
        _tokens(database, arrays)
        _rows(database, arrays)
        _postings(database, arrays, manifest)
        if manifest.layout == "per_row":
            _super_keys(database, arrays, manifest)
        for array in arrays.values():
            if isinstance(array, np.memmap):
                array.flush()
        os.fsync(stream.fileno())
    return True


def _reserve(file: int, size: int) -> None:
    """Give a file its size and, where the system can, its place on the disk: a full one is an error here, not later."""
    os.truncate(file, size)
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(file, 0, size)


def _reader(database: duckdb.DuckDBPyConnection, sql: str) -> Iterable[pa.RecordBatch]:
    """Run a query and return its batches as they come; the method has another name before DuckDB 2."""
    result = database.sql(sql)
    method = getattr(result, "to_arrow_reader", None) or result.fetch_record_batch
    batches: Iterable[pa.RecordBatch] = method(_BATCH)
    return batches


def _batches(database: duckdb.DuckDBPyConnection, sql: str) -> Iterator[tuple[int, list[Array]]]:
    """Yield the columns of a query, so many records at a time, with the number of the first."""
    start = 0
    for batch in _reader(database, sql):
        yield start, [column.to_numpy(zero_copy_only=False) for column in batch.columns]
        start += batch.num_rows


def _expect(condition: np.bool_ | bool, what: str) -> None:
    if not condition:
        raise StoreError(f"the index is not in the order that its arrays need ({what}); nothing was published")


def _records(database: duckdb.DuckDBPyConnection) -> list[bytes]:
    """Return what people want to know of every table, by number; nothing where a table was removed."""
    rows = database.execute("SELECT table_id, name, source, position, line, columns FROM tables").fetchall()
    records = [b""] * (max((table for table, *_ in rows), default=-1) + 1)
    for table, *row in rows:
        records[table] = json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode()
    return records


def _tables(database: duckdb.DuckDBPyConnection, arrays: Mapping[str, Array], records: list[bytes]) -> None:
    arrays["record"][:] = np.frombuffer(b"".join(records), np.uint8)
    arrays["record_first"][:] = np.concatenate([[0], np.cumsum([len(record) for record in records])])
    sizes = np.zeros(len(records), np.int64)
    for _, (table, _, rows) in _batches(database, "SELECT table_id, first_row, rows FROM tables"):
        sizes[table] = rows
    arrays["table_first"][:] = np.concatenate([[0], np.cumsum(sizes)])
    for _, (table, first, _) in _batches(database, "SELECT table_id, first_row, rows FROM tables"):
        _expect(np.array_equal(arrays["table_first"][table], first), "rows of tables")


def _tokens(database: duckdb.DuckDBPyConnection, arrays: Mapping[str, Array]) -> None:
    posting = letter = 0
    arrays["token_first"][0] = arrays["text_first"][0] = 0
    start = 0
    for batch in _reader(database, "SELECT token_id, postings, token FROM tokens"):
        stop = start + batch.num_rows
        arrays["token_id"][start:stop] = batch.column(0).to_numpy()
        arrays["token_first"][start + 1 : stop + 1] = posting + np.cumsum(batch.column(1).to_numpy())
        posting = int(arrays["token_first"][stop])
        text, ends = _text(batch.column(2))
        arrays["text"][letter : letter + len(text)] = text
        arrays["text_first"][start + 1 : stop + 1] = letter + ends
        letter, start = letter + len(text), stop
    _expect(bool((np.diff(arrays["token_id"]) > 0).all()), "tokens")


def _text(column: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the bytes of strings one after the other, and where each ends."""
    strings = column.cast(pa.large_string())
    offsets = np.frombuffer(strings.buffers()[1], np.int64, len(strings) + 1, strings.offset * 8)
    letters = np.frombuffer(strings.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    return letters, offsets[1:] - offsets[0]


def _rows(database: duckdb.DuckDBPyConnection, arrays: Mapping[str, Array]) -> None:
    cells = 0
    arrays["row_first"][0] = 0
    for start, (row, table, width) in _batches(database, "SELECT row_id, table_id, len(tokens) FROM rows"):
        stop = start + len(row)
        _expect(np.array_equal(row, np.arange(start, stop)), "rows")
        arrays["row_table"][start:stop] = table
        arrays["row_first"][start + 1 : stop + 1] = cells + np.cumsum(width)
        cells = int(arrays["row_first"][stop])
    _expect(cells == len(arrays["cell_token"]), "cells")
    arrays["cell_token"][:] = -1


def _postings(database: duckdb.DuckDBPyConnection, arrays: Mapping[str, Array], manifest: Manifest) -> None:
    """Copy the postings; what they say of rows is put where the rows are."""
    names = _key_columns(manifest) if manifest.layout == "per_cell" else []
    columns = ", ".join(["token_id", "row_id", "column_id", *names])
    first = np.asarray(arrays["token_first"])
    for start, (token, row, column, *words) in _batches(database, f"SELECT {columns} FROM postings"):
        stop = start + len(token)
        low, high = np.searchsorted(first, [start, stop - 1], "right") - 1
        sizes = np.minimum(first[low + 1 : high + 2], stop) - np.maximum(first[low : high + 1], start)
        place = np.repeat(np.arange(low, high + 1), sizes)
        _expect(np.array_equal(arrays["token_id"][place], token), "postings")
        arrays["posting_row"][start:stop], arrays["posting_column"][start:stop] = row, column
        arrays["cell_token"][arrays["row_first"][row] + column] = place
        _put_keys(arrays, manifest, row, words)


def _super_keys(database: duckdb.DuckDBPyConnection, arrays: Mapping[str, Array], manifest: Manifest) -> None:
    columns = ", ".join(["row_id", *_key_columns(manifest)])
    for _, (row, *words) in _batches(database, f"SELECT {columns} FROM super_keys"):
        _put_keys(arrays, manifest, row, words)


def _key_columns(manifest: Manifest) -> list[str]:
    specs = enumerate(manifest.hashes)
    return [key_column(number, word) for number, spec in specs for word in range(spec.bits // 64)]


def _put_keys(arrays: Mapping[str, Array], manifest: Manifest, row: Array, words: list[Array]) -> None:
    each = iter(words)
    for number, spec in enumerate(manifest.hashes if words else ()):
        for word in range(spec.bits // 64):
            arrays[f"key{number}"][row, word] = next(each)
