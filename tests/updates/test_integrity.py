"""Whatever is wrong with a lake is found, every time, and named; what follows from the cells is repaired.

`MATE_SEEDS=50 pytest tests/updates/test_integrity.py` tries each kind of damage more often.
"""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mate.build.changes.check import Findings, check, check_segment, repair
from mate.build.changes.updates import Updates
from mate.build.segments import checksums
from mate.errors import StoreError
from mate.lake.arrays import write_arrays
from mate.lake.folder import MANIFEST, SEGMENTS, open_folder, publish, read_manifest
from mate.lake.layout import SegmentArrays
from mate.lake.manifest import Manifest
from mate.lake.segment import ARRAYS
from tests.lakes import dump
from tests.updates.model import HASHES, Model, build, compare, first_lake, operate

SEEDS = range(int(os.environ.get("MATE_SEEDS", "1")))
SOME_HASHES = HASHES[:2]
STEPS = ("append", "update", "add", "remove rows", "add column", "remove", "update")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Model]:
    """A lake that was built in two segments and changed, and what it holds."""
    store = tmp_path_factory.mktemp("sound") / "lake.mate"
    model = Model()
    for seed in range(3):
        more = first_lake(random.Random(seed)).tables.values()
        model.tables |= dict(enumerate(more, len(model.tables)))
    for number, table in model.tables.items():
        table.name = f"table {number}"
    model.made = len(model.tables)
    build(store, list(model.tables.values()), hashes=SOME_HASHES, segments=2)
    for seed, name in enumerate(STEPS):
        operate(model, Updates(str(store)), name, seed)
    assert check(str(store)).sound
    return store, model


@pytest.fixture
def index(sound: tuple[Path, Model], tmp_path: Path) -> tuple[Path, Model]:
    """A copy to spoil."""
    store, model = sound
    shutil.copytree(store, tmp_path / store.name)
    return tmp_path / store.name, model


def files(store: Path) -> list[Path]:
    """Every file of a lake but its lock."""
    return sorted(path for path in store.rglob("*") if path.is_file() and path.name != ".lock")


# Damage done to the bytes


def flipped(data: bytes, dice: random.Random) -> bytes:
    spoiled = bytearray(data)
    spoiled[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
    return bytes(spoiled)


def overwritten(data: bytes, dice: random.Random) -> bytes:
    start = dice.randrange(len(data))
    return data[:start] + bytes(byte ^ 0xFF for byte in data[start : start + 500]) + data[start + 500 :]


DAMAGE: dict[str, Callable[[bytes, random.Random], bytes | None]] = {
    "missing": lambda data, dice: None,
    "empty": lambda data, dice: b"",
    "cut": lambda data, dice: data[: dice.randrange(len(data))],
    "last byte lost": lambda data, dice: data[:-1],
    "a byte more": lambda data, dice: data + b"\0",
    "flipped": flipped,
    "overwritten": overwritten,
    "zeroed": lambda data, dice: bytes(len(data)),
}


def checked(store: Path, path: Path) -> Findings:
    """Check as much as a file is part of: its segment, or all."""
    if path.name == MANIFEST:
        return check(str(store))
    manifest = read_manifest(store)
    [record] = (segment for segment in manifest.segments if segment.name == path.parent.name)
    return Findings(list(check_segment(store, record, manifest)))


@pytest.mark.parametrize("what", DAMAGE)
def test_damage_of_any_file_is_found_and_named(index: tuple[Path, Model], what: str) -> None:
    store, _ = index
    assert {path.name for path in files(store)} >= {MANIFEST, ARRAYS, "tables.parquet", "cells-0000.parquet"}
    for path in files(store):
        good = path.read_bytes()
        for seed in SEEDS:
            spoiled = DAMAGE[what](good, random.Random(f"{seed} {path.name}"))
            if spoiled is None:
                path.unlink()
            else:
                path.write_bytes(spoiled)
            if path.name == MANIFEST and what == "missing":
                with pytest.raises(StoreError, match=f"it has no {MANIFEST}"):
                    check(str(store))
            elif path.name != MANIFEST or what != "a byte more":
                findings = checked(store, path)
                assert not findings.sound, (what, path, seed)
                named = store if path.name == MANIFEST else path
                assert any(str(named) in problem.text for problem in findings.problems), findings.problems
                assert all("\n" not in problem.text for problem in findings.problems)
                assert findings.repairable == (path.name == ARRAYS)
            path.write_bytes(good)
    assert check(str(store)).sound


def test_a_whole_segment_that_is_gone(index: tuple[Path, Model]) -> None:
    store, _ = index
    name = read_manifest(store).segments[0].name
    shutil.rmtree(store / SEGMENTS / name)
    findings = check(str(store))
    assert {problem.segment for problem in findings.problems} == {name}
    assert all("is missing" in problem.text for problem in findings.problems)
    with pytest.raises(StoreError, match="cannot be repaired: cells or records are damaged; build the index again"):
        repair(str(store), findings)


# Files that are whole, but say something else than the cells


def rewrite_arrays(store: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> str:
    """Change an array of a segment, with all checksums as if it had been written so; return the segment."""
    manifest = read_manifest(store)
    lake = open_folder(store)
    segment, record = max(zip(lake.segments, manifest.segments, strict=True), key=lambda pair: pair[1].counts.cells)
    arrays = {n: np.array(segment.file[n]) for n in segment.file._described}
    arrays[name] = change(arrays[name])
    write_arrays(segment.file.path, arrays.items(), segment.file.notes)
    written = replace(record, files=checksums(segment.folder.path))
    publish(store, replace(manifest, segments=tuple(written if r is record else r for r in manifest.segments)))
    return record.name


def bumped(place: int) -> Callable[[np.ndarray], np.ndarray]:
    def change(array: np.ndarray) -> np.ndarray:
        flat = array.reshape(-1)
        flat[place % flat.size] ^= flat.dtype.type(1)
        return array

    return change


@pytest.mark.parametrize("name", [*SegmentArrays._fields, "keys0", "keys1"])
def test_arrays_that_do_not_follow_from_the_cells_are_found_and_repaired(
    index: tuple[Path, Model], tmp_path: Path, name: str
) -> None:
    store, model = index
    spoiled = rewrite_arrays(store, name, bumped(3))
    findings = check(str(store))
    assert not findings.sound, name
    assert {problem.segment for problem in findings.problems} == {spoiled}
    assert findings.repairable
    assert repair(str(store), findings).sound
    with open_folder(store) as lake:
        compare(lake, model, tmp_path, random.Random(1))


def test_cells_that_say_something_else_are_found(index: tuple[Path, Model], tmp_path: Path) -> None:
    """The cells are the truth: arrays that do not follow from them are rebuilt from them."""
    store, _ = index
    build(tmp_path / "other.mate", [next(iter(first_lake(random.Random(9)).tables.values()))], hashes=SOME_HASHES)
    other = open_folder(tmp_path / "other.mate").segments[0].folder.path
    manifest = read_manifest(store)
    record = manifest.segments[0]
    folder = store / SEGMENTS / record.name
    shutil.copy(other / "cells-0000.parquet", folder / "cells-0000.parquet")
    written = replace(record, files=checksums(folder))
    publish(store, replace(manifest, segments=(written, *manifest.segments[1:])))
    assert not check(str(store)).sound


WRONG: dict[str, Callable[[Manifest], Manifest]] = {
    **{
        f"count of {name}": lambda m, name=name: replace(  # type: ignore[misc]
            m, counts=replace(m.counts, **{name: getattr(m.counts, name) + 1})
        )
        for name in ("tables", "columns", "rows", "cells", "rejects")
    },
    "a superseded table forgotten": lambda m: replace(
        m, segments=tuple(replace(s, superseded_tables=s.superseded_tables[1:]) for s in m.segments)
    ),
    "a table called superseded": lambda m: replace(
        m, segments=(*m.segments[:-1], replace(m.segments[-1], superseded_tables=(m.next_table - 1,)))
    ),
    "an unknown table superseded": lambda m: replace(
        m, segments=tuple(replace(s, superseded_tables=(*s.superseded_tables, 999)) for s in m.segments)
    ),
    "a superseded source forgotten": lambda m: replace(
        m, segments=tuple(replace(s, superseded_sources=()) for s in m.segments)
    ),
    "a segment lost": lambda m: replace(m, segments=m.segments[1:]),
    "a number given again": lambda m: replace(m, next_table=1),
    "another hash": lambda m: replace(m, hashes=(replace(m.hashes[0], parameters={"alpha": 5}), *m.hashes[1:])),
    "other nulls": lambda m: replace(m, nulls=("w1",)),
    "counts of a segment": lambda m: replace(
        m, segments=(replace(m.segments[0], counts=replace(m.segments[0].counts, cells=1)), *m.segments[1:])
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_manifest_that_says_something_else_is_found(index: tuple[Path, Model], what: str) -> None:
    store, _ = index
    publish(store, WRONG[what](read_manifest(store)))
    assert not check(str(store)).sound


def test_counts_of_the_manifest_are_repaired(index: tuple[Path, Model]) -> None:
    store, _ = index
    right = read_manifest(store)
    publish(store, replace(right, counts=replace(right.counts, rows=7, cells=9)))
    findings = check(str(store))
    assert findings.counts == {"manifest": 2}
    assert repair(str(store), findings).sound
    assert read_manifest(store).counts == right.counts


# Repair


def test_lost_arrays_are_rebuilt_as_they_were(index: tuple[Path, Model], tmp_path: Path) -> None:
    store, model = index
    with open_folder(store) as lake:
        before = dump(lake)
    lost, torn, *_ = (store / SEGMENTS / record.name / ARRAYS for record in read_manifest(store).segments)
    lost.unlink()
    torn.write_bytes(b"x")
    with pytest.raises(StoreError, match=r"arrays .*mate check --repair"):
        open_folder(store)
    findings = check(str(store))
    assert findings.repairable
    assert repair(str(store), findings).sound
    with open_folder(store) as lake:
        assert dump(lake) == before
        compare(lake, model, tmp_path, random.Random(1))
    names = {segment.name for segment in read_manifest(store).segments}
    assert {path.name for path in (store / SEGMENTS).iterdir()} == names


def test_a_repair_after_somebody_compacted(index: tuple[Path, Model]) -> None:
    store, _ = index
    right = read_manifest(store)
    rewrite_arrays(store, "keys0", bumped(1))
    findings = check(str(store))
    Updates(str(store)).compact()
    assert repair(str(store), findings).sound
    assert read_manifest(store).counts == right.counts
