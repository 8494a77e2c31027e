"""Lakes whose files were damaged: manifests, arrays, tables and cells."""

from __future__ import annotations

import atexit
import json
import random
import shutil
import tempfile
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Any

from mate.build.build import BuildSettings, build
from mate.build.changes.check import check
from mate.build.changes.updates import Updates
from mate.build.lake_target import LakeTarget
from mate.errors import MateError
from mate.lake.arrays import ArrayFile
from mate.lake.folder import MANIFEST, open_folder
from mate.lake.segment import ARRAYS
from mate.search.systems import find_system
from tests.fuzz.mutations import spoiled
from tests.fuzz.readers import folder
from tests.lakes import write_csv


def one_line(error: MateError) -> None:
    """Check that an error is one line."""
    assert "\n" not in str(error), str(error)


@lru_cache(maxsize=1)
def sound_lake() -> Path:
    """Return a small lake with several segments and superseded tables."""
    home = Path(tempfile.mkdtemp(prefix="mate-fuzz-lake-"))
    atexit.register(shutil.rmtree, home, True)
    dice = random.Random(1)
    (home / "files").mkdir()
    for number in range(6):
        rows = [[f"a{dice.randrange(30)}", f"b{dice.randrange(9)}", f"c{dice.randrange(300)}"] for _ in range(60)]
        write_csv(home / "files" / f"t{number}.csv", ["x", "y", "z"], rows)
    with LakeTarget(home / "lake.mate") as target:
        build([str(home / "files")], target, BuildSettings(master="none"))
    updates = Updates(str(home / "lake.mate"))
    updates.append_rows(2, [["a1", "b2", "c3"]])
    updates.remove_rows(4, [0, 5])
    return home


def answers(store: Path) -> list[Any]:
    """Return what searches and look-ups of a lake say."""
    found: list[Any] = []
    with open_folder(store) as lake:
        for system in ("column-first", "mate"):
            for key in (["x", "y"], ["z"], ["x", "y", "z"]):
                result = find_system(system)(lake, sound_lake() / "files" / "t1.csv", key, 5)
                found.append([(r.table_id, r.joinability, r.mapping) for r in result])
        found.append([(table.name, table.rows, table.columns) for table in lake.tables()])
        found.append(lake.cells(3, [0, 7]))  # type: ignore[arg-type]
    return found


@lru_cache(maxsize=1)
def right_answers() -> list[Any]:
    """Return those of the sound lake."""
    return answers(sound_lake() / "lake.mate")


def lakes(seed: int) -> bytes:
    """A damaged lake is refused with one line, or answers as before, or `mate check` finds it."""
    dice = random.Random(seed)
    right = right_answers()
    with folder() as home:
        store = home / "lake.mate"
        shutil.copytree(sound_lake() / "lake.mate", store)
        path = dice.choice(sorted(p for p in store.rglob("*") if p.is_file() and p.name != ".lock"))
        data = path.read_bytes()
        if path.name == MANIFEST and dice.random() < 0.7:
            data = _other_manifest(data, dice)
        elif path.name == ARRAYS and dice.random() < 0.7:
            data = _other_array(path, data, dice)
        else:
            data = spoiled(data, dice)
        path.write_bytes(data)
        try:
            given = answers(store)
        except MateError as error:
            one_line(error)
            return data
        try:
            sound = check(str(store)).sound
        except MateError:
            sound = False
        assert given == right or not sound, f"other answers and nobody notices: {path.name}"
    return data


def _other_manifest(data: bytes, dice: random.Random) -> bytes:
    """Change one value somewhere in a manifest and give it the right checksum."""
    record = json.loads(data)
    record.pop("checksum")
    place: Any = record
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = dice.choice(keys)
        if not isinstance(place[key], dict | list) or not place[key] or dice.random() < 0.2:
            break
        place = place[key]
    place[key] = dice.choice([None, -1, 0, 2**70, "x", [], {}, [1], True, 1.5, "../../x", "\0"])
    checksum = zlib.crc32(json.dumps(record, sort_keys=True, ensure_ascii=False).encode())
    return json.dumps({**record, "checksum": checksum}).encode()


def _other_array(path: Path, data: bytes, dice: random.Random) -> bytes:
    """Change bytes of one array, which its description does not tell."""
    file = ArrayFile(path)
    name = dice.choice([name for name in file._described if file[name].nbytes])
    at = file._described[name]["at"] + dice.randrange(file[name].nbytes)
    size = dice.choice([1, 1, 4, 8])
    value = dice.choice([dice.randbytes(size), b"\xff" * size, bytes(size)])
    return data[:at] + value[: len(data) - at] + data[at + size :]
