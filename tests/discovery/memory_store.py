"""An index as plain Python lists: what a store must do for a search, in the fewest lines.

A search on it takes a millisecond, so that properties of the algorithm are tried on many lakes. Answers come in no
useful order, as a database is free to give them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa

from mate.hashing import get, or_aggregate
from mate.hashing.superkey import from_ints, to_ints
from mate.store.base import (
    Candidates,
    HashSpec,
    Ids,
    Manifest,
    Postings,
    Probes,
    Rows,
    TableCounts,
    TableInfo,
    TokenEntries,
    as_ids,
)
from mate.store.flat import TYPES, FlatIndex
from mate.values.text import NULL_SPELLINGS, token

Lake = Sequence[Sequence[Sequence[str | None]]]


class MemoryStore:
    """The part of `IndexStore` that searches need."""

    flat: FlatIndex | None = None
    flat_lacks: Ids = as_ids([])

    def __init__(self, lake: Lake, hash_name: str = "xash", bits: int = 128) -> None:
        self._random = random.Random(7)
        texts = [[[cell and token(cell) for cell in row] for row in table] for table in lake]
        distinct = sorted({text for table in texts for row in table for text in row if text})
        self._numbers = {text: number * 3 + 5 for number, text in enumerate(distinct)}
        self._rows = [[self._numbers.get(text or "", -1) for text in row] for table in texts for row in table]
        owners = [number for number, table in enumerate(lake) for _ in table]
        self._postings = [
            (cell, owners[row], column, row)
            for row, cells in enumerate(self._rows)
            for column, cell in enumerate(cells)
            if cell >= 0
        ]
        spec = HashSpec.of(get(hash_name, bits))
        cells = pa.array([text for table in texts for row in table for text in row], pa.string())
        offsets = np.cumsum([0, *map(len, self._rows)])
        self._keys = to_ints(or_aggregate(spec.function().hash(cells), offsets))
        self._tables = [
            TableInfo(n, f"table {n}", "memory", n, 1, ("",) * len(table[0]), owners.index(n), len(table))
            for n, table in enumerate(lake)
        ]
        counts = (len(lake), 0, len(self._rows), len(self._postings), len(distinct), 0, 1_000)
        self.manifest = Manifest((spec,), "per_cell", tuple(NULL_SPELLINGS), *counts)

    def _arrays(self, records: Iterable[tuple[int, ...]], width: int) -> list[Ids]:
        shuffled = list(records)
        self._random.shuffle(shuffled)
        return [as_ids([record[i] for record in shuffled]) for i in range(width)]

    def tokens(self, texts: pa.StringArray) -> TokenEntries:
        found = [(place, self._numbers[t]) for place, t in enumerate(texts.to_pylist()) if t in self._numbers]
        counted = [(place, number, sum(p[0] == number for p in self._postings)) for place, number in found]
        return TokenEntries(*self._arrays(counted, 3))

    def postings(self, token_ids: Ids) -> Postings:
        return Postings(*self._arrays((p for t in token_ids.tolist() for p in self._postings if p[0] == t), 4))

    def candidates(self, probes: Probes, hash_number: int | None, tables: Ids | None = None) -> Candidates:
        kept = [p for p in self._postings if tables is None or p[1] in set(tables.tolist())]
        keys = [0] * len(probes.token_id) if hash_number is None else to_ints(probes.keys)
        pairs = [
            (number, *posting[1:])
            for token_id, number, key in zip(probes.token_id.tolist(), probes.tuple_id.tolist(), keys, strict=True)
            for posting in kept
            if posting[0] == token_id and self._keys[posting[3]] & key == key
        ]
        return Candidates(*self._arrays(pairs, 4))

    def count_by_table(self, token_ids: Ids, weights: Ids | None = None) -> TableCounts:
        weighed = dict(
            zip(token_ids.tolist(), [1] * len(token_ids) if weights is None else weights.tolist(), strict=True)
        )
        counts: dict[int, int] = {}
        for token_id, table, _, _ in self._postings:
            if token_id in weighed:
                counts[table] = counts.get(table, 0) + weighed[token_id]
        return TableCounts(*self._arrays(counts.items(), 2))

    def rows(self, row_ids: Ids) -> Rows:
        chosen = np.unique(row_ids)
        cells = [self._rows[row] for row in chosen.tolist()]
        offsets = np.cumsum([0, *map(len, cells)])
        return Rows(chosen, offsets, as_ids([cell for row in cells for cell in row]))

    def tables(self, table_ids: Ids) -> list[TableInfo]:
        return [self._tables[number] for number in sorted(table_ids.tolist())]


class FlatStore(MemoryStore):
    """The same with flat arrays, which a search then runs on."""

    def __init__(self, lake: Lake, hash_name: str = "xash", bits: int = 128) -> None:
        super().__init__(lake, hash_name, bits)
        numbers = sorted(self._numbers.values())
        postings = sorted((token_id, row, column) for token_id, _, column, row in self._postings)
        counts = [sum(p[0] == number for p in postings) for number in numbers]
        place = {number: i for i, number in enumerate(numbers)} | {-1: -1}
        arrays = {
            "token_id": numbers,
            "token_first": np.cumsum([0, *counts]),
            "text_first": np.cumsum([0, *(len(text.encode()) for text in sorted(self._numbers))]),
            "text": np.frombuffer("".join(sorted(self._numbers)).encode(), np.uint8),
            "posting_row": [row for _, row, _ in postings],
            "posting_column": [column for _, _, column in postings],
            "row_first": np.cumsum([0, *map(len, self._rows)]),
            "row_table": [table.table_id for table in self._tables for _ in range(table.rows)],
            "cell_token": [place[cell] for row in self._rows for cell in row],
            "table_first": np.cumsum([0, *(table.rows for table in self._tables)]),
            "record_first": [0] * (len(lake) + 1),
            "record": [],
        }
        typed = {name: np.array(values, TYPES[name]) for name, values in arrays.items()}
        typed["key0"] = from_ints(self._keys, bits)
        for array in typed.values():
            array.setflags(write=False)  # as those of a file are: loops are compiled once for both
        self.flat = FlatIndex(typed, self.manifest, max(len(table[0]) for table in lake))
