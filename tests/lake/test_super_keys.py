"""Super keys whose size follows the width of a table: no row is lost, loops equal NumPy, updates keep them right."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.cli.program import main
from mate.errors import HashError
from mate.hashing import SuperKeyHash, get
from mate.hashing.by_width import packed
from mate.lake.layout import NO_PLACE, Shapes
from mate.lake.super_keys import key_offsets, key_words, super_keys
from mate.search.settings import FilterSettings, SearchSettings
from mate.search.systems import find_system
from mate.stores import open_index
from tests.keys import unpacked

TEXTS = ["a", "b", "berlin", "12", "é", "muhammad", "us"]
HASHES = [*product(["wide"], (4, 20, 64)), *product(["fingerprint"], (4, 12, 16, 20, 63))]


@st.composite
def tables(draw: st.DrawFn) -> tuple[Shapes, np.ndarray]:
    shapes = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 40)), min_size=1, max_size=5))
    rows, columns = (np.array(values, np.int64) for values in zip(*shapes, strict=True))
    size = int((rows * columns).sum())
    # Drawn as bytes, which is many times as fast as one by one.
    cells = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8) % (len(TEXTS) + 1)
    return Shapes(np.arange(len(shapes)), rows, columns), cells.astype(np.int32) + NO_PLACE


def held(function: SuperKeyHash, hashed: np.ndarray, key: np.ndarray, columns: int) -> set[int]:
    """Return which of the values that were hashed the key of a row does not rule out."""
    if function.by_column:
        prints = set(unpacked(key, columns, function.bits))
        return {place for place, own in enumerate(hashed[:, 0].tolist()) if own in prints}
    return set(np.flatnonzero(~np.any(hashed & ~key, axis=1)).tolist())


@pytest.mark.parametrize(("name", "bits"), HASHES)
@given(made=tables())
def test_no_row_loses_a_value(made: tuple[Shapes, np.ndarray], name: str, bits: int) -> None:
    shapes, cells = made
    function = get(name, bits)
    keys = super_keys(function, shapes, cells, [pa.array(TEXTS[:3]), pa.array(TEXTS[3:])])
    words = key_words(function, shapes.columns)
    first = key_offsets(words, shapes.rows)
    assert len(keys) == first[-1]
    at = 0
    for table, (rows, columns) in enumerate(zip(shapes.rows.tolist(), shapes.columns.tolist(), strict=True)):
        body = cells[at : at + rows * columns].reshape(columns, rows)
        at += rows * columns
        own = keys[first[table] : first[table + 1]].reshape(rows, words[table])
        hashed = (function if function.by_column else function.for_width(columns)).hash(TEXTS)
        if function.by_column:
            prints = np.append(hashed[:, 0], np.uint64(0))  # for a cell without a token
            assert np.array_equal(own, packed(prints[body].T, bits))
        for row in range(rows):
            assert set(body[:, row].tolist()) - {NO_PLACE} <= held(function, hashed, own[row], columns)
            if (body[:, row] == NO_PLACE).all():
                assert not own[row].any()


@pytest.mark.parametrize("bits", [4, 12, 20, 33, 63])
@given(data=st.data(), columns=st.integers(1, 30))
def test_fingerprints_side_by_side(data: st.DataObject, columns: int, bits: int) -> None:
    prints = data.draw(st.lists(st.integers(0, 2**bits - 1), min_size=columns, max_size=columns))
    assert unpacked(packed(np.array([prints], np.uint64), bits)[0], columns, bits) == prints


def test_sizes_follow_the_width() -> None:
    wide, prints = get("wide", 20), get("fingerprint", 12)
    assert [wide.row_words(columns) for columns in (1, 3, 4, 10, 100)] == [1, 1, 2, 4, 32]
    assert [prints.row_words(columns) for columns in (1, 5, 6, 10, 100)] == [1, 1, 2, 2, 19]
    assert wide.for_width(10).parameters == {"hashes": 14}
    with pytest.raises(HashError, match="wide has no 128-bit version; it has: 4 to 64"):
        get("wide", 128)


def write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows(rows)


@pytest.mark.parametrize("name", ["wide", "fingerprint"])
def test_an_index_and_its_updates(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Tables of several widths; after a change, a removal and a compaction all systems agree and the check is clean."""
    lake, store = tmp_path / "lake", str(tmp_path / "lake.mate")
    lake.mkdir()
    for number in range(12):
        header = [f"c{column}" for column in range(2 + number)]
        body = [[f"{(row * (column + 1) + number) % 17}" for column in range(2 + number)] for row in range(30)]
        write(lake / f"t{number:02}.csv", [header, *body])
    assert main(["index", str(lake), "--store", store, "--master", "none", "--hash", name, "--hash", "xash"]) == 0
    _agree(store, lake / "t03.csv", name)
    write(lake / "t05.csv", [["x", "y", "z"], *[[f"{row % 17}", f"{row * 2 % 17}", "new"] for row in range(40)]])
    (lake / "t07.csv").unlink()
    assert main(["sync", str(lake), "--store", store]) == 0
    _agree(store, lake / "t03.csv", name)
    assert main(["check", "--store", store]) == 0
    assert main(["compact", "--store", store]) == 0
    _agree(store, lake / "t03.csv", name)
    assert main(["check", "--store", store]) == 0
    assert capsys.readouterr().err == ""


def _agree(store: str, query: Path, name: str) -> None:
    with open_index(store) as index:
        right = find_system("column-first")(index, query, ["c0", "c1"], 20)
        assert len(right) > 5
        found = {}
        for chosen in (name, "xash"):
            settings = SearchSettings(k=20, filters=FilterSettings(hash_name=chosen))
            found[chosen] = find_system("mate")(index, query, ["c0", "c1"], 20, settings)
            assert [r.joinability for r in found[chosen]] == [r.joinability for r in right]
        assert found[name].statistics.hash.startswith(name)
        assert found[name].statistics.false_positives <= found["xash"].statistics.false_positives
