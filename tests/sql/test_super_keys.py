"""Super keys in a database: the row filter loses no row that holds a value, and what was stored is read again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate.hashing import SuperKeyHash, get
from mate.lake.layout import NO_PLACE, Shapes, Texts, make_arrays
from mate.lake.segment import SearchSegment
from mate.lake.super_keys import super_keys
from mate.sql.dialects import dialect_of
from mate.sql.lookup import constant_probes, probe_columns
from mate.sql.super_keys import fingerprint_texts, key_form, read_fingerprints

VALUES = ["a", "b", "berlin", "12", "é", "muhammad", "us"]
FORMS = [("xash", 128), ("wide", 4), ("wide", 20), ("fingerprint", 4), ("fingerprint", 12), ("fingerprint", 20)]
DIALECT = dialect_of("duckdb")


@st.composite
def segments(draw: st.DrawFn, function: SuperKeyHash) -> tuple[SearchSegment, list[list[str | None]]]:
    """Draw a segment of tables of several widths, and its rows."""
    shapes = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 30)), min_size=1, max_size=4))
    rows, columns = (np.array(values, np.int64) for values in zip(*shapes, strict=True))
    size = int((rows * columns).sum())
    cells = draw(st.lists(st.integers(NO_PLACE, len(VALUES) - 1), min_size=size, max_size=size))
    given_shapes, places = Shapes(np.arange(len(shapes)), rows, columns), np.array(cells, np.int32)
    keys = super_keys(function, given_shapes, places, [pa.array(VALUES)])
    ids = np.arange(len(VALUES), dtype=np.int64)
    texts = Texts(ids, np.zeros(len(ids) + 1, np.uint32), np.zeros(0, np.uint8))
    arrays = make_arrays(given_shapes, texts, places)
    starts = accumulate((rows * columns).tolist(), initial=0)
    whole = []
    for start, height, width in zip(starts, rows.tolist(), columns.tolist(), strict=False):
        body = places[start : start + height * width].reshape(width, height)
        whole += [[VALUES[p] if p != NO_PLACE else None for p in row] for row in body.T.tolist()]
    return SearchSegment(arrays, [keys], np.ones(len(shapes), np.bool_), None), whole


@pytest.fixture(scope="module")
def database() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        opened.execute("SET threads = 1")
        yield opened


@pytest.mark.parametrize(("name", "bits"), FORMS)
@settings(max_examples=25)
@given(data=st.data())
def test_no_row_loses_a_value(database: duckdb.DuckDBPyConnection, data: st.DataObject, name: str, bits: int) -> None:
    form = key_form(get(name, bits))
    segment, rows = data.draw(segments(form.function))
    tuples = sorted({(a, b) for row in rows for a in row for b in row if a is not None and b is not None})
    if not tuples:
        return
    widths = np.unique(np.diff(segment.arrays.table_column_first))
    number, records = form.probes(
        lambda function: np.stack([function.hash(list(values)) for values in tuples]), lambda: widths
    )
    relation = constant_probes(DIALECT, probe_columns(2, form), [*[pa.array(number)] * 3, *records])
    cast = "k::BIT" if DIALECT.type_of(form.column(0)) == "BIT" else "k"
    stored = pa.table({"n": np.arange(len(rows)), "k": form.stored(segment, 0, np.arange(len(rows)))})
    database.register("stored", stored)
    passed = database.execute(
        f"SELECT n, tuple_id FROM (SELECT n, {cast} AS k FROM stored) AS p, {relation} AS q"
        f" WHERE {form.condition(DIALECT, 'p.k', [1])}"
    ).fetchall()
    holding = {(n, t) for n, row in enumerate(rows) for t, values in enumerate(tuples) if set(values) <= set(row)}
    assert holding <= set(passed)


@pytest.mark.parametrize(("name", "bits"), FORMS[1:])
@settings(max_examples=25)
@given(data=st.data())
def test_what_is_stored_is_read_again(data: st.DataObject, name: str, bits: int) -> None:
    form = key_form(get(name, bits))
    segment, rows = data.draw(segments(form.function))
    chosen = data.draw(st.permutations(range(len(rows))))
    stored = np.array([*form.stored(segment, 0, np.array(chosen, np.int64)).to_pylist(), None], object)[:-1]
    assert form.read(stored[np.argsort(chosen)])[1].tolist() == segment.keys[0].tolist()
    width, keys = form.read(stored)
    assert sum(form.function.row_words(int(columns)) for columns in width) == len(keys)
    assert (width >= [len(rows[row]) for row in chosen]).all()


@given(st.lists(st.integers(0, 2**20 - 1), max_size=20))
def test_a_fingerprint_is_a_character(prints: list[int]) -> None:
    [text] = fingerprint_texts(np.array(prints, np.uint64), np.array([len(prints)])).to_pylist()
    assert len(text) == len(prints)
    assert read_fingerprints(text).tolist() == prints
