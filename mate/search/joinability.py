"""Exact joinability (equation 2): the most key tuples that one injective mapping of columns finds in a table.

The work is done on arrays for many candidates at once. Only tables where a value stands in several columns of a
row, so that more than one mapping fits it, are searched one by one, by branch and bound over the mappings.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from mate.store.base import Candidates, Ids, Rows

Mask: TypeAlias = npt.NDArray[np.bool_]

_SMALL = 50_000
"""Below this many comparisons NumPy is done before the compiled kernel is loaded."""


MOST_OPTIONS = 64
"""A candidate with more mappings than this has its table searched by branch and bound."""


_MOST_CODES = 1_000_000
"""Column lists are numbered without gaps when there may be more of them than this."""


class RowCells(NamedTuple):
    """Cells of rows, ascending by row: row i has the cells ``offsets[i]:offsets[i + 1]``."""

    row_id: Ids
    offsets: Ids
    column_id: Ids
    token_id: Ids


class Matches(NamedTuple):
    """Pairs of key tuple and row that join, as parallel arrays."""

    tuple_id: Ids
    row_id: Ids


class TableScore(NamedTuple):
    """A table's joinability, the mapping that attains it, and how to get the pairs that it joins."""

    table_id: int
    joinability: int
    mapping: tuple[int, ...]
    """Table column of each key column."""
    matches: Callable[[], Matches]


class Checked(NamedTuple):
    """Candidates that hold: every value of the tuple stands in the row, each in a column of its own."""

    candidates: Candidates
    mapping: Ids
    """The columns of the values, one row a candidate; where several fit, one of them."""
    ambiguous: Mask
    """Whether more than one mapping fits."""


class _Match(NamedTuple):
    """Where cells of a row equal a value of the tuple: candidate, key column, table column."""

    candidate: Ids
    key: Ids
    column: Ids


def dense(rows: Rows) -> RowCells:
    """Return whole rows with the numbers of their columns."""
    sizes = np.diff(rows.offsets)
    columns = np.arange(len(rows.token_id)) - np.repeat(rows.offsets[:-1], sizes)
    return RowCells(rows.row_id, rows.offsets, columns, rows.token_id)


def check(candidates: Candidates, cells: RowCells, tuples: Ids, initial: int) -> Checked:
    """Compare candidates with the cells of their rows and return those that hold.

    `tuples[i, j]` is the token of key tuple i in key column j; `initial` is the column that candidates were fetched by.
    """
    row = np.searchsorted(cells.row_id, candidates.row_id)
    if len(row) * tuples.shape[1] < _SMALL:
        found, mapping = _find_numpy(candidates, cells, row, tuples, initial)
    else:
        from mate.search.joinability_kernel import find

        found, mapping = find(candidates, cells, row, tuples, initial)
    # Values that differ stand in different columns, so that an injective mapping of a tuple to a row exists exactly
    # if each value stands in as many columns as the tuple has it.
    needed = _multiplicity(tuples) - (tuples == tuples[:, [initial]])
    needed[:, initial] = 1
    holds = (found >= needed[candidates.tuple_id]).all(axis=1)
    unique = (found == 1).all(axis=1) & (_multiplicity(tuples) == 1).all(axis=1)[candidates.tuple_id]
    kept = Candidates(*(column[holds] for column in candidates))
    return Checked(kept, mapping[holds], ~unique[holds])


def joined(pieces: list[Checked]) -> Checked:
    """Return what several checks of the same tables found."""
    if len(pieces) == 1:
        return pieces[0]
    candidates = Candidates(*(np.concatenate(columns) for columns in zip(*(p.candidates for p in pieces), strict=True)))
    return Checked(
        candidates, np.concatenate([p.mapping for p in pieces]), np.concatenate([p.ambiguous for p in pieces])
    )


def score(checked: Checked, fetch: Callable[[Ids], RowCells], tuples: Ids, initial: int) -> list[TableScore]:
    """Return the joinability of every table that has a candidate that holds; `fetch` gives rows again if needed."""
    candidates, mapping = checked.candidates, checked.mapping
    if not checked.ambiguous.any():
        return list(_best_mappings(candidates, mapping))
    rest = _select(candidates, checked.ambiguous)
    # A row that fits several mappings counts for each of them.
    owner, mappings, wild = _expand(rest, fetch(np.unique(rest.row_id)), tuples, initial)
    plain = _select(candidates, ~checked.ambiguous)
    everything = Candidates(*map(np.concatenate, zip(plain, _select(rest, owner), strict=True)))
    mapping = np.concatenate([mapping[~checked.ambiguous], mappings])
    scores = list(_best_mappings(*_outside(everything, mapping, wild)))
    if len(wild):
        chosen = _select(candidates, np.isin(candidates.table_id, wild))
        match = _matches(chosen, fetch(np.unique(chosen.row_id)), tuples, initial)
        scores += (_search(chosen, match, np.flatnonzero(chosen.table_id == t), tuples.shape[1]) for t in wild)
    return scores


def _outside(candidates: Candidates, mapping: Ids, tables: Ids) -> tuple[Candidates, Ids]:
    """Return what is not in these tables."""
    if not len(tables):
        return candidates, mapping
    kept = ~np.isin(candidates.table_id, tables)
    return _select(candidates, kept), mapping[kept]


def _expand(candidates: Candidates, cells: RowCells, tuples: Ids, initial: int) -> tuple[Ids, Ids, Ids]:
    """Return every injective mapping of every candidate, and the tables that have too many of them, left out here."""
    if len(candidates.row_id) * tuples.shape[1] >= _SMALL:
        from mate.search.joinability_kernel import expand

        row = np.searchsorted(cells.row_id, candidates.row_id)
        owner, mappings, too_many = expand(candidates, cells, row, tuples, initial, MOST_OPTIONS)
    else:
        match = _matches(candidates, cells, tuples, initial)
        options = _options(match, len(candidates.row_id), tuples.shape[1])
        too_many = options.prod(axis=1) > MOST_OPTIONS
        owner, mappings = _enumerate(match, options, ~too_many)
    wild = np.unique(candidates.table_id[too_many])
    if len(wild):
        kept = ~np.isin(candidates.table_id[owner], wild)
        owner, mappings = owner[kept], mappings[kept]
    return owner, mappings, wild


def _options(match: _Match, count: int, width: int) -> npt.NDArray[np.float64]:
    """Return in how many columns each value of each candidate was found."""
    found = np.bincount(match.candidate * width + match.key, minlength=count * width)
    return found.reshape(count, width).astype(np.float64)


def _enumerate(match: _Match, options: npt.NDArray[np.float64], chosen: Mask) -> tuple[Ids, Ids]:
    """Return every injective mapping of the chosen candidates: owners, and one row of columns each."""
    width = options.shape[1]
    order = np.lexsort((match.column, match.key, match.candidate))
    column = match.column[order]
    counts = options.astype(np.int64)
    first = np.concatenate([[0], np.cumsum(counts.ravel())[:-1]]).reshape(counts.shape)
    owner = np.flatnonzero(chosen)
    mappings = np.empty((len(owner), 0), np.int64)
    for key in range(width):
        repeats = counts[owner, key]
        ends = np.cumsum(repeats)
        place = np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - repeats, repeats)
        following = column[np.repeat(first[owner, key], repeats) + place]
        mappings = np.column_stack([np.repeat(mappings, repeats, axis=0), following])
        owner = np.repeat(owner, repeats)
        apart = (mappings[:, :key] != following[:, None]).all(axis=1)
        owner, mappings = owner[apart], mappings[apart]
    return owner, mappings


def _select(candidates: Candidates, chosen: Mask | Ids) -> Candidates:
    return Candidates(*(column[chosen] for column in candidates))


def _multiplicity(tuples: Ids) -> Ids:
    """Return how often each value of a tuple stands in that tuple."""
    counts: Ids = (tuples[:, :, None] == tuples[:, None, :]).sum(axis=2)
    return counts


def _find_numpy(candidates: Candidates, cells: RowCells, row: Ids, tuples: Ids, initial: int) -> tuple[Ids, Ids]:
    """Return in how many columns each value was found (the initial one: in its own), and the last of them."""
    width = tuples.shape[1]
    match = _matches(candidates, cells, tuples, initial, row)
    place = match.candidate * width + match.key
    found = np.bincount(place, minlength=len(row) * width).reshape(-1, width)
    mapping = np.full(len(row) * width, -1)
    mapping[place] = match.column
    return found, mapping.reshape(-1, width)


def _matches(candidates: Candidates, cells: RowCells, tuples: Ids, initial: int, row: Ids | None = None) -> _Match:
    """Compare every cell of a candidate's row with every value of its tuple."""
    if row is None:
        row = np.searchsorted(cells.row_id, candidates.row_id)
    sizes = (cells.offsets[1:] - cells.offsets[:-1])[row]
    owner = np.repeat(np.arange(len(row)), sizes)
    ends = np.cumsum(sizes)
    place = np.arange(len(owner)) + np.repeat(cells.offsets[row] - (ends - sizes), sizes)
    token, column = cells.token_id[place], cells.column_id[place]
    elsewhere = column != candidates.column_id[owner]
    parts = [(np.arange(len(row)), initial, candidates.column_id)]
    for key in range(tuples.shape[1]):
        if key != initial:
            hit = np.flatnonzero((token == tuples[candidates.tuple_id, key][owner]) & elsewhere)
            parts.append((owner[hit], key, column[hit]))
    return _Match(
        np.concatenate([owners for owners, _, _ in parts]),
        np.concatenate([np.full(len(owners), key) for owners, key, _ in parts]),
        np.concatenate([columns for _, _, columns in parts]),
    )


def _best_mappings(candidates: Candidates, mapping: Ids) -> Iterator[TableScore]:
    """Count distinct tuples by table and mapping, and return the best mapping of each table."""
    if not len(mapping):
        return
    group, mappings = _groups(candidates.table_id, mapping)
    tuples = int(candidates.tuple_id.max()) + 1
    distinct = np.unique(group * tuples + candidates.tuple_id) // tuples
    starts = np.flatnonzero(np.concatenate([[True], distinct[1:] != distinct[:-1]]))
    groups, counts = distinct[starts], np.diff(np.append(starts, len(distinct)))
    # Groups are numbered in the order of table and column list: the first of the highest count is the smallest list.
    table_of = groups // mappings
    ranking = np.lexsort((groups, -counts, table_of))
    first = np.concatenate([[True], np.diff(table_of[ranking]) != 0])
    winner, height = groups[ranking[first]], counts[ranking[first]]
    members = np.flatnonzero(np.isin(group, winner))
    members = members[np.argsort(group[members], kind="stable")]
    bounds = np.searchsorted(group[members], np.append(winner, winner[-1] + 1))
    for number, (start, stop) in enumerate(pairwise(bounds.tolist())):
        chosen = members[start:stop]
        table, columns = int(candidates.table_id[chosen[0]]), tuple(mapping[chosen[0]].tolist())
        yield TableScore(table, int(height[number]), columns, partial(_matches_of, candidates, chosen))


def _matches_of(candidates: Candidates, chosen: Ids) -> Matches:
    return Matches(candidates.tuple_id[chosen], candidates.row_id[chosen])


def _groups(table_id: Ids, mapping: Ids) -> tuple[Ids, int]:
    """Number the pairs of table and column list in their order: table by table, so many numbers for each."""
    table = np.unique(table_id, return_inverse=True)[1]
    columns = int(mapping.max()) + 1
    code, codes = np.zeros(len(mapping), np.int64), 1
    for column in mapping.T:
        code, codes = code * columns + column, codes * columns
        if codes > _MOST_CODES:
            found, code = np.unique(code, return_inverse=True)
            codes = len(found)
    return table * codes + code, codes


def _search(candidates: Candidates, match: _Match, chosen: Ids, width: int) -> TableScore:
    """Find the best mapping of one table by branch and bound.

    First the highest value, going for the most promising columns; then the smallest column list that attains it.
    """
    local = np.full(len(candidates.tuple_id), -1)
    local[chosen] = np.arange(len(chosen))
    inside = local[match.candidate] >= 0
    owner, key, column = local[match.candidate[inside]], match.key[inside], match.column[inside]
    fits: list[dict[int, Mask]] = []
    for k in range(width):
        fits.append({})
        for c in np.unique(column[key == k]).tolist():
            fits[k][c] = np.zeros(len(chosen), np.bool_)
            fits[k][c][owner[(key == k) & (column == c)]] = True
    tuple_id = candidates.tuple_id[chosen]
    alive = np.ones(len(chosen), np.bool_)
    highest = _highest(fits, tuple_id, alive, (), 0)
    mapping = _smallest(fits, tuple_id, alive, (), highest)
    for k, c in enumerate(mapping):
        alive = alive & fits[k][c]
    members = chosen[alive]
    table = int(candidates.table_id[members[0]])
    return TableScore(table, highest, mapping, partial(_matches_of, candidates, members))


def _branches(
    fits: list[dict[int, Mask]], tuple_id: Ids, alive: Mask, taken: tuple[int, ...]
) -> Iterator[tuple[int, int, Mask]]:
    """Yield the next key column's choices: most tuples that may still join, table column, candidates that remain."""
    for column, mask in fits[len(taken)].items():
        left = alive & mask
        if column not in taken and left.any():
            yield len(np.unique(tuple_id[left])), column, left


def _highest(fits: list[dict[int, Mask]], tuple_id: Ids, alive: Mask, taken: tuple[int, ...], best: int) -> int:
    """Return the most distinct tuples that any mapping joins, if more than `best`."""
    if len(taken) == len(fits):
        return max(best, len(np.unique(tuple_id[alive])))
    for bound, column, left in sorted(_branches(fits, tuple_id, alive, taken), key=lambda branch: -branch[0]):
        if bound <= best:
            break
        best = _highest(fits, tuple_id, left, (*taken, column), best)
    return best


def _smallest(
    fits: list[dict[int, Mask]], tuple_id: Ids, alive: Mask, taken: tuple[int, ...], goal: int
) -> tuple[int, ...]:
    """Return the lexicographically smallest mapping that joins `goal` tuples, () if there is none below here."""
    if len(taken) == len(fits):
        return taken
    for bound, column, left in sorted(_branches(fits, tuple_id, alive, taken), key=lambda branch: branch[1]):
        if bound >= goal:
            found = _smallest(fits, tuple_id, left, (*taken, column), goal)
            if found:
                return found
    return ()
