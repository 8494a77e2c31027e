"""The join itself: rows of a query with the columns of a table that joins with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from mate.errors import QueryError, did_you_mean
from mate.lake.base import Ids, Index
from mate.search.query import KeyTuples, unique_names
from mate.search.results import Matches, Result

FIRST, ALL, AGGREGATE = "first", "all", "aggregate"
MATCHES = (FIRST, ALL, AGGREGATE)
"""What becomes of several matching rows: the first is taken, the query's row is repeated, or they become one row."""

SEPARATOR = "; "
"""Stands between the values of several rows that become one."""

_NUMBER = r"^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?$"


@dataclass(frozen=True)
class Enrichment:
    """A left join: every row of the query is there, in its order."""

    query_rows: Ids
    """The row of the query that each row of the result has."""
    columns: pa.Table
    """The columns of the other table, beside it; null where nothing matches."""
    matched_rows: int
    """Rows of the result that have a partner."""


def enrich(index: Index, header: Sequence[str], key: KeyTuples, result: Result, matches: str = FIRST) -> Enrichment:
    """Left-join a query, given by its header and key tuples, with a table that was found for it."""
    if matches not in MATCHES:
        raise QueryError(f'matches can be {", ".join(MATCHES)}, not "{matches}"; {did_you_mean(matches, MATCHES)}')
    if matches == AGGREGATE:
        return _aggregated(index, header, key, result)
    rows, partner = joined_rows(key.row_tuple, result.matches, all_matches=matches == ALL)
    wanted, place = np.unique(partner[partner >= 0], return_inverse=True)
    chosen = np.full(len(partner), -1)
    chosen[partner >= 0] = place
    taken = pa.array(chosen, mask=chosen < 0)
    columns = [column.take(taken) for column in _added_columns(index, result, wanted)]
    return Enrichment(rows, pa.table(columns, names=added_names(header, result)), int((partner >= 0).sum()))


def joined_rows(row_tuple: Ids, matches: Matches, *, all_matches: bool) -> tuple[Ids, Ids]:
    """Return query rows and the rows of the table that they are joined with, -1 for none."""
    tuples, first, count = np.unique(matches.tuple_id, return_index=True, return_counts=True)
    place, known = _looked_up(tuples, row_tuple)
    times = np.ones(len(row_tuple), np.int64)
    if all_matches:
        times[known] = count[place[known]]
    rows = np.repeat(np.arange(len(row_tuple)), times)
    within = np.arange(len(rows)) - np.repeat(np.cumsum(times) - times, times)
    partner = np.full(len(rows), -1)
    joined = known[rows]
    partner[joined] = matches.row[first[place[rows[joined]]] + within[joined]]
    return rows, partner


def _looked_up(tuples: Ids, row_tuple: Ids) -> tuple[Ids, npt.NDArray[np.bool_]]:
    """Return where each row's key tuple stands among sorted ones, and whether it does."""
    place = np.searchsorted(tuples, row_tuple).astype(np.int64)
    known = (place < len(tuples)) & (row_tuple >= 0)
    known[known] = tuples[place[known]] == row_tuple[known]
    return place, known


def _added(result: Result) -> list[int]:
    return [c for c in range(len(result.table.columns)) if c not in result.column_ids]


def _added_columns(index: Index, result: Result, rows: Ids) -> list[pa.Array]:
    """Return the columns of the table that are not part of the key, for some of its rows."""
    cells = index.cells(result.table_id, rows)
    index.check_unchanged(result.change)
    return [pa.array([row[c] for row in cells], pa.string()) for c in _added(result)]


def added_names(header: Sequence[str], result: Result, more: Sequence[str] = ()) -> list[str]:
    """Return names for the added columns that clash with none of the query's."""
    names = result.table.column_names()
    new = [*(names[c] for c in _added(result)), *more]
    wanted = [f"{name} ({result.table.name})" if name in header else name for name in new]
    return unique_names([*header, *wanted])[len(header) :]


# Several rows become one


def _aggregated(index: Index, header: Sequence[str], key: KeyTuples, result: Result) -> Enrichment:
    """Give each row of the query one row that stands for all its matches, and their number."""
    tuples, group, count = np.unique(result.matches.tuple_id, return_inverse=True, return_counts=True)
    wanted, place = np.unique(result.matches.row, return_inverse=True)
    partners = pa.array(place)
    columns = [
        _one_per_group(group, column.take(partners), len(tuples)) for column in _added_columns(index, result, wanted)
    ]
    at, known = _looked_up(tuples, key.row_tuple)
    taken = pa.array(np.where(known, at, 0), mask=~known)
    columns = [column.take(taken) for column in [*columns, pa.array(count, pa.int64())]]
    names = added_names(header, result, ["matching rows"])
    return Enrichment(np.arange(len(key.row_tuple)), pa.table(columns, names=names), int(known.sum()))


def _one_per_group(group: Ids, values: pa.Array, groups: int) -> pa.Array:
    """Return one value per group: the mean where all are numbers, else the distinct values in their order."""
    filled = pc.utf8_trim_whitespace(values)
    filled = pc.if_else(pc.equal(filled, ""), None, filled)
    pairs = pa.table({"group": group, "value": filled}).filter(pc.is_valid(filled))
    numbers = _as_numbers(pairs.column("value"))
    if numbers is not None:
        pairs = pairs.set_column(1, "value", numbers)
        found = pairs.group_by("group", use_threads=False).aggregate([("value", "mean")])
        texts = found.column("value_mean")
    else:
        # Arrow groups by two columns in whatever order: each value is put back to where it came first.
        placed = pairs.append_column("place", pa.array(np.arange(pairs.num_rows)))
        firsts = placed.group_by(["group", "value"], use_threads=False).aggregate([("place", "min")])
        distinct = firsts.sort_by("place_min")
        found = distinct.group_by("group", use_threads=False).aggregate([("value", "list")])
        texts = pc.binary_join(found.column("value_list").cast(pa.list_(pa.string())), SEPARATOR)
    place = np.full(groups, -1)
    place[found.column("group").to_numpy()] = np.arange(found.num_rows)
    column: pa.Array = texts.combine_chunks().take(pa.array(place, mask=place < 0))
    return column


def _as_numbers(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return texts as numbers; None if there are none, or if any is no number: one with leading zeros is a code."""
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py():
        return None
    return pc.cast(pc.replace_substring_regex(texts, r"^\+", ""), pa.float64())
