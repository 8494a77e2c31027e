"""The query: a table of the user's, its key columns, and their distinct key tuples."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from mate.errors import QueryError, did_you_mean
from mate.search.query._query import number_key
from mate.values.arrow import string_array, strings_from_buffers
from mate.values.text import characters, normal_buffers, null_buffers

Numbers: TypeAlias = npt.NDArray[np.int64]

MOST_BYTES = 2**31 - 1
"""Of the text of a query table: as many as an Arrow array of texts may have."""

if TYPE_CHECKING:
    import pandas as pd

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryTable:
    """A table to be enriched, cells as text."""

    name: str
    columns: pa.Table
    source: str | None = None
    """Its file, if it comes from one."""
    notes: tuple[str, ...] = ()
    """What the reader of the file says about it: lines that were not plain, an encoding that is uncertain."""
    header_rows: tuple[tuple[str, ...], ...] = ()
    """The rows of the file that its names are joined of, if there are several."""

    @property
    def header(self) -> list[str]:
        """Column names."""
        return list(self.columns.column_names)

    def for_key(self, key: Sequence[str]) -> QueryTable:
        """Return the table that has the key: if only the first row of its header has it, the other rows are data."""
        names = unique_names(self.header_rows[0]) if self.header_rows else []
        if _has_all(self.header, key) or not _has_all(names, key):
            return self
        above = [pa.array(cells, pa.string()) for cells in zip(*self.header_rows[1:], strict=True)]
        columns = pa.concat_tables([pa.table(above, names), self.columns.rename_columns(names)])
        return replace(self, columns=columns, header_rows=())


def read_query(path: str | PathLike[str], encoding: str | None = None, most_bytes: int | None = None) -> QueryTable:
    """Read a query table from a CSV file of any dialect, a Parquet or a JSON file.

    A small file may hold much text, such as a Parquet file in which a long text comes often: reading ends early then.
    """
    from mate.corpus import Chunk, Limits, Reject, check_encoding, discover, read

    if Path(path).is_dir():
        raise QueryError(f"{fspath(path)} is a folder; a query table is one file")
    (file,) = discover([path])
    limits = Limits(encoding=check_encoding(encoding) if encoding else None)
    chunks: list[Chunk] = []
    rejects: list[Reject] = []
    most, size = MOST_BYTES if most_bytes is None else min(most_bytes, MOST_BYTES), 0
    for item in read(file, limits):
        if isinstance(item, Reject):
            rejects.append(item)
        elif not chunks or item.table == chunks[0].table:
            chunks.append(item)
            size += item.cells.nbytes
            if size > most:
                raise QueryError(f"{fspath(path)} has more than {most:,} bytes of text, too many for a query table")
    if not any(chunk.rows for chunk in chunks):
        reason = rejects[0].reason if rejects else "it has no rows"
        raise QueryError(f"{fspath(path)} cannot be used as a query table: {reason}")
    for reject in rejects:
        place = f", line {reject.line}" if reject.line else ""
        _log.warning("%s%s: %s (%s in all)", fspath(path), place, reject.reason, reject.count)
    notes = tuple(f"{f'line {r.line}: ' if r.line else ''}{r.reason} ({r.count:,} in all)" for r in rejects)
    cells = pa.concat_arrays([chunk.cells for chunk in chunks])
    names = unique_names(chunks[0].table.header)
    width = len(names)
    places = np.arange(0, len(cells), width)
    table = pa.table([cells.take(pa.array(places + i)) for i in range(width)], names=names)
    return QueryTable(chunks[0].table.name, table, fspath(path), notes, chunks[0].table.header_rows)


def from_pandas(frame: pd.DataFrame, name: str = "query") -> QueryTable:
    """Return a pandas DataFrame as a query table, without its index."""
    columns = [_from_series(frame.iloc[:, place], str(name)) for place, name in enumerate(frame.columns)]
    return from_arrow(pa.table(columns, names=list(map(str, frame.columns))), name)


def _from_series(series: pd.Series, name: str) -> pa.Array | pa.ChunkedArray:
    try:
        try:
            return pa.array(series, from_pandas=True)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):  # several types, or an unusual one
            return pa.array([None if missing else str(v) for v, missing in zip(series, series.isna(), strict=True)])
    except UnicodeEncodeError as error:
        spoilt = error.object[error.start : error.end]
        raise QueryError(f'column "{name}" has text that is not valid Unicode: {spoilt!r}') from None


def from_arrow(table: pa.Table, name: str = "query") -> QueryTable:
    """Return an Arrow table as a query table; numbers and dates become text as they would in a CSV file.

    Floats that are all whole are whole numbers, and times that are all midnight are dates: what pandas makes of a file
    with an empty cell joins as the file does.
    """
    from mate.corpus.arrow_text import as_text, whole_if_possible

    columns = [as_text(whole_if_possible(column.combine_chunks())) for column in table.columns]
    names = unique_names(tuple(map(str, table.column_names)))
    return QueryTable(name, pa.table(columns, names=names))


def unique_names(header: Sequence[str]) -> list[str]:
    """Return a name for every column: `column 3` where there is none, a number behind one that comes again."""
    names: list[str] = []
    taken: set[str] = set()
    for place, given in enumerate(header, start=1):
        base = name = given.strip() or f"column {place}"
        count = 2
        while name in taken:
            name, count = f"{base} ({count})", count + 1
        taken.add(name)
        names.append(name)
    return names


@dataclass(frozen=True)
class KeyTuples:
    """The distinct key tuples of a query: ``tokens[place[i, j]]`` is what tuple i has in key column j.

    Tuples with an empty cell are left out: they can join with nothing.
    """

    columns: tuple[str, ...]
    tokens: pa.StringArray
    place: Numbers
    row_tuple: Numbers
    """The tuple of each row of the query table, -1 for rows with an empty cell in the key."""
    dropped_rows: int

    def __len__(self) -> int:
        return len(self.place)


def as_query(query: Any) -> QueryTable:
    """Return a query table, given as one, as an Arrow table, as a DataFrame, or as the path of a file."""
    if isinstance(query, QueryTable):
        return query
    if hasattr(query, "column_names"):
        return from_arrow(query)
    if hasattr(query, "iloc"):
        return from_pandas(query)
    return read_query(query)


def key_tuples(query: QueryTable, key: Sequence[str], nulls: Set[str]) -> KeyTuples:
    """Return the distinct combinations of key values of the query table, in the order of their coming."""
    columns = key_columns(query, key)
    cells = string_array(pa.chunked_array([string_array(query.columns.column(name)) for name in columns], pa.string()))
    text, bounds = normal_buffers(cells)
    absent, ends = null_buffers(frozenset(nulls))
    every = np.concatenate([absent, text]), np.concatenate([ends[:-1], bounds + len(absent)])
    cell, place, row_tuple = number_key(*every, len(ends) - 1, len(columns))
    if not len(place):
        raise QueryError(f"no row of {query.name} has a value in every key column ({', '.join(columns)})")
    found = strings_from_buffers(text, bounds).take(pa.array(cell - (len(ends) - 1)))
    return KeyTuples(columns, found, place, row_tuple, int(np.count_nonzero(row_tuple < 0)))


def key_columns(query: QueryTable, key: Sequence[str]) -> tuple[str, ...]:
    """Return the key columns by their exact names, found regardless of case and outer white space.

    A name that is joined of several rows may be given by one of them, if no other column has that part.
    """
    if isinstance(key, str):
        raise QueryError(f'the key is a list of column names, such as ["{key}"]')
    if not len(key):
        raise QueryError("a query needs at least one key column")
    folded = {_folded(name): name for name in reversed(query.header)}
    found = []
    for wanted in map(str, key):
        name = wanted if wanted in query.header else folded.get(_folded(wanted)) or _named_by_part(query, wanted)
        if name is None:
            raise QueryError(f'{query.name} has no column "{wanted}"; {did_you_mean(wanted, query.header)}')
        if name in found:
            raise QueryError(f'the key names the column "{name}" twice')
        found.append(name)
    return tuple(found)


def _named_by_part(query: QueryTable, wanted: str) -> str | None:
    """Return the column of which a header row has the wanted name."""
    joined = query.header if query.header_rows else []
    found = [name for name in joined if _folded(wanted) in map(_folded, name.split(" / "))]
    if len(found) > 1:
        raise QueryError(f'{query.name} has several columns "{wanted}": {", ".join(found)}')
    return found[0] if found else None


def _has_all(header: Sequence[str], key: Sequence[str]) -> bool:
    return set(map(_folded, key)) <= set(map(_folded, header))


def _folded(name: str) -> str:
    return str(name).strip().casefold()


def _sums(key: KeyTuples, postings: Numbers) -> list[int]:
    """Return the posting list items of each key column's values."""
    return [int(postings[np.unique(column)].sum()) for column in key.place.T]


def _pairs(key: KeyTuples, postings: Numbers) -> Numbers:
    known = (postings[key.place] > 0).all(axis=1)
    pairs: Numbers = postings[key.place[known]].sum(axis=0)
    return pairs


STRATEGIES: Mapping[str, Callable[[KeyTuples, Numbers], np.intp | int]] = {
    "cardinality": lambda key, _: np.argmin([len(np.unique(column)) for column in key.place.T]),
    "order": lambda *_: 0,
    "longest": lambda key, _: np.argmax(characters(key.tokens)[key.place].max(axis=0)),
    "postings": lambda key, postings: np.argmin(_sums(key, postings)),
    "pairs": lambda key, postings: np.argmin(_pairs(key, postings)),
    "worst": lambda key, postings: np.argmax(_sums(key, postings)),
}
"""How the initial column is chosen (section 6.1), by name.

``cardinality`` is the paper's: the fewest distinct values. ``order`` takes the first column given, ``longest`` the one
with the longest value. The others use what the index knows about the query's values before anything is fetched:
``postings`` the fewest posting list items, ``worst`` the most, and ``pairs`` the fewest pairs of a
posting and a key tuple, which is what the row filter has to look at."""


def initial_column(key: KeyTuples, strategy: str, postings: Numbers) -> int:
    """Return the number of the key column to begin with; `strategy` may also be the name of a key column."""
    if strategy in STRATEGIES:
        return int(STRATEGIES[strategy](key, postings))
    if strategy in key.columns:
        return key.columns.index(strategy)
    known = [*STRATEGIES, *key.columns]
    raise QueryError(f'no strategy or key column is called "{strategy}"; {did_you_mean(strategy, known)}')
