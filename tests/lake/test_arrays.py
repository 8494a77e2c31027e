"""The file of arrays: what was written is read, and every damaged byte of an array is found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from mate.errors import StoreError
from mate.lake.arrays import ALIGNMENT, MAGIC, ArrayFile, offset_type, write_arrays

TYPES = (np.uint8, np.uint16, np.uint32, np.int64, np.uint64)
ARRAYS = st.sampled_from(TYPES).flatmap(
    lambda kind: arrays_of.arrays(kind, arrays_of.array_shapes(max_dims=2, min_side=0, max_side=40))
)


def write(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    write_arrays(path, arrays.items(), {"note": "Ünï"})
    return path


@given(st.dictionaries(st.text(max_size=5), ARRAYS, max_size=5))
def test_what_was_written_is_read(tmp_path_factory: pytest.TempPathFactory, arrays: dict[str, np.ndarray]) -> None:
    path = write(tmp_path_factory.mktemp("arrays") / "file", arrays)
    file = ArrayFile(path)
    assert file.notes == {"note": "Ünï"}
    for name, array in arrays.items():
        found = file[name]
        assert (found.dtype, found.shape) == (array.dtype, array.shape)
        assert np.array_equal(found, array)
        assert found.ctypes.data % ALIGNMENT == 0 or not found.size
        assert not found.flags.writeable
    assert list(file.problems()) == []


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path / "file", {"a": np.arange(100, dtype=np.uint16), "b": np.arange(7), "none": np.empty(0)})


def test_every_byte_of_an_array_counts(path: Path) -> None:
    good, file = path.read_bytes(), ArrayFile(path)
    for name in ("a", "b"):
        first = file._described[name]["at"]
        for position in range(first, first + file[name].nbytes):
            spoiled = bytearray(good)
            spoiled[position] ^= 1 << position % 8
            path.write_bytes(spoiled)
            assert list(ArrayFile(path).problems()) == [name]


def test_every_byte_of_the_ends_counts(path: Path) -> None:
    good, file = path.read_bytes(), ArrayFile(path)
    foot = file._described["none"]["at"]
    for position in (*range(len(MAGIC)), *range(foot, len(good))):
        spoiled = bytearray(good)
        spoiled[position] ^= 1 << position % 8
        path.write_bytes(spoiled)
        with pytest.raises(StoreError, match=r"file is damaged: .*mate check --repair"):
            ArrayFile(path)


def test_a_file_of_any_other_length_is_refused(path: Path) -> None:
    good = path.read_bytes()
    for length in range(len(good)):
        path.write_bytes(good[:length])
        with pytest.raises(StoreError, match=r"file (is damaged|cannot be read)"):
            ArrayFile(path)
    path.unlink()
    with pytest.raises(StoreError, match=r"file cannot be read .*No such file"):
        ArrayFile(path)


def test_an_array_that_is_not_there(path: Path) -> None:
    with pytest.raises(StoreError, match="file is damaged: the array c does not fit its description"):
        ArrayFile(path)["c"]


def test_a_reader_keeps_a_file_that_is_gone(path: Path) -> None:
    file = ArrayFile(path)
    path.unlink()
    assert file["b"].tolist() == list(range(7))


def test_a_file_is_incomplete_until_its_last_array_is_written(tmp_path: Path) -> None:
    arrays = (("a", np.arange(9 // divisor)) for divisor in (1, 0))
    with pytest.raises(ZeroDivisionError):
        write_arrays(tmp_path / "file", arrays, {})
    with pytest.raises(StoreError, match="is damaged"):
        ArrayFile(tmp_path / "file")


def test_offsets_are_as_narrow_as_they_can_be() -> None:
    assert [offset_type(most) for most in (0, 2**32 - 1, 2**32)] == [np.uint32, np.uint32, np.int64]
