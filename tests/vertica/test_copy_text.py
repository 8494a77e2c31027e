"""What is written for COPY is read back as it was, whatever it holds."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.hashing.superkey import from_ints
from mate.sql.vertica_copy import Stream, hexadecimal, lines
from mate.sql.vertica_load import cut
from mate.sql.vertica_sql import copy
from tests.vertica.standin.copying import parse_copy, records

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("|'\\\n\r\t\0 "))
COPY = parse_copy(copy("mate.t", ["number", "text", "key0"]))


@given(st.lists(st.tuples(st.integers(-(2**62), 2**62), st.none() | TEXT)))
def test_texts_survive_and_empty_ones_become_null(rows: list[tuple[int, str | None]]) -> None:
    numbers = pa.array([number for number, _ in rows], pa.int64())
    texts = pa.array([text for _, text in rows], pa.string())
    keys = hexadecimal(from_ints([abs(number) for number, _ in rows], 128)) if rows else pa.array([], pa.string())
    written = b"".join(lines([numbers, texts, keys]))
    assert list(records(written, COPY)) == [[str(n), text or None, f"{abs(n):032x}"] for n, text in rows]


def test_slices_of_arrays() -> None:
    texts = pa.array(["left out", "a|b", None, "c'd"])
    assert b"".join(lines([texts.slice(1)])) == b"'a\\|b'\n\n'c\\'d'\n"


@given(TEXT, st.integers(4, 9))
def test_pieces_of_a_cell_join_to_the_cell(text: str, octets: int) -> None:
    pieces = list(cut(text, octets))
    assert "".join(pieces) == text
    assert all(0 < len(piece.encode()) <= octets for piece in pieces)


def test_a_stream_does_not_end_at_an_empty_piece() -> None:
    stream = Stream([b"", b"a", b"", b"", b"b", b""])
    assert [stream.read(9) for _ in range(4)] == [b"a", b"b", b"", b""]


@pytest.mark.parametrize("name", ["key0", "key12", "query_key"])
def test_super_keys_are_written_in_hexadecimal(name: str) -> None:
    assert f"{name} FORMAT 'hex'" in copy("mate.t", ["row_id", name])
