"""The flat file: what a search reads, as memory-mapped arrays beside a DuckDB index, with no database in between.

The arrays hold nothing that the index does not; a store without them, or with those of another build, answers the same
questions by SQL. Tokens are numbered by their *place* in the order of their ids, rows have their super keys once.
"""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.hashing import Keys
from mate.store.base import (
    Candidates,
    Dictionary,
    Ids,
    Manifest,
    Postings,
    Probes,
    Rows,
    TableCounts,
    TableInfo,
    TokenEntries,
)
from mate.values.token_ids import NO_TOKEN, token_ids

Array: TypeAlias = npt.NDArray[Any]

SUFFIX = ".flat"
MAGIC = b"MATEflat"
VERSION = 1
ALIGNMENT = 64
MOST_ROWS = MOST_TOKENS = 2**31 - 1
MOST_COLUMNS = 2**16 - 1
"""A larger index has no flat file: its numbers do not fit into the types below."""

MOST_PAIRS = 2_000_000
"""Pairs of posting and probe that are compared at a time."""

TYPES: Mapping[str, type] = {
    "token_id": np.int64,  # ascending
    "token_first": np.int64,  # where a token's postings begin; one more at the end
    "text_first": np.int64,  # where a token's text begins; one more at the end
    "text": np.uint8,
    "posting_row": np.int32,  # by token, then by row
    "posting_column": np.uint16,
    "row_first": np.int64,  # where a row's cells begin; one more at the end
    "row_table": np.int32,
    "cell_token": np.int32,  # the token's place, -1 without one
    "table_first": np.int64,  # a table's first row; one more at the end
    "record_first": np.int64,  # where a table's record begins; one more at the end
    "record": np.uint8,  # name, source, position, line and header of every table, as JSON
}
"""Super keys come on top: ``key0``, ``key1``, ... of 64-bit words, one row a row."""


def flat_path(address: str | Path) -> Path:
    """Return where the flat file of an index lies."""
    return Path(f"{address}{SUFFIX}")


def layout(shapes: Mapping[str, tuple[int, ...]], build: str, widest: int) -> tuple[bytes, dict[str, int], int]:
    """Return the head of a file with arrays of these shapes, where each array begins, and the size of the file."""
    arrays = {name: {"type": np.dtype(_type(name)).str, "shape": shape} for name, shape in shapes.items()}
    head = json.dumps({"version": VERSION, "build": build, "widest": widest, "arrays": arrays}).encode()
    head = MAGIC + len(head).to_bytes(8, "little") + head
    places, end = {}, len(head)
    for name, shape in shapes.items():
        places[name] = -(-end // ALIGNMENT) * ALIGNMENT
        end = places[name] + int(np.prod(shape)) * np.dtype(_type(name)).itemsize
    return head, places, end


def _type(name: str) -> type:
    return np.uint64 if name.startswith("key") else TYPES[name]


def open_flat(address: str | Path, manifest: Manifest) -> FlatIndex | None:
    """Map the flat file of an index; None if there is none, or it is another build's or not whole."""
    try:
        with flat_path(address).open("rb") as stream:
            start = stream.read(len(MAGIC) + 8)
            if not manifest.build or start[: len(MAGIC)] != MAGIC:
                return None
            head = json.loads(stream.read(int.from_bytes(start[len(MAGIC) :], "little")))
            if head["version"] != VERSION or head["build"] != manifest.build:
                return None
            shapes = {name: tuple(array["shape"]) for name, array in head["arrays"].items()}
            _, places, size = layout(shapes, head["build"], head["widest"])
            if stream.seek(0, 2) != size:
                return None
            mapped = mmap.mmap(stream.fileno(), 0, prot=mmap.PROT_READ)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    arrays = {
        name: np.frombuffer(mapped, _type(name), int(np.prod(shape)), places[name]).reshape(shape)
        for name, shape in shapes.items()
    }
    return FlatIndex(arrays, manifest, head["widest"], size)


class FlatIndex:
    """The arrays, and every look-up of the store protocol that they can answer."""

    def __init__(self, arrays: Mapping[str, Array], manifest: Manifest, widest: int, size: int = 0) -> None:
        self.widest = widest
        self.size = size
        self.token_id, self.token_first = arrays["token_id"], arrays["token_first"]
        self.posting_row, self.posting_column = arrays["posting_row"], arrays["posting_column"]
        self.row_first, self.row_table = arrays["row_first"], arrays["row_table"]
        self.cell_token, self.table_first = arrays["cell_token"], arrays["table_first"]
        self.keys: list[Keys] = [arrays[f"key{number}"] for number in range(len(manifest.hashes))]
        buffers = [None, pa.py_buffer(arrays["text_first"]), pa.py_buffer(arrays["text"])]
        self._texts = pa.LargeStringArray.from_buffers(len(self.token_id), buffers[1], buffers[2])
        self._record_first, self._record = arrays["record_first"], arrays["record"]
        self._seed = manifest.token_seed

    def places(self, ids: Ids) -> Ids:
        """Return the places of tokens by their ids; -1 for those that the index does not have."""
        if not len(self.token_id):
            return np.full(len(ids), -1)
        place = np.minimum(np.searchsorted(self.token_id, ids), len(self.token_id) - 1)
        return np.where(self.token_id[place] == ids, place, -1)

    def tokens(self, texts: pa.StringArray) -> TokenEntries:
        """Look tokens up by number and compare their text."""
        found = self.places(token_ids(texts, self._seed))
        asked = np.flatnonzero(found >= 0)
        place = found[asked]
        own, other = self._texts.take(pa.array(place)), texts.take(pa.array(asked)).cast(pa.large_string())
        same = pc.equal(own, other).to_numpy(zero_copy_only=False).astype(np.bool_)
        asked, place = asked[same], place[same]
        return TokenEntries(asked, self.token_id[place], self.token_first[place + 1] - self.token_first[place])

    def dictionary(self, ids: Ids) -> Dictionary:
        """Look tokens up by number."""
        place = self._known(np.unique(ids))
        texts = self._texts.take(pa.array(place)).cast(pa.string())
        return Dictionary(self.token_id[place], texts, self.token_first[place + 1] - self.token_first[place])

    def postings(self, ids: Ids) -> Postings:
        """Return all postings of these tokens."""
        place = self._known(ids)
        at, owner = _ranges(self.token_first[place], self.token_first[place + 1])
        row = self.posting_row[at]
        return Postings(
            self.token_id[place[owner]],
            self.row_table[row].astype(np.int64),
            self.posting_column[at].astype(np.int64),
            row.astype(np.int64),
        )

    def _known(self, ids: Ids) -> Ids:
        place = self.places(np.asarray(ids))
        return place[place >= 0]

    def candidates(self, probes: Probes, hash_number: int | None, tables: Ids | None = None) -> Candidates:
        """Pair the probes with the postings of their tokens and keep what the super keys cover."""
        return self.covered(probes, None if hash_number is None else self.keys[hash_number], tables)

    def covered(self, probes: Probes, row_keys: Keys | None, tables: Ids | None = None) -> Candidates:
        """Do so with any keys of the rows, or none."""
        wanted = None
        if tables is not None:
            wanted = np.zeros(len(self.table_first) - 1, np.bool_)
            wanted[tables[(tables >= 0) & (tables < len(wanted))]] = True
        place = self.places(probes.token_id)
        probe = np.flatnonzero(place >= 0)
        start, stop = self.token_first[place[probe]], self.token_first[place[probe] + 1]
        pieces = [self._covered(probes, row_keys, wanted, at, probe[owner]) for at, owner in _in_pieces(start, stop)]
        return Candidates(*(np.concatenate(columns) for columns in zip(*pieces, strict=True)))

    def _covered(
        self, probes: Probes, row_keys: Keys | None, wanted: npt.NDArray[np.bool_] | None, at: Ids, probe: Ids
    ) -> Candidates:
        row = self.posting_row[at]
        if wanted is not None:
            kept = wanted[self.row_table[row]]
            at, probe, row = at[kept], probe[kept], row[kept]
        if row_keys is not None:
            missing = np.zeros(len(row), np.uint64)
            for word in range(row_keys.shape[1]):
                missing |= probes.keys[probe, word] & ~row_keys[row, word]
            kept = missing == 0
            at, probe, row = at[kept], probe[kept], row[kept]
        return Candidates(
            probes.tuple_id[probe],
            self.row_table[row].astype(np.int64),
            self.posting_column[at].astype(np.int64),
            row.astype(np.int64),
        )

    def count_by_table(self, ids: Ids, weights: Ids | None = None) -> TableCounts:
        """Count postings by table."""
        place = self.places(ids)
        known = np.flatnonzero(place >= 0)
        start, stop = self.token_first[place[known]], self.token_first[place[known] + 1]
        counts = np.zeros(len(self.table_first) - 1, np.int64)
        for at, owner in _in_pieces(start, stop):
            weight = None if weights is None else weights[known[owner]]
            counts += np.bincount(self.row_table[self.posting_row[at]], weight, len(counts)).astype(np.int64)
        tables = np.flatnonzero(counts)
        return TableCounts(tables, counts[tables])

    def rows(self, row_ids: Ids) -> Rows:
        """Return the tokens of rows."""
        rows = np.unique(row_ids)
        rows = rows[(rows >= 0) & (rows < len(self.row_table))]
        start, stop = self.row_first[rows], self.row_first[rows + 1]
        place = self.cell_token[_ranges(start, stop)[0]]
        ids = np.where(place < 0, NO_TOKEN, self.token_id[place])
        return Rows(rows, np.concatenate([[0], np.cumsum(stop - start)]), ids)

    def tables(self, table_ids: Ids) -> list[TableInfo]:
        """Return tables by number."""
        found = []
        for table in np.unique(table_ids).tolist():
            inside = 0 <= table < len(self.table_first) - 1
            record = (
                self._record[self._record_first[table] : self._record_first[table + 1]].tobytes() if inside else b""
            )
            if record:  # there are gaps where tables were removed
                name, source, position, line, columns = json.loads(record)
                first, last = self.table_first[table : table + 2].tolist()
                found.append(TableInfo(table, name, source, position, line, tuple(columns), first, last - first))
        return found

    def super_keys(self, row_ids: Ids, hash_number: int = 0) -> Keys:
        """Return the super keys of rows; a row that the index does not have has no bit set."""
        known = (row_ids >= 0) & (row_ids < len(self.row_table))
        keys = np.zeros((len(row_ids), self.keys[hash_number].shape[1]), np.uint64)
        keys[known] = self.keys[hash_number][row_ids[known]]
        return keys


def _ranges(start: Ids, stop: Ids) -> tuple[Ids, Ids]:
    """Return the numbers of all ranges one after the other, and which range each is of."""
    sizes = stop - start
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return np.arange(len(owner)) + np.repeat(start - (np.cumsum(sizes) - sizes), sizes), owner


def _in_pieces(start: Ids, stop: Ids) -> Iterator[tuple[Ids, Ids]]:
    """Yield what `_ranges` would return, so many numbers at a time; at least one piece."""
    ends = np.cumsum(stop - start)
    total = int(ends[-1]) if len(ends) else 0
    for first in range(0, max(total, 1), MOST_PAIRS):
        last = min(first + MOST_PAIRS, total)
        low, high = int(np.searchsorted(ends, first, "right")), int(np.searchsorted(ends, last, "left")) + 1
        before = ends[low:high] - (stop[low:high] - start[low:high])
        begin = start[low:high] + np.maximum(first - before, 0)
        finish = stop[low:high] - np.maximum(ends[low:high] - last, 0)
        at, owner = _ranges(begin, finish)
        yield at, owner + low


def check_fits(tables: int, rows: int, tokens: int, widest: int) -> str | None:
    """Return why an index of that size has no flat file, None if it can have one."""
    if rows > MOST_ROWS or tokens > MOST_TOKENS or tables > MOST_ROWS:
        return f"more than {MOST_ROWS:,} rows, tables or distinct tokens"
    return f"a table has more than {MOST_COLUMNS:,} columns" if widest > MOST_COLUMNS else None
