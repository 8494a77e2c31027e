"""One file of an index checked by itself: every row's tokens, super keys and postings against its cells."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pyarrow as pa

from mate.build.progress import Progress
from mate.integrity.layer import Layer, Problem, Sums, fingerprint
from mate.integrity.rows import SomeRows
from mate.store.base import Ids
from mate.values.arrow import string_array
from mate.values.token_ids import token_ids

CHUNK = 40_000
"""Rows that are checked at a time."""


def check_layer(layer: Layer, told: Progress) -> Iterator[Problem]:
    """Yield everything that is wrong within one file."""
    empty = list(_check_nulls(layer))
    yield from empty
    if empty:
        return
    told.start(f"postings ({layer.name})", 1)
    sums, counts, stray = _posted(layer)
    yield from stray
    told.start(f"rows ({layer.name})", -(-len(layer.rows) // CHUNK))
    yield from _check_rows(layer, sums, counts, told)
    told.start(f"dictionary ({layer.name})", 1)
    yield from _check_tokens(layer)
    yield from _check_tables(layer)


def _check_nulls(layer: Layer) -> Iterator[Problem]:
    """Nothing but the line of a reject may be without a value."""
    for (name,) in layer.database.execute(
        f"SELECT table_name FROM duckdb_tables() WHERE database_name = '{layer.name}' AND table_name <> 'rejects'"
    ).fetchall():
        columns = [row[0] for row in layer.database.execute(f'DESCRIBE {layer.name}."{name}"').fetchall()]
        missing = " OR ".join(f'"{column}" IS NULL' for column in columns)
        [(count,)] = layer.database.execute(f'SELECT count(*) FROM {layer.name}."{name}" WHERE {missing}').fetchall()
        if count:
            yield Problem(name.replace("_", " "), f"{count:,} records have a field without a value")


# Postings: what they say of each row, as a sum that does not depend on their order


def _posted(layer: Layer) -> tuple[Sums, Ids, list[Problem]]:
    keys = layer.key_columns if layer.manifest.layout == "per_cell" else []
    names = ", ".join(["token_id", "table_id", "column_id", "row_id", *keys])
    rows = layer.rows
    sums, counts = np.zeros(len(rows), np.uint64), np.zeros(len(rows), np.int64)
    stray: list[Problem] = []
    for batch in layer.reader(f"SELECT {names} FROM {layer.name}.postings"):
        token, table, column, row, *words = (c.to_numpy() for c in batch.columns)
        place = np.minimum(np.searchsorted(rows, row), max(0, len(rows) - 1))
        there = rows[place] == row if len(rows) else np.zeros(len(row), np.bool_)
        for number, owner in zip(row[~there].tolist(), table[~there].tolist(), strict=True):
            stray.append(Problem("postings", "a posting of a row that is not there", owner, number))
        np.add.at(sums, place[there], fingerprint([token, table, column, *words])[there])
        np.add.at(counts, place[there], 1)
    return sums, counts, stray


# Rows


def _check_rows(layer: Layer, sums: Sums, counts: Ids, told: Progress) -> Iterator[Problem]:
    rows = layer.rows
    bounds = [*range(0, len(rows), CHUNK), len(rows)]
    done = 0
    for number, (first, stop) in enumerate(pairwise(bounds)):
        low = rows[first] if first else np.iinfo(np.int64).min
        high = rows[stop] if stop < len(rows) else np.iinfo(np.int64).max
        chunk = SomeRows(layer, int(low), int(high))
        yield from chunk.problems(sums[first:stop], counts[first:stop])
        done += len(chunk.ids)
        told.update(number + 1, cells=done)
    if not len(rows):
        for name in ("cells", *(["super_keys"] if layer.manifest.layout == "per_row" else [])):
            for (row,) in layer.database.execute(f"SELECT row_id FROM {layer.name}.{name}").fetchall():
                yield Problem(name.replace("_", " "), "of a row that is not there", None, row)


# The dictionary and the tables


def _check_tokens(layer: Layer) -> Iterator[Problem]:
    for batch in layer.reader(f"SELECT token_id, token FROM {layer.name}.tokens"):
        ids, texts = batch.column(0).to_numpy(), string_array(batch.column(1).cast(pa.string()))
        for place in np.flatnonzero(token_ids(texts, layer.manifest.token_seed) != ids).tolist():
            yield Problem("tokens", f"the token {texts[place].as_py()!r:.80} does not have the number {ids[place]}")
    wrong = layer.database.execute(
        "SELECT coalesce(t.token_id, p.token_id), t.token, coalesce(t.postings, 0) AS noted,"
        f" coalesce(p.postings, 0) AS found FROM {layer.name}.tokens AS t FULL JOIN"
        f" (SELECT token_id, count(*) AS postings FROM {layer.name}.postings GROUP BY token_id) AS p"
        " ON p.token_id = t.token_id"
        " WHERE noted <> found OR t.token_id IS NULL ORDER BY 1"
    ).fetchall()
    for number, text, noted, found in wrong:
        if text is None:
            yield Problem("tokens", f"the token with the number {number} is missing; it has {found:,} postings")
        else:
            yield Problem("tokens", f"the token {text!r:.80} is noted with {noted:,} postings, it has {found:,}")
    for number, count in layer.database.execute(
        f"SELECT token_id, count(*) FROM {layer.name}.tokens GROUP BY token_id HAVING count(*) > 1"
    ).fetchall():
        yield Problem("tokens", f"the number {number} stands for {count} tokens")


def _check_tables(layer: Layer) -> Iterator[Problem]:
    """Compare the rows with the tables: how many, how wide, and in the base, where."""
    wrong = layer.database.execute(
        f"SELECT r.table_id, count(*), any_value(r.row_id) FROM {layer.name}.rows AS r JOIN {layer.name}.tables AS t"
        " ON t.table_id = r.table_id WHERE len(r.tokens) <> len(t.columns) GROUP BY r.table_id ORDER BY 1"
    ).fetchall()
    for table, rows, first in wrong:
        yield Problem("rows", f"{rows:,} rows have another number of cells than the table has columns", table, first)
    for table, count in layer.database.execute(
        f"SELECT table_id, count(*) FROM {layer.name}.tables GROUP BY table_id HAVING count(*) > 1"
    ).fetchall():
        yield Problem("tables", f"the table is there {count} times", table)
    if layer.name != "base":
        return
    for table, noted, found in layer.database.execute(
        "SELECT coalesce(t.table_id, r.table_id), t.rows, coalesce(r.found, 0) AS found FROM base.tables AS t FULL JOIN"
        " (SELECT table_id, count(*) AS found, min(row_id) AS first, max(row_id) AS last FROM base.rows"
        " GROUP BY table_id) AS r ON r.table_id = t.table_id WHERE t.rows IS DISTINCT FROM coalesce(r.found, 0)"
        " OR (r.found > 0 AND (r.first <> t.first_row OR r.last <> t.first_row + t.rows - 1)) ORDER BY 1"
    ).fetchall():
        if noted is None:
            yield Problem("tables", f"the table is missing; {found:,} rows are of it", table)
        elif noted != found:
            yield Problem("tables", f"noted with {noted:,} rows, it has {found:,}", table)
        else:
            yield Problem("tables", "its rows are not where it is noted to have them", table)
