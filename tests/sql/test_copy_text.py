"""What is written for COPY is read back as it was, whatever it holds."""

from __future__ import annotations

import csv
import io
from typing import cast

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.sql.dialects import vertica
from mate.sql.dialects.dialect import key_array
from mate.sql.dialects.postgresql import csv_pieces, decoded
from mate.sql.dialects.vertica import Stream, copy_statement, lines
from mate.sql.schema import Column, Content
from tests.keys import from_ints
from tests.vertica.standin.copying import records
from tests.vertica.standin.statements import Copy
from tests.vertica.standin.syntax import parse

TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("|'\"\\\n\r\t\0\x10, "))
ROWS = st.lists(st.tuples(st.integers(-(2**62), 2**62), st.none() | TEXT))
COLUMNS = [Column("number"), Column("text", Content.TEXT), Column("key0", Content.KEY, 16)]
COPY = cast(Copy, parse(copy_statement("mate.t", COLUMNS)).detail)


def columns(rows: list[tuple[int, str | None]]) -> list[pa.Array]:
    numbers = pa.array([number for number, _ in rows], pa.int64())
    texts = pa.array([text for _, text in rows], pa.string())
    keys = key_array(from_ints([abs(number) for number, _ in rows], 128)) if rows else pa.array([], pa.large_binary())
    return [numbers, texts, keys]


@given(ROWS)
def test_texts_survive_and_empty_ones_become_null(rows: list[tuple[int, str | None]]) -> None:
    written = b"".join(lines(columns(rows)))
    assert list(records(written, COPY)) == [[str(n), text or None, f"{abs(n):032x}"] for n, text in rows]


@given(ROWS)
def test_texts_survive_as_csv(rows: list[tuple[int, str | None]]) -> None:
    written = b"".join(csv_pieces(columns(rows))).decode()
    assert "\0" not in written
    found = list(csv.reader(io.StringIO(written, newline=""))) if rows else []
    assert [[n, decoded(text), key] for n, text, key in found] == [
        [str(n), text or "", f"x{abs(n):032x}"] for n, text in rows
    ]


def test_slices_of_arrays() -> None:
    texts = pa.array(["left out", "a|b", None, "c'd"])
    assert b"".join(lines([texts.slice(1)])) == b"'a\\|b'\n\n'c\\'d'\n"
    assert b"".join(csv_pieces([key_array(from_ints([1, 2, 3], 64)).slice(2)])) == b'"x0000000000000003"\n'


def test_texts_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vertica, "RECORDS", 3)
    rows = [(n, "x" * n) for n in range(8)]
    made = list(lines(columns(rows)))
    assert [piece.count(b"\n") for piece in made] == [3, 3, 2]
    assert [len(fields[1] or "") for fields in records(b"".join(made), COPY)] == list(range(8))


def test_a_stream_is_read_in_pieces_and_does_not_end_at_an_empty_one() -> None:
    stream = Stream([b"", b"abc", b"", b"", b"d", b""])
    assert [stream.read(2) for _ in range(5)] == [b"ab", b"c", b"d", b"", b""]


def test_super_keys_are_written_in_hexadecimal() -> None:
    assert "(number, text, key0 FORMAT 'hex')" in copy_statement("mate.t", COLUMNS)


def test_no_record_is_cut_or_left_out() -> None:
    """By default, Vertica does either silently."""
    assert copy_statement("mate.t", COLUMNS).endswith(" ENFORCELENGTH ABORT ON ERROR NO COMMIT")
