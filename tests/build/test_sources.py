"""Units of work: nothing lost, order kept, sizes balanced."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate.build.sources import FileSource, Provenance, SyntheticSource, find_sources, plan_units
from mate.corpus import Limits
from mate.errors import MateError

MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Sized:
    """As much of a source as a plan looks at."""

    name: str
    size: int


def sized(sizes: list[int]) -> list[Sized]:
    return [Sized(str(place), size) for place, size in enumerate(sizes)]


@given(st.lists(st.integers(0, 200 * MEGABYTE), max_size=60), st.integers(1, 64))
def test_a_plan_keeps_every_source_in_order(sizes: list[int], parallelism: int) -> None:
    sources = sized(sizes)
    units = plan_units(sources, parallelism)  # type: ignore[arg-type]
    assert [source for unit in units for source in unit] == sources
    assert all(units)


@given(st.lists(st.integers(0, 200 * MEGABYTE), min_size=1, max_size=60), st.integers(1, 64))
def test_units_are_of_about_equal_size(sizes: list[int], parallelism: int) -> None:
    target = min(max(sum(sizes) // (parallelism * 8), MEGABYTE), 64 * MEGABYTE)
    units = plan_units(sized(sizes), parallelism)  # type: ignore[arg-type]
    filled = [sum(source.size for source in unit) for unit in units]
    for unit, size in zip(units, filled, strict=True):
        assert size <= target or len(unit) == 1
    for size, following in zip(filled, units[1:], strict=False):
        assert size + following[0].size > target  # no unit ends before it is full


def test_files_come_sorted_with_size_format_and_checksum(tmp_path: Path) -> None:
    for name in ("b.csv", "a.json", "c.zzz"):
        (tmp_path / name).write_text(f'["{name}"]')
    found = find_sources([tmp_path])
    assert [Path(source.name).name for source in found] == ["a.json", "b.csv", "c.zzz"]
    assert [source.format for source in found if isinstance(source, FileSource)] == ["json", "delimited", "unknown"]
    assert [source.size for source in found] == [10, 9, 9]
    *_, provenance = found[1].read(Limits())
    assert provenance == Provenance("delimited", 9, hashlib.sha256(b'["b.csv"]').hexdigest())


def test_a_file_that_vanishes_has_no_checksum_and_is_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")
    [source] = find_sources([path])
    path.unlink()
    reject, provenance = source.read(Limits())
    assert provenance == Provenance("delimited", 8, "")
    assert (reject.source, reject.kind) == (str(path), "file")  # type: ignore[union-attr]


@pytest.mark.parametrize("tables", [50, 100_000])
def test_a_synthetic_lake_is_cut_into_parts_that_make_it_up(tables: int) -> None:
    found = find_sources([f"synthetic:tables={tables},seed=3"])
    assert all(isinstance(source, SyntheticSource) for source in found)
    covered = [number for s in found if isinstance(s, SyntheticSource) for number in range(s.first, s.stop)]
    assert covered == list(range(tables))
    assert len({source.name for source in found}) == len(found)
    assert (len(found) > 32) == (tables > 50)
    assert len(plan_units(found, parallelism=128)) > (64 if tables > 50 else 0)


def test_files_stand_before_synthetic_tables(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    first, *others = find_sources(["synthetic:tables=5,seed=3", tmp_path])
    assert isinstance(first, FileSource)
    assert all(isinstance(source, SyntheticSource) for source in others)


@pytest.mark.parametrize(
    ("path", "message"),
    [("synthetic:tables=x", "tables"), ("/no/such/folder", "/no/such/folder: no such file or folder")],
)
def test_what_cannot_be_found_is_an_error_of_ours(path: str, message: str) -> None:
    with pytest.raises(MateError, match=message):
        find_sources([path])
