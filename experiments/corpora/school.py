"""The School corpus (section 7.1), which has no address: find usable tables in a folder that somebody has."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path

from mate.corpus.formats import File, discover, read
from mate.corpus.table import Chunk
from mate.errors import CorpusError

SCHOOL_COLUMNS = ("Program Type", "School Name")


@dataclass(frozen=True, slots=True)
class SchoolTable:
    """A table of a folder, and which of the two key columns it has."""

    path: Path
    columns: int
    keys: tuple[str, ...]
    """Those of `SCHOOL_COLUMNS` that it has."""

    @property
    def complete(self) -> bool:
        """Whether it can be a query table of the paper's School experiment."""
        return len(self.keys) == len(SCHOOL_COLUMNS)


def school_tables(folder: Path) -> list[SchoolTable]:
    """Check the first table of every file under a folder; files without a table are left out."""
    if not folder.is_dir():
        raise CorpusError(f"{folder}: no such folder")
    checked = [_school_table(file) for file in discover([folder])]
    tables = [table for table in checked if table is not None]
    if not tables:
        raise CorpusError(f"{folder}: no file here holds a table")
    return tables


def _school_table(file: File) -> SchoolTable | None:
    with contextlib.closing(_chunks(file)) as chunks:
        header = next((chunk.table.header for chunk in chunks), None)
    if header is None:
        return None
    names = {_plain(name) for name in header}
    return SchoolTable(Path(file.path), len(header), tuple(key for key in SCHOOL_COLUMNS if _plain(key) in names))


def _chunks(file: File) -> Generator[Chunk, None, None]:
    yield from (item for item in read(file) if isinstance(item, Chunk))


def _plain(name: str) -> str:
    """Make ``PROGRAM TYPE`` and ``program_type`` the same name."""
    return " ".join(unicodedata.normalize("NFKC", name).replace("_", " ").casefold().split())
