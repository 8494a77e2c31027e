"""A small lake of hostile CSV files, and a model that answers every question to an index from the files alone."""

from __future__ import annotations

import csv
import hashlib
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from mate.lake.base import Ids
from mate.lake.folder import LakeFolder
from mate.sql.dialects.session import Session
from mate.values.text import token
from tests.sql.places import PLACES, index

LIMIT = 1_000
"""Characters of a cell that is still indexed."""

HOSTILE = [
    'say "hi", she said',
    "tab\there",
    "C:\\new\\table\\n",
    "nul\0inside",
    "two\nlines",
    "carriage\r\nreturn",
    "'; DROP TABLE postings; --",
    "%s {0} $1 ? [bold]",
    "Straße Łódź Ærø",
    "李小龍 \U0001f600 Ωμέγα",
    "cafe\u0301",
    "café",
    "\u200fעברית",
    "ＭＡＴＥ",
    "  padded \u00a0 twice  ",
    "x" * LIMIT,
    "y" * (LIMIT + 1),
    "0042",
    "-1",
    "9223372036854775808",
]
ABSENT = ["", "   ", "NaN", "N/A", "—", "unknown"]
WIDTHS = (1, 2, 3, 7, 20, 60)
TALL = 6_000


@pytest.fixture
def records_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of records that databases answer with, question by question."""
    read: list[int] = []
    ask = Session.numbers

    def counting(self: Session, *given: Any) -> list[Ids]:
        found = ask(self, *given)
        read.append(len(found[0]))
        return found

    monkeypatch.setattr(Session, "numbers", counting)
    return read


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> Path:
    """Write a table; every cell is quoted, so that a row of empty cells is no blank line."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows([header, *rows])
    return path


def write_lake(folder: Path, seed: int = 7) -> Path:
    """Write tables of every width with the same few values, one tall table, and one of nothing but hostile cells."""
    folder.mkdir()
    dice = random.Random(seed)
    words = [f"word {n}" for n in range(40)] + HOSTILE
    for width in WIDTHS:
        rows = [[dice.choice(words) for _ in range(width)] for _ in range(30)]
        rows += [[word] * width for word in dice.sample(words, 3)]  # one value in every column
        rows += [dice.choices(ABSENT, k=width) for _ in range(3)]
        rows += [row[::-1] for row in rows[:5]] + rows[:5]
        dice.shuffle(rows)
        rows.append([f"last row of {width}"] * width)  # no cell-less row at the end, where a footer may stand
        write_csv(folder / f"width_{width:02d}.csv", [f"column {n} of {width}" for n in range(width)], rows)
    tall = [[f"city {n}", f"{dice.choice(words[:40])}"] for n in range(TALL)]
    write_csv(folder / "tall.csv", ["city", "word"], tall)
    every = HOSTILE + ABSENT
    write_csv(folder / "zoo.csv", ["cell", "number"], [[cell, f"n{n}"] for n, cell in enumerate(every)])
    (folder / "broken.parquet").write_bytes(b"PAR1 and no more")
    (folder / "notes.xyz").write_text("no table")
    return folder


@dataclass(frozen=True)
class ModelTable:
    """A table as Python's own csv module reads it."""

    path: Path
    header: tuple[str, ...]
    rows: list[list[str]]


class Model:
    """The index that the lake must give, by brute force."""

    hostile = HOSTILE
    absent = ABSENT
    limit = LIMIT

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tables: list[ModelTable] = []
        for path in sorted(folder.glob("*.csv")):
            with path.open(newline="", encoding="utf-8") as stream:
                header, *body = csv.reader(stream)
            self.tables.append(ModelTable(path, tuple(header), body))

    @cached_property
    def rows(self) -> list[list[str]]:
        """The cells of every row, by row number."""
        return [row for table in self.tables for row in table.rows]

    @cached_property
    def table_of(self) -> list[int]:
        """The table of every row."""
        return [number for number, table in enumerate(self.tables) for _ in table.rows]

    @cached_property
    def tokens(self) -> list[list[str | None]]:
        """The tokens of every row."""
        known: dict[str, str | None] = {}
        for cell in {cell for row in self.rows for cell in row}:
            text = token(cell)
            known[cell] = None if text is None or len(text) > LIMIT else text
        return [[known[cell] for cell in row] for row in self.rows]

    @cached_property
    def postings(self) -> dict[str, list[tuple[int, int, int]]]:
        """Table, column and row of every cell, by token."""
        found: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
        for row, texts in enumerate(self.tokens):
            for column, text in enumerate(texts):
                if text is not None:
                    found[text].append((self.table_of[row], column, row))
        return dict(found)

    def sources(self) -> dict[str, tuple[int, str]]:
        """Bytes and SHA-256 of every file, readable or not."""
        paths = [path for path in self.folder.iterdir() if path.is_file()]
        return {str(p): (p.stat().st_size, hashlib.sha256(p.read_bytes()).hexdigest()) for p in paths}


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of files."""
    return write_lake(tmp_path_factory.mktemp("contract") / "lake")


@pytest.fixture(scope="session")
def model(lake: Path) -> Model:
    """What the files hold."""
    return Model(lake)


@pytest.fixture(scope="module")
def small_lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few small files."""
    from tests.sql.small import write_small_lake

    return write_small_lake(tmp_path_factory.mktemp("small") / "lake")


@pytest.fixture(scope="module")
def small_folder(small_lake: Path, tmp_path_factory: pytest.TempPathFactory) -> LakeFolder:
    """The same files in a lake."""
    from tests.sql.small import built_lake

    return built_lake(small_lake, tmp_path_factory.mktemp("built") / "lake.mate")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two small files."""
    from tests.sql.small import write_people

    return write_people(tmp_path / "lake")


@pytest.fixture(params=PLACES)
def empty_place(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database, where nothing is yet."""
    with PLACES[request.param]() as place:
        yield place


@pytest.fixture
def address(empty_place: str, files: Path) -> str:
    """The address of an index of the two files."""
    index(files, empty_place)
    return empty_place
