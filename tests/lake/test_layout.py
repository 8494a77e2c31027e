"""The arrays of a segment against plain Python that makes them from the same cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.lake.columns import column_codes, column_dictionary, entry_sizes, ranges
from mate.lake.layout import NO_PLACE, WIDE_ROWS, SegmentArrays, Shapes, Texts, make_arrays, row_keys
from mate.lake.segment import SearchSegment
from tests.lakes import codes_of, column_tokens, postings_of

Table = Sequence[Sequence[int]]
"""The tokens of a table, row by row; -1 for a cell without one."""

TOKENS = 12


@st.composite
def tables(draw: st.DrawFn) -> list[Table]:
    shapes = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=5))
    cell = st.integers(-1, TOKENS - 1)
    return [[draw(st.lists(cell, min_size=width, max_size=width)) for _ in range(rows)] for rows, width in shapes]


def widths(given_tables: Sequence[Table]) -> list[int]:
    return [len(table[0]) if table else 2 for table in given_tables]


def shapes_of(given_tables: Sequence[Table]) -> Shapes:
    numbers = np.arange(len(given_tables)) * 3 + 1
    return Shapes(numbers, np.array([len(table) for table in given_tables]), np.array(widths(given_tables)))


def flat(given_tables: Sequence[Table]) -> np.ndarray:
    cells = [cell for table in given_tables for column in zip(*table, strict=True) for cell in column]
    return np.array(cells, np.int32)


def texts(count: int) -> Texts:
    words = [f"w{number}" for number in range(count)]
    first = np.cumsum([0, *map(len, words)]).astype(np.uint32)
    return Texts(np.arange(count, dtype=np.int64) * 10, first, np.frombuffer("".join(words).encode(), np.uint8))


def arrays_of(given_tables: Sequence[Table], tokens: int = TOKENS) -> SegmentArrays:
    return make_arrays(shapes_of(given_tables), texts(tokens), flat(given_tables))


def in_use(arrays: SegmentArrays) -> SearchSegment:
    return SearchSegment(arrays, [], np.ones(len(arrays.table_id), np.bool_), None)


def reference(given_tables: Sequence[Table]) -> list[tuple[int, int, int, int]]:
    """Token, table number, column and row of every cell with a token, in the order of the directory."""
    return sorted(
        (token, 3 * table + 1, column, row)
        for table, rows in enumerate(given_tables)
        for row, cells in enumerate(rows)
        for column, token in enumerate(cells)
        if token >= 0
    )


def assert_right(arrays: SegmentArrays, given_tables: Sequence[Table]) -> None:
    expected = reference(given_tables)
    assert list(postings_of(arrays)) == expected
    assert sorted(codes_of(arrays)) == expected
    column = 0
    for table, width in enumerate(widths(given_tables)):
        assert arrays.table_column_first[table] == column
        for place in range(width):
            cells = [row[place] for row in given_tables[table]]
            known = sorted(set(cells) - {NO_PLACE})
            assert column_dictionary(arrays, column).tolist() == known
            assert column_codes(arrays, column).tolist() == [known.index(c) + 1 if c >= 0 else 0 for c in cells]
            assert column_tokens(arrays, table, place).tolist() == cells
            size = 0 if not known else 1 if len(known) < 2**8 else 2 if len(known) < 2**16 else 4
            assert (int(arrays.code_bytes[column]), int(arrays.column_table[column])) == (size, table)
            assert int(arrays.code_first[column]) % 4 == 0
            column += 1
    assert len(arrays.column_table) == column
    assert arrays.table_row_first.tolist() == np.cumsum([0, *map(len, given_tables)]).tolist()


@given(tables())
def test_arrays_are_those_of_the_reference(given_tables: list[Table]) -> None:
    assert_right(arrays_of(given_tables), given_tables)


@given(tables())
def test_counts_are_those_of_the_reference(given_tables: list[Table]) -> None:
    arrays, expected = arrays_of(given_tables), reference(given_tables)
    counts = [sum(token == place for token, *_ in expected) for place in range(TOKENS)]
    places = np.array([*range(TOKENS), NO_PLACE, 0])
    assert in_use(arrays).posting_counts(places).tolist() == [*counts, 0, counts[0]]
    entries: dict[tuple[int, ...], int] = defaultdict(int)
    for token, table, column, _ in expected:
        entries[token, table, column] += 1
    assert entry_sizes(arrays, np.arange(len(arrays.entry_column))).tolist() == list(entries.values())


MANY, FEW = 120, 8


@pytest.fixture(scope="module")
def arrays() -> SegmentArrays:
    """Many tables, two of them so long that their postings take two units; some tokens are in few tables."""
    chance = np.random.default_rng(1)
    rows, columns = chance.integers(0, 5, MANY), chance.integers(1, 4, MANY)
    rows[[7, 80]], columns[[7, 80]] = WIDE_ROWS, 1
    cells = chance.integers(-1, FEW - 3, int((rows * columns).sum())).astype(np.int32)
    cells[:9] = FEW - 2
    return make_arrays(Shapes(np.arange(MANY), rows, columns), texts(FEW), cells)


@pytest.mark.parametrize("gone", [[], [3], [80, 81], list(range(0, MANY, 2))], ids=["none", "one", "long", "half"])
def test_only_tables_in_use_count(arrays: SegmentArrays, gone: list[int]) -> None:
    live = np.ones(MANY, np.bool_)
    live[gone] = False
    expected = [0] * FEW
    for token, table, *_ in postings_of(arrays):
        expected[token] += bool(live[table])
    places = np.array([*range(FEW), NO_PLACE, 0])
    assert SearchSegment(arrays, [], live, None).posting_counts(places).tolist() == [*expected, 0, expected[0]]
    assert expected[-1] == 0 < expected[0]


@given(tables(), st.integers(1, 3))
def test_super_keys_are_those_of_the_reference(given_tables: list[Table], words: int) -> None:
    hashes = np.random.default_rng(words).integers(0, 2**63, (TOKENS, words), dtype=np.uint64)
    expected = []
    for row in (row for table in given_tables for row in table):
        key = [0] * words
        for token in row:
            key = [own | int(more) for own, more in zip(key, hashes[token], strict=True)] if token >= 0 else key
        expected.append(key)
    found = row_keys(shapes_of(given_tables), flat(given_tables), hashes)
    assert found.tolist() == expected
    assert found.shape == (len(expected), words)


@pytest.mark.parametrize("rows", [WIDE_ROWS - 1, WIDE_ROWS, WIDE_ROWS + 5])
def test_tables_of_very_many_rows(rows: int) -> None:
    """Postings of 4 bytes from 65,536 rows on, beside tables that have postings of 2; codes of all sizes."""
    distinct = [
        np.arange(rows) % 255,
        np.arange(rows) % 256,
        np.arange(rows) % 65_535,
        np.arange(rows),
        np.where(np.arange(rows) % 3, -1, 7),
        np.full(rows, -1),
    ]
    small = [[5, -1], [7, 5]]
    wide = np.stack(distinct, axis=1)
    cells = np.concatenate([flat([small]), wide.T.ravel(), flat([small])]).astype(np.int32)
    shapes = Shapes(np.array([1, 4, 7]), np.array([2, rows, 2]), np.array([2, len(distinct), 2]))
    arrays = make_arrays(shapes, texts(rows), cells)
    sizes = [0 if not (d >= 0).any() else len(np.unique(d[d >= 0])) for d in distinct]
    expected = [0 if not n else 1 if n < 256 else 2 if n < 65_536 else 4 for n in sizes]
    assert arrays.code_bytes.tolist() == [1, 1, *expected, 1, 1]
    for column in range(len(distinct)):
        assert np.array_equal(column_tokens(arrays, 1, column), distinct[column])
    assert len(arrays.postings) == (2 if rows >= WIDE_ROWS else 1) * int((wide >= 0).sum()) + 6
    for token in (5, 7, 254, 255, 65_534, rows - 1):
        found = sorted(tuple(place) for place in of_token(arrays, token))
        right = [(4, column, int(row)) for column, d in enumerate(distinct) for row in np.flatnonzero(d == token)]
        more = [(n, c, r) for n in (1, 7) for r, row in enumerate(small) for c, cell in enumerate(row) if cell == token]
        assert found == sorted(right + more)
        assert in_use(arrays).posting_counts(np.array([token])).tolist() == [len(found)]


def of_token(arrays: SegmentArrays, token: int) -> list[tuple[int, int, int]]:
    """Postings of one token, by way of a segment that has no other."""
    first, last = (int(arrays.entry_first[token + end]) for end in (0, 1))
    alone = arrays._replace(
        token_id=arrays.token_id[token : token + 1],
        entry_first=np.array([0, last - first]),
        entry_column=arrays.entry_column[first:last],
        posting_first=arrays.posting_first[first : last + 1],
    )
    return [(table, column, row) for _, table, column, row in postings_of(alone)]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 6)), max_size=8))
def test_ranges_one_after_the_other(pairs: list[tuple[int, int]]) -> None:
    start = np.array([first for first, _ in pairs], np.int64)
    stop = start + np.array([size for _, size in pairs], np.int64)
    numbers, owner = ranges(start, stop)
    assert numbers.tolist() == [n for first, size in pairs for n in range(first, first + size)]
    assert owner.tolist() == [place for place, (_, size) in enumerate(pairs) for _ in range(size)]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=12), st.lists(st.tuples(st.integers(0, 4), st.integers(0, 14))))
def test_tokens_are_found_by_id_and_text(ids: list[int], asked: list[tuple[int, int]]) -> None:
    """Several texts may share an id; one that is not there is not taken for them."""
    words = [f"w{number}" for number in range(len(ids))]
    order = sorted(range(len(ids)), key=lambda place: (ids[place], place))
    encoded = [words[place].encode() for place in order]
    first = np.cumsum([0, *map(len, encoded)]).astype(np.uint32)
    tokens = Texts(np.array(sorted(ids), np.int64), first, np.frombuffer(b"".join(encoded), np.uint8))
    shapes = Shapes(np.array([0]), np.array([len(ids)]), np.array([1]))
    arrays = make_arrays(shapes, tokens, np.arange(len(ids), dtype=np.int32))
    segment = in_use(arrays)
    known = {(ids[place], words[place]): rank for rank, place in enumerate(order)}
    queries = [(number, f"w{word}") for number, word in asked]
    found = segment.places(np.array([n for n, _ in queries], np.int64), pa.array([t for _, t in queries], pa.string()))
    assert found.tolist() == [known.get(query, NO_PLACE) for query in queries]
