"""What is fed with spoiled inputs, and what must hold whatever they are: each target is a function of a seed."""

from __future__ import annotations

import atexit
import io
import json
import random
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import lru_cache
from pathlib import Path
from typing import Any

from mate.build.build import BuildSettings, build
from mate.build.check import check
from mate.build.lake_target import LakeTarget
from mate.build.updates import Updates
from mate.cli.program import main
from mate.corpus import READERS, Chunk, File, Limits, Reject, detect, read
from mate.corpus.parts import Parts, cut_file, look_at, read_part
from mate.errors import MateError
from mate.lake.arrays import ArrayFile
from mate.lake.folder import MANIFEST, open_folder
from mate.lake.segment import ARRAYS
from mate.search.query import read_query
from mate.search.systems import find_system
from tests.fuzz.mutations import SEEDS, delimited, packed, spoiled
from tests.lakes import write_csv

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
        columns=dice.choice([2, 2_000]), rows=dice.choice([1, 10**7]), chunk_cells=dice.choice([1, 200_000])
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
    looks: list[Any] = [look_at(file, cutting, span) for span in cutting.spans]
    while not isinstance(settled := cutting.settle(looks), Parts):
        looks[settled.first : settled.stop] = [look_at(file, cutting, settled.span)]
    if settled.parts:
        found = [item for part in settled.parts for item in read_part(file, part, limits)]
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


def _one_line(error: MateError) -> None:
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
            _one_line(error)
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
    name = dice.choice([name for name in file.names if file.bytes_of(name)])
    at = file._described[name]["at"] + dice.randrange(file.bytes_of(name))
    size = dice.choice([1, 1, 4, 8])
    value = dice.choice([dice.randbytes(size), b"\xff" * size, bytes(size)])
    return data[:at] + value[: len(data) - at] + data[at + size :]


def queries(seed: int) -> bytes:
    """A spoiled query is refused with one line, or searched for."""
    dice = random.Random(seed)
    data = spoiled(delimited(dice), dice)
    with folder() as home, open_folder(sound_lake() / "lake.mate") as lake:
        path = home / "q.csv"
        path.write_bytes(data)
        try:
            query = read_query(path, dice.choice([None, None, "cp1252"]))
            key = dice.sample(query.header, min(len(query.header), dice.randrange(1, 4)))
            find_system(dice.choice(["column-first", "mate"]))(lake, query, key, dice.choice([1, 5, 1000]))
        except MateError as error:
            _one_line(error)
    return data


OPTIONS = (
    "--key", "x", "x,y", "--table", "0", "1", "-1", "²", "9" * 30, "-k", "10", "--json", "--explain",
    "--rejects", "--tables", "--system", "mate", "scr", "--hash", "xash:64", "--bits", "--strict", "--format",
    "csv", "--encoding", "cp1251", "nope", "--row", "1-3", "--exclude-self", "--max-cell", "--max-rows",
    "--memory", "1GB", "--segments", "", "\x1b[31m", "--wait", "0", "--master", "none", "--dry-run", "--cell",
    "1,1=x", "--null", "?",
)  # fmt: skip


def options(seed: int) -> bytes:
    """Any command line ends with a known code; what goes wrong is said in one line."""
    dice = random.Random(seed)
    with folder() as home:
        shutil.copytree(sound_lake(), home / "w")
        command = dice.choice(
            [
                "index",
                "search",
                "join",
                "stats",
                "check",
                "add",
                "remove",
                "update",
                "sync",
                "compact",
                "hash",
                "hashes",
            ]
        )
        files = [str(home / "w" / "files" / "t1.csv"), str(home / "w" / "files"), str(home / "nothing.csv")]
        arguments = [command, *dice.choices([*files, *OPTIONS], k=dice.randrange(5))]
        store = home / "w" / "lake.mate" if dice.random() < 0.8 else home / "new.mate"
        arguments += ["--store", str(store)] if dice.random() < 0.9 else []
        if command == "index":
            arguments += ["--master", "none"]
        code = _code(arguments)
        assert code in (0, 1, 2), f"code {code}"
    return "\0".join(arguments).encode("utf-8", "surrogateescape")


def _code(arguments: list[str]) -> Any:
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            return main(arguments)
        except SystemExit as ended:
            return ended.code


TARGETS: dict[str, Callable[[int], bytes]] = {target.__name__: target for target in (readers, lakes, queries, options)}
