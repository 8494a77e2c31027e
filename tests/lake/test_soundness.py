"""Arrays that do not fit each other are refused before a native loop reads them; the right ones never are."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mate
from mate.build.changes.check import check
from mate.errors import StoreError
from mate.lake.folder import open_folder
from mate.lake.layout import SegmentArrays, Shapes, Texts, make_arrays
from mate.lake.soundness import check_shapes, check_values
from tests.lakes import lake

SHAPES = [(3, 2), (5, 1), (1, 3)]


def arrays_of(shapes: list[tuple[int, int]], tokens: int = 6, seed: int = 0) -> SegmentArrays:
    rows, columns = (np.array(values) for values in zip(*shapes, strict=True))
    cells = np.random.default_rng(seed).integers(-1, tokens, int((rows * columns).sum())).astype(np.int32)
    texts = Texts(np.arange(tokens) * 10, np.arange(tokens + 1, dtype=np.uint32), np.zeros(tokens, np.uint8))
    return make_arrays(Shapes(np.arange(len(rows)) * 3, rows, columns), texts, cells)


def keys_of(arrays: SegmentArrays) -> list[np.ndarray]:
    return [np.zeros((int(arrays.table_row_first[-1]), 2), np.uint64)]


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4)), min_size=1, max_size=6), st.integers(0, 99))
@settings(max_examples=60)
def test_sound_arrays_are_never_refused(shapes: list[tuple[int, int]], seed: int) -> None:
    arrays = arrays_of(shapes, seed=seed)
    assert (check_shapes(arrays, keys_of(arrays)), check_values(arrays)) == (None, None)


def test_large_tables() -> None:
    arrays = arrays_of([(70_000, 2), (4, 2)], tokens=300)
    assert len(arrays.postings) > 2 * 130_000
    assert (check_shapes(arrays, keys_of(arrays)), check_values(arrays)) == (None, None)
    wide = arrays.postings.copy()
    wide[1] = 9  # the upper half of a row far beyond the table
    assert check_values(arrays._replace(postings=wide)) == "postings"


UPPER = {"text_first", "entry_first", "posting_first", "column_entry_first", "table_column_first", "table_row_first"}


@pytest.mark.parametrize("name", sorted({*SegmentArrays._fields} - {"token_id", "text", "table_id"}))
def test_a_place_outside_is_found_wherever_it_is(name: str) -> None:
    """Any item that is too large is found; which array is named depends on which is looked at first."""
    arrays = arrays_of(SHAPES)
    right = getattr(arrays, name)
    for place in range(len(right)):
        wrong = right.copy()
        wrong[place] = np.iinfo(right.dtype).max if name != "code_bytes" else 3
        spoiled = arrays._replace(**{name: wrong})
        if name == "codes" and place not in used_codes(arrays):
            continue
        assert check_shapes(spoiled, keys_of(arrays)) or check_values(spoiled), (name, place)


def used_codes(arrays: SegmentArrays) -> set[int]:
    rows = np.diff(arrays.table_row_first)[arrays.column_table]
    spans = zip(arrays.code_first.tolist(), (arrays.code_bytes * rows).tolist(), strict=True)
    return {byte for first, size in spans for byte in range(first, first + size)}


@pytest.mark.parametrize("name", sorted(UPPER))
def test_offsets_that_fall(name: str) -> None:
    arrays = arrays_of(SHAPES)
    wrong = getattr(arrays, name).copy()
    wrong[1:-1] = wrong[-2:0:-1]
    if not np.array_equal(wrong, getattr(arrays, name)):
        spoiled = arrays._replace(**{name: wrong})
        assert check_shapes(spoiled, keys_of(arrays)) or check_values(spoiled)


@pytest.mark.parametrize("name", SegmentArrays._fields)
def test_arrays_that_are_too_short_or_of_another_type(name: str) -> None:
    arrays = arrays_of(SHAPES)
    right = getattr(arrays, name)
    for wrong in (right[:-1], right.astype(np.float64), right[None, :]):
        if name == "codes" and wrong is not None and wrong.dtype == right.dtype and wrong.ndim == 1:
            continue  # codes are padded to a multiple of four bytes
        assert check_shapes(arrays._replace(**{name: wrong}), keys_of(arrays)) is not None
    assert check_shapes(arrays, [keys_of(arrays)[0][:-1]]) == "keys0"


def spoil(path: Path, array: str, byte: int, data: bytes) -> None:
    """Overwrite bytes of an array of a lake of one segment."""
    file = open_folder(path).segments[0].file
    at = file._described[array]["at"] + byte
    content = bytearray(file.path.read_bytes())
    content[at : at + len(data)] = data
    file.path.write_bytes(content)


@pytest.fixture
def damaged(tmp_path: Path) -> str:
    """A lake with a directory entry of a column that is not there."""
    rows = [[f"a{n}", f"b{n % 7}"] for n in range(200)]
    lake(tmp_path / "a.mate", [rows, rows[:50]])
    spoil(tmp_path / "a.mate", "entry_column", 0, b"\xff\xff\xff\x7f")
    return str(tmp_path / "a.mate")


QUERY = pa.table({"x": ["a1", "a2"], "y": ["b1", "b2"]})


@pytest.mark.parametrize("array", ["entry_column", "codes", "postings", "text", "keys0"])
def test_a_large_segment_is_verified_before_its_first_search(tmp_path: Path, array: str) -> None:
    """Also where the damage leads nowhere outside: it would be another answer."""
    rows = [[f"a{n % 997}", f"b{n % 7}"] for n in range(140_000)]
    file = lake(tmp_path / "a.mate", [rows]).segments[0].file
    spoil(tmp_path / "a.mate", array, 1_000, bytes([file[array].tobytes()[1_000] ^ 1]))
    with mate.open(tmp_path / "a.mate") as opened, pytest.raises(StoreError, match=f"the array {array} "):
        opened.search(QUERY, ["x", "y"])


def test_verification_is_remembered_and_may_be_asked_for(
    damaged: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from mate.lake import verified

    with pytest.raises(StoreError, match="entry_column leads outside"):
        mate.open(damaged, verify=True)
    with pytest.raises(StoreError, match="entry_column leads outside"):
        mate.open(damaged).search(QUERY, ["x", "y"])
    checked: list[str] = []
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("mate.lake.segment.check_values", lambda _: checked.append("again"))
    sound = str(tmp_path / "b.mate")
    lake(tmp_path / "b.mate", [[["a1", "b1"]]])
    mate.open(sound).search(QUERY, ["x", "y"])
    assert checked == []  # this process has written it
    monkeypatch.setattr(verified, "_in_this_process", set())  # as another process
    mate.open(sound).search(QUERY, ["x", "y"])
    assert checked == []  # this machine has written it
    copied = str(shutil.copytree(sound, tmp_path / "c.mate"))
    for expected in (1, 1):
        monkeypatch.setattr(verified, "_in_this_process", set())
        mate.open(copied).search(QUERY, ["x", "y"])
        assert len(checked) == expected
        assert verified._in_this_process  # the next search looks for no mark
    mate.open(sound, verify=True)
    assert len(checked) == 2
    monkeypatch.setattr(verified, "_in_this_process", set())
    for mark in (tmp_path / "cache/verified").iterdir():
        mark.unlink()
        mark.symlink_to(tmp_path)  # no mark of ours
    mate.open(sound, verify=False).search(QUERY, ["x", "y"])
    assert len(checked) == 2
    monkeypatch.setattr(verified, "_in_this_process", set())
    mate.open(sound).search(QUERY, ["x", "y"])
    assert len(checked) == 3


def test_a_damaged_lake_is_refused_by_graph_and_suggestion(damaged: str) -> None:
    with mate.open(damaged) as opened:
        with pytest.raises(StoreError, match="entry_column leads outside"):
            opened.graph()
        with pytest.raises(StoreError, match="entry_column leads outside"):
            opened.suggest(QUERY)


def test_a_lake_whose_arrays_lead_outside_is_refused_when_it_is_searched(damaged: str) -> None:
    """In a process of its own, since what it was before is a crash."""
    program = (
        "import sys, pyarrow as pa; from mate.lake.folder import open_folder\n"
        "from mate.search.systems import find_system\n"
        "find_system()(open_folder(sys.argv[1]), pa.table({'x': ['a1', 'a2'], 'y': ['b1', 'b2']}), ['x', 'y'], 3)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, damaged], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the array entry_column leads outside of another one; mate check --repair" in done.stderr.splitlines()[-1]
    findings = check(damaged)
    assert not findings.sound
    assert findings.repairable


def test_tables_that_are_not_those_of_the_records(tmp_path: Path) -> None:
    lake(tmp_path / "a.mate", [[["a", "b"]], [["c", "d"]]])
    spoil(tmp_path / "a.mate", "table_id", 8, b"\x07")
    with pytest.raises(StoreError, match="its tables are not those of the records beside it"):
        open_folder(tmp_path / "a.mate").tables()
