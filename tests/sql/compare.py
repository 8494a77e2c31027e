"""An index in a database compared with a lake, record by record: nothing twice and nothing missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mate.lake.folder import LakeFolder
from mate.lake.manifest import Manifest
from mate.lake.segment import Segment
from mate.lake.super_keys import key_offsets, key_words
from mate.sql.dialects.session import Session
from mate.sql.index import DatabaseIndex
from mate.sql.schema import Content, key_column
from mate.sql.super_keys import KeyForm, key_form
from mate.values.token_ids import NO_TOKEN
from tests.lakes import column_tokens

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
    forms = [key_form(spec.function()) for spec in lake.manifest.hashes]
    if index.manifest.layout == "per_row" or not forms:
        assert _rows(index, "postings", ["column_id", "token_id"]) == postings
        assert not forms or _rows(index, "super_keys", [], forms=forms) == keys
    else:
        by_row = {record[:2]: record[2:] for record in keys}
        found = _rows(index, "postings", ["column_id", "token_id"], forms=forms)
        assert found == Counter((*record, *by_row[record[:2]]) for record in postings.elements())
    assert Counter(map(tuple, index.records("tokens"))) == tokens


def _rows(
    index: DatabaseIndex, name: str, selected: list[str], where: str = "", forms: Sequence[KeyForm] = ()
) -> Records:
    """Return records by table and row within the table, super keys as bytes."""

    def question(session: Session) -> list[Sequence[Any]]:
        keys = [form.selected(session.dialect, key_column(n)) for n, form in enumerate(forms)]
        columns = ["table_id", "row_id", *selected, *keys]
        return session.execute(f"SELECT {', '.join(columns)} FROM {index.generation.name(name)}{where}")

    found = index.pool.ask(question)
    own = 2 + len(selected)
    keys = [_as_bytes(form, [record[own + n] for record in found]) for n, form in enumerate(forms)]
    return Counter((*record[:own], *(of_form[n] for of_form in keys)) for n, record in enumerate(found))


def _as_bytes(form: KeyForm, values: list[Any]) -> list[bytes]:
    if form.column(0).content is Content.TEXT:
        return [form.read(np.array([value], object))[1].astype(">u8").tobytes() for value in values]
    return [v if isinstance(v, bytes) else int(v, 2).to_bytes(len(v) // 8, "big") for v in values]


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
            own = _keys_of(lake, segment, place)
            for row in range(int(arrays.table_row_first[place + 1]) - first):
                keys[number, row, *(of_hash[row] for of_hash in own)] += 1
            for column in range(int(np.diff(arrays.table_column_first[place : place + 2])[0])):
                for row, token in enumerate(column_tokens(arrays, place, column).tolist()):
                    number_of = int(arrays.token_id[token]) if token >= 0 else NO_TOKEN
                    cells[number, row, column, number_of] += 1
                    if token >= 0:
                        tokens[number_of, texts[token]] += 1
    return cells, keys, Counter({(*token, count): 1 for token, count in tokens.items()})


def _keys_of(lake: LakeFolder, segment: Segment, place: int) -> list[list[bytes]]:
    """Return the super keys of a table's rows as bytes, by hash function."""
    arrays, found = segment.arrays, []
    for spec, keys in zip(lake.manifest.hashes, segment.keys, strict=True):
        words = key_words(spec.function(), np.diff(arrays.table_column_first))
        first = key_offsets(words, np.diff(arrays.table_row_first))[place : place + 2]
        own = keys.reshape(-1)[first[0] : first[1]].reshape(-1, words[place])
        found.append([row.astype(">u8").tobytes() for row in own])
    return found
