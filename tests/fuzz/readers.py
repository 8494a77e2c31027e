"""Spoiled files for the readers alone, and for builds and changes of whole lakes."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mate.build.build import BuildSettings, build
from mate.build.changes.check import check
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.corpus import READERS, Chunk, File, Limits, Reject, detect, read
from mate.corpus.formats import cut_file
from mate.corpus.parts import Parts
from mate.lake.folder import open_folder
from tests.fuzz.mutations import SEEDS, packed, spoiled
from tests.lakes import sync

SUFFIXES = {"delimited": ".csv", "dwtc": ".json", "json": ".json", "parquet": ".parquet"}


@contextmanager
def folder() -> Iterator[Path]:
    """Yield a folder that is gone afterwards."""
    path = Path(tempfile.mkdtemp(prefix="mate-fuzz-"))
    try:
        yield path
    finally:
        shutil.rmtree(path)


def readers(seed: int) -> bytes:
    """Every reader gives chunks that are whole or says what it left out."""
    dice = random.Random(seed)
    kind = dice.choice(list(SEEDS))
    data = packed(spoiled(SEEDS[kind](dice), dice), dice)
    limits = Limits(
        columns=dice.choice([2, 2_000]),
        rows=dice.choice([1, 10**7]),
        chunk_cells=dice.choice([1, 200_000]),
        encoding=dice.choice([*[None] * 8, "cp037", "iso2022_jp", "utf-7", "gb18030", "utf-16"]),
    )
    with folder() as home:
        path = home / f"t{SUFFIXES[kind]}"
        path.write_bytes(data)
        format = dice.choice([kind, detect(str(path), data[:65_536]), dice.choice(list(READERS))])
        found = list(read(File(str(path), format), limits))
        assert found, "neither a table nor a reject"
        for item in found:
            assert isinstance(item, Chunk | Reject)
            if isinstance(item, Chunk):
                item.cells.validate(full=True)
                assert len(item.cells) == item.rows * len(item.table.header) > 0
            else:
                assert "Error:" not in item.reason, item.reason
        if format is not None:
            _same_in_parts(File(str(path), format), limits, found)
    return data


def _same_in_parts(file: File, limits: Limits, whole: list[Chunk | Reject]) -> None:
    """Read the file in parts as well, if it can be cut."""
    cutting = cut_file(file, limits, 40)
    if cutting is None:
        return
    with Path(file.path).open("rb") as stream:
        looks: list[Any] = [cutting.look(stream, span) for span in cutting.spans]
        while not isinstance(settled := cutting.settle(looks), Parts):
            looks[settled.first : settled.stop] = [cutting.look(stream, settled.span)]
        found = [item for part in settled.parts for item in part.read(stream, limits)]
    if settled.parts:
        assert _summary(found) == _summary(whole), "read differently in parts"


def _summary(found: list[Chunk | Reject]) -> tuple[list[Any], list[Any]]:
    cells = [
        (item.table.position, *cell)
        for item in found
        if isinstance(item, Chunk)
        for cell in enumerate(item.cells.to_pylist(), item.first_row * len(item.table.header))
    ]
    rejects = sorted((item.line or 0, item.kind, item.reason, item.count) for item in found if isinstance(item, Reject))
    return cells, rejects


NAMES = ("a.csv", "b.csv", "a", "c.json", "d.parquet", "e.csv.gz", "\x1b[31m.csv", "ü\u202e.csv", "=1+1.tsv", "x" * 250)


def builds(seed: int) -> bytes:
    """Whatever files a folder has, each is in the lake or among its rejects, and a sync sees each change."""
    dice = random.Random(seed)
    with folder() as home:
        lake = home / "lake"
        lake.mkdir()
        (lake / "good.csv").write_text("a,b\n1,x\n2,y\n")
        for name in dice.sample(NAMES, dice.randrange(1, 5)):
            (lake / name).write_bytes(_some_file(dice))
        _add_traps(lake, dice)
        settings = BuildSettings(master="none", memory=dice.choice([256 << 20, 2 << 30]))
        with LakeTarget(home / "lake.mate") as target:
            build([str(lake)], target, settings)
        _assert_nothing_is_lost(home)
        changed = lake / dice.choice(NAMES)
        changed.write_bytes(_some_file(dice))
        sync(Updates(str(home / "lake.mate")), [str(lake)])
        _assert_nothing_is_lost(home)
        assert not Updates(str(home / "lake.mate")).compare([str(lake)]), "a sync left something to do"
        assert check(str(home / "lake.mate")).sound
    return b""


def _some_file(dice: random.Random) -> bytes:
    return packed(spoiled(SEEDS[dice.choice(list(SEEDS))](dice), dice), dice)


def _add_traps(lake: Path, dice: random.Random) -> None:
    """Put what only looks like a file among the files."""
    for trap in dice.sample(range(4), dice.randrange(3)):
        if trap == 0:
            (lake / "link.csv").symlink_to(dice.choice(["nowhere", "good.csv", ".", "link.csv"]))
        elif trap == 1:
            os.mkfifo(lake / "pipe.csv")
        elif trap == 2:
            (lake / os.fsdecode(b"\xff.csv")).write_bytes(b"a,b\n1,2\n")
        else:
            (lake / "folder.csv").mkdir()


def _assert_nothing_is_lost(home: Path) -> None:
    with open_folder(home / "lake.mate") as opened:
        known = {table.source for table in opened.tables()} | {reject["source"] for reject in opened.rejects()}
    files = {path for path in (home / "lake").iterdir() if path.name != "folder.csv"}
    shown = {os.fsencode(path).decode("utf-8", "backslashreplace") for path in files}
    assert known == shown, known ^ shown


READING = (readers, builds)
