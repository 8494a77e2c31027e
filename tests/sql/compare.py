"""An index in a database compared with a lake, record by record: nothing twice and nothing missing."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from mate.lake.columns import column_tokens
from mate.lake.folder import LakeFolder
from mate.lake.manifest import Manifest
from mate.sql.index import DatabaseIndex
from mate.sql.schema import key_column
from mate.sql.session import Session
from mate.values.token_ids import NO_TOKEN

Records = Counter[tuple[Any, ...]]


def plain(manifest: Manifest) -> Manifest:
    """Return a manifest without what tells when, where and by what it was built."""
    return replace(manifest, built="", build="", versions={}, changed="", segments=(), layout="", notes={})


def same(index: DatabaseIndex, lake: LakeFolder) -> None:
    """Assert that two indexes hold the same; rows are compared by their number within their table."""
    assert plain(index.manifest) == plain(lake.manifest)
    assert index.tables() == lake.tables()
    for one, other in ((index.sources(), lake.sources()), (index.rejects(), lake.rejects())):
        assert sorted(map(repr, one)) == sorted(map(repr, other))
    for table in lake.tables():
        rows = np.arange(table.rows)
        assert index.cells(table.table_id, rows) == lake.cells(table.table_id, rows)
    cells, keys, tokens = lake_records(lake)
    found = _rows(index, "cells", ["column_id", "token_id"], " WHERE piece = 0")
    assert Counter((*record[:3], max(record[3], NO_TOKEN)) for record in found.elements()) == cells
    postings = Counter(record for record in cells.elements() if record[3] != NO_TOKEN)
    sizes = {key_column(n): spec.bits // 8 for n, spec in enumerate(lake.manifest.hashes)}
    if index.manifest.layout == "per_row" or not sizes:
        assert _rows(index, "postings", ["column_id", "token_id"]) == postings
        assert not sizes or _rows(index, "super_keys", [], keys=sizes) == keys
    else:
        by_row = {record[:2]: record[2:] for record in keys}
        found = _rows(index, "postings", ["column_id", "token_id"], keys=sizes)
        assert found == Counter((*record, *by_row[record[:2]]) for record in postings.elements())
    assert Counter(map(tuple, index.reader.records("tokens"))) == tokens


def _rows(
    index: DatabaseIndex, name: str, selected: list[str], where: str = "", keys: dict[str, int] | None = None
) -> Records:
    """Return records by table and row within the table, super keys as bytes."""
    reader, sizes = index.reader, keys or {}

    def question(session: Session) -> list[Any]:
        columns = ["table_id", "row_id", *selected, *map(session.dialect.key_words, sizes)]
        octets = [*[8] * (2 + len(selected)), *sizes.values()]
        return session.numbers(f"SELECT {', '.join(columns)} FROM {reader.table(name)}{where}", octets)

    found = reader.sessions.ask(question)
    numbers, words = found[: 2 + len(selected)], found[2 + len(selected) :]
    parts = []
    for size in sizes.values():
        own, words = words[: size // 8], words[size // 8 :]
        data = np.stack(own, axis=1).astype(">i8").tobytes()
        parts.append([data[at : at + size] for at in range(0, len(data), size)])
    return Counter(zip(*(column.tolist() for column in numbers), *parts, strict=True))


def lake_records(lake: LakeFolder) -> tuple[Records, Records, Records]:
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
