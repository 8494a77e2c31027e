"""An index in Vertica compared with a lake, record by record: nothing twice and nothing missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from mate.index.columns import column_tokens
from mate.index.lake import Lake
from mate.index.manifest import Manifest
from mate.sql import vertica_sql as sql
from mate.sql.vertica import VerticaIndex
from mate.values.token_ids import NO_TOKEN

Records = Counter[tuple[Any, ...]]


def plain(manifest: Manifest) -> Manifest:
    """Return a manifest without what tells when, where and by what it was built."""
    return replace(manifest, built="", build="", versions={}, changed="", segments=(), layout="", notes={})


def same(index: VerticaIndex, lake: Lake) -> None:
    """Assert that two indexes hold the same; rows are compared by their number within their table."""
    assert plain(index.manifest) == plain(lake.manifest)
    assert index.tables() == lake.tables()
    for one, other in ((index.sources(), lake.sources()), (index.rejects(), lake.rejects())):
        assert sorted(map(repr, one)) == sorted(map(repr, other))
    for table in lake.tables():
        rows = np.arange(table.rows)
        assert index.cells(table.table_id, rows) == lake.cells(table.table_id, rows)
    cells, keys, tokens = lake_records(lake)
    found = _rows(index, "cells", "column_id, token_id", " WHERE piece = 0")
    assert Counter((*record[:3], max(record[3], NO_TOKEN)) for record in found.elements()) == cells
    postings = Counter((*r[:3], r[3]) for r in cells.elements() if r[3] != NO_TOKEN)
    names = ", ".join(sql.key_column(n) for n in range(len(lake.manifest.hashes)))
    if index.manifest.layout == "per_row" or not names:
        assert _rows(index, "postings", "column_id, token_id") == postings
        assert not names or _rows(index, "super_keys", names) == keys
    else:
        by_row = {record[:2]: record[2:] for record in keys}
        found = _rows(index, "postings", f"column_id, token_id, {names}")
        assert found == Counter((*record, *by_row[record[:2]]) for record in postings.elements())
    assert Counter(map(tuple, index.reader.records("tokens"))) == tokens


def _rows(index: VerticaIndex, name: str, selected: str, where: str = "") -> Records:
    """Return records by table and row within the table."""
    reader = index.reader
    tables = [(first, first + rows, number) for number, *_, first, rows in reader.records("tables") if rows]
    statement = f"SELECT row_id, {selected} FROM {reader.table(name)}{where}"
    found: Records = Counter()
    begins = np.array(sorted(first for first, _, _ in tables))
    numbers = {first: (number, last) for first, last, number in tables}
    for row, *rest in reader.sessions.ask(lambda session: session.execute(statement)):
        first = int(begins[np.searchsorted(begins, row, "right") - 1])
        number, last = numbers[first]
        assert first <= row < last
        found[number, row - first, *rest] += 1
    return found


def lake_records(lake: Lake) -> tuple[Records, Records, Records]:
    """Return cells (table, row, column, token), super keys (table, row, bytes) and tokens (number, text, postings)."""
    cells: Records = Counter()
    keys: Records = Counter()
    tokens: Records = Counter()
    for segment in lake.segments:
        arrays = segment.arrays
        texts = segment.texts(np.arange(len(arrays.token_id))).to_pylist()
        for place in np.flatnonzero(segment.live).tolist():
            number, first = int(arrays.table_id[place]), int(arrays.table_row_first[place])
            for row in range(int(arrays.table_row_first[place + 1]) - first):
                keys[number, row, *(key[first + row].astype(">u8").tobytes() for key in segment.keys)] += 1
            for column in range(int(np.diff(arrays.table_column_first[place : place + 2])[0])):
                for row, token in enumerate(column_tokens(arrays, place, column).tolist()):
                    number_of = int(arrays.token_id[token]) if token >= 0 else NO_TOKEN
                    cells[number, row, column, number_of] += 1
                    if token >= 0:
                        tokens[number_of, texts[token]] += 1
    return cells, keys, Counter({(*token, count): 1 for token, count in tokens.items()})
