"""The lake against itself, cut into tasks: the joins of some tables, wherever the lake's folder can be read.

The directory of the whole lake is merged once, written to a folder that all tasks see, and mapped by each of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from mate.errors import QueryError
from mate.lake.arrays import ArrayFile, write_arrays
from mate.lake.base import Index
from mate.lake.folder import LakeFolder
from mate.lake.records import TableInfo
from mate.search.batches import Partition, partitions_of
from mate.search.graph import JoinGraph, Joins
from mate.search.graph.directory import LakeDirectory, TablePlace
from mate.termination import terminated_like_interrupted

ARRAYS = (
    *("column_table", "column_first", "column_value", "column_rows", "column_numbers"),
    *("value_first", "value_column"),
)
"""The arrays of a directory, as its fields are called."""

TABLES, MOST_COLUMNS = "tables", "most_columns"


@dataclass(frozen=True)
class StoredDirectory:
    """Where tasks find a lake and its merged directory."""

    partition: Partition
    """All segments."""
    path: str
    """The file with the directory."""
    most_columns: int
    """Columns that a key may have."""

    def joins_of(self, tables: range) -> tuple[Joins, dict[str, int]]:
        """Return the joins of a range of tables."""
        directory, infos = _opened(self)
        # Counting needs room of its own in each task.
        return JoinGraph(replace(directory), infos, self.most_columns).joins_of(tables)


@lru_cache(maxsize=2)
def _opened(stored: StoredDirectory) -> tuple[LakeDirectory, list[TableInfo]]:
    """Map lake and directory; a process that has done so keeps them for the next task."""
    lake = stored.partition.open()
    directory = read_directory(lake, Path(stored.path))
    return directory, table_infos(lake, directory)


@contextmanager
def stored_directory(
    lake: LakeFolder, directory: LakeDirectory, most_columns: int, work: Path | None
) -> Iterator[StoredDirectory]:
    """Write a directory for tasks in a folder that they see, beside the lake unless given; remove it at the end."""
    place = work or lake.path.resolve().parent
    with terminated_like_interrupted():
        try:
            folder = tempfile.TemporaryDirectory(prefix=".mate-graph-", dir=place, ignore_cleanup_errors=True)
        except OSError as error:
            raise _unwritable(place, error) from None
        with folder as name:
            path = Path(name).resolve() / "directory"
            try:
                write_directory(lake, directory, path)
            except OSError as error:
                raise _unwritable(path, error) from None
            [partition] = partitions_of(lake, 1)
            yield StoredDirectory(partition, str(path), most_columns)


def _unwritable(path: Path, error: OSError) -> QueryError:
    return QueryError(
        f"{path} cannot be written: {error.strerror or error}; "
        "name a folder with --work (work=), one that all workers see and that has room for the merged directory"
    )


def write_directory(lake: LakeFolder, directory: LakeDirectory, path: Path) -> None:
    """Write a directory to a file."""
    number = {id(segment): place for place, segment in enumerate(lake.segments)}
    tables = [(number[id(table.segment)], table.place, table.first, table.width) for table in directory.tables]
    arrays = {name: getattr(directory, name) for name in ARRAYS}
    arrays[TABLES] = np.array(tables, np.int64).reshape(-1, 4)
    write_arrays(path, arrays.items(), {MOST_COLUMNS: directory.most_columns})


def read_directory(lake: LakeFolder, path: Path) -> LakeDirectory:
    """Map the directory of a lake in a file."""
    file = ArrayFile(path)
    tables = [TablePlace(lake.segments[segment], *own) for segment, *own in file[TABLES].tolist()]
    arrays = {name: file[name] for name in ARRAYS}
    return LakeDirectory(tables=tables, most_columns=int(file.notes[MOST_COLUMNS]), **arrays)


def table_infos(lake: Index, directory: LakeDirectory) -> list[TableInfo]:
    """Return what is known of the tables of a directory, in its order."""
    known = {info.table_id: info for info in lake.tables()}
    return [known[int(table.segment.arrays.table_id[table.place])] for table in directory.tables]


def table_ranges(directory: LakeDirectory, most: int) -> list[range]:
    """Cut the tables of a directory into up to `most` ranges with about as many values."""
    if not directory.tables:
        return []
    first = np.array([table.first for table in directory.tables])
    values = np.append(directory.column_first[first], len(directory.column_value))
    filled = np.cumsum(np.diff(values) + 1)  # a table without values is work, too
    ends = np.searchsorted(filled, filled[-1] * np.arange(1, most + 1) / most) + 1
    bounds = [0, *np.unique(np.minimum(ends, len(first))).tolist()]
    return [range(start, stop) for start, stop in pairwise(bounds)]
