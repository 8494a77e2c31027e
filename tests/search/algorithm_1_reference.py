"""Algorithm 1 in plain Python: what its native loops are compared with, count by count."""

from __future__ import annotations

from collections import Counter
from functools import cache
from itertools import groupby
from typing import NamedTuple

import numpy as np

from mate.lake.arrays import Array
from mate.lake.base import Ids
from mate.lake.columns import column_codes, column_dictionary, ranges
from mate.lake.layout import WIDE_ROWS, SegmentArrays
from mate.search.algorithm_1 import Task
from mate.search.algorithm_1.candidates import Groups
from mate.search.best import Best
from tests.keys import unpacked
from tests.search import oracle


class Candidate(NamedTuple):
    """A posting paired with a key tuple whose initial value it has, and whose key its row covers."""

    row: int
    column: int
    key_tuple: int


class Option(NamedTuple):
    """A column of a table, counted within it, that holds a value; its codes, and the code of the value."""

    column: int
    codes: Array
    code: int


def group_plainly(arrays: SegmentArrays, value: Ids, wanted: Array) -> Groups:
    """Return the runs of values in the tables that are wanted."""
    first = arrays.entry_first
    entry, owner = ranges(first[value].astype(np.int64), first[value + 1].astype(np.int64))
    table = arrays.column_table[arrays.entry_column[entry]].astype(np.int64)
    kept = np.flatnonzero(wanted[table])
    order = kept[np.argsort(table[kept], kind="stable")]
    tables, first = np.unique(table[order], return_index=True)
    return Groups(tables, np.append(first, len(order)), entry[order], owner[order])


def scan_plainly(task: Task, order: Ids, best: Best, *_: object) -> Counter[str]:
    """Go through groups in this order and offer their tables; return what was counted."""
    tally: Counter[str] = Counter()
    for done, group in enumerate(order.tolist()):
        if task.filtering and task.bounds.limit[group] <= best.kth:
            tally["tables_cut_rule_1"] += len(order) - done
            break
        candidates, cut = filter_rows(task, group, best.kth, tally)
        tally["candidates"] += len(candidates)
        tally["tables_cut_rule_2" if cut else "tables_checked"] += 1
        if not cut:
            table = int(task.groups.table[group])
            joining, held = _verify(task, table, candidates)
            tally["rows_read"] += len({candidate[:2] for candidate in candidates})
            tally["true_positives"] += len(joining)
            tally["false_positives"] += len(candidates) - len(joining)
            tally["false_positives_held"] += held - len(joining)
            if joining:
                score, mapping = _score(task, table)
                best.offer(score, int(task.arrays.table_id[table]), mapping)
    return tally


def entry_rows(arrays: SegmentArrays, entry: int) -> Ids:
    """Return the rows of a directory entry, counted within its table."""
    table = int(arrays.column_table[arrays.entry_column[entry]])
    units = arrays.postings[int(arrays.posting_first[entry]) : int(arrays.posting_first[entry + 1])].astype(np.int64)
    if arrays.table_row_first[table + 1] - arrays.table_row_first[table] < WIDE_ROWS:
        return units
    return units[::2] + (units[1::2] << 16)


def filter_rows(task: Task, group: int, kth: int, tally: Counter[str]) -> tuple[list[Candidate], bool]:
    """Return the candidates of a table, and whether rule 2 cut it before all its postings were looked at."""
    found: list[Candidate] = []
    table = int(task.groups.table[group])
    first_column = int(task.arrays.table_column_first[table])
    runs = list(range(*task.groups.first[group : group + 2].tolist()))
    by_value = [list(same) for _, same in groupby(runs, lambda run: int(task.groups.value[run]))]
    unseen, matched = (_most(task, by_value) if task.tight else sum(_postings(task, run) for run in runs)), 0
    for same in by_value:
        first, last = task.probes.first[task.groups.value[same[0]] :][:2].tolist()
        met: set[int] = set()
        for run in same:
            entry = int(task.groups.entry[run])
            column = int(task.arrays.entry_column[entry]) - first_column
            for row in entry_rows(task.arrays, entry).tolist():
                paired = [Candidate(row, column, number) for number in range(first, last)]
                if task.filter.first_bits:
                    left = [covers(task, table, candidate, task.filter.first_bits) for candidate in paired]
                    tally["rows_compared"] += 1
                    tally["rows_cut_by_first_bits"] += not any(left)
                    tally["pairs_compared"] += len(left)
                    tally["pairs_cut_by_first_bits"] += left.count(False)
                covered = [candidate for candidate in paired if covers(task, table, candidate)]
                found += covered
                met.update(candidate.key_tuple for candidate in covered)
                if not task.tight:
                    unseen, matched = unseen - 1, matched + bool(len(covered))
                    if task.filtering and unseen + matched <= kth:
                        return found, True
        if task.tight:
            unseen, matched = unseen - _most(task, [same]), matched + len(met)
            if task.filtering and unseen + matched <= kth:
                return found, True
    return found, False


def covers(task: Task, table: int, candidate: Candidate, first_bits: int = 0) -> bool:
    """Tell whether a row's key does not rule a key tuple out, or so many bits of it."""
    keys = task.filter
    words = int(keys.words[table])
    row_at = int(keys.row_first[table]) + candidate.row * words
    row = keys.row_keys[row_at : row_at + words]
    if not keys.fingerprint:
        tuple_at = int(keys.tuple_first[table]) + candidate.key_tuple * words
        lacking = keys.tuple_keys[tuple_at : tuple_at + words] & ~row
        return not (int(lacking[0]) >> (64 - first_bits) if first_bits else np.any(lacking))
    columns = int(np.diff(task.arrays.table_column_first[table : table + 2])[0])
    listed = unpacked(row, columns, keys.fingerprint)
    listed[candidate.column] = -1
    width = task.probes.number.shape[1]
    asked = keys.tuple_keys[candidate.key_tuple * width : (candidate.key_tuple + 1) * width].tolist()
    del asked[task.probes.initial]
    return set(asked) <= set(listed)


def _most(task: Task, by_value: list[list[int]]) -> int:
    """Return how many key tuples may have a candidate in these runs: per value not more than it has postings."""
    total = 0
    for runs in by_value:
        first, last = task.probes.first[task.groups.value[runs[0]] :][:2].tolist()
        total += min(last - first, sum(_postings(task, run) for run in runs))
    return total


def _postings(task: Task, run: int) -> int:
    return len(entry_rows(task.arrays, int(task.groups.entry[run])))


def _verify(task: Task, table: int, candidates: list[Candidate]) -> tuple[list[Candidate], int]:
    """Return the candidates that join, and how many rows have all values of the key tuple, in whatever columns.

    Each value must be in as many columns, but the initial one, as the key tuple has it in others.
    """
    find = cache(lambda number: options(task.arrays, table, int(task.probes.token[number])))
    joining, held = [], 0
    for candidate in candidates:
        numbers = task.probes.number[candidate.key_tuple].tolist()
        here = {n: {o.column for o in find(n) if o.codes[candidate.row] == o.code} for n in numbers}
        others = Counter(numbers)
        others[numbers[task.probes.initial]] -= 1
        held += all(here.values())
        if all(len(here[number] - {candidate.column}) >= count for number, count in others.items()):
            joining.append(candidate)
    return joining, held


def options(arrays: SegmentArrays, table: int, token: int) -> list[Option]:
    """Return the columns of a table that hold a token; none for `NO_PLACE`."""
    if token < 0:
        return []
    first, last = arrays.table_column_first[table : table + 2].tolist()
    entries = arrays.entry_column[int(arrays.entry_first[token]) : int(arrays.entry_first[token + 1])]
    start, stop = np.searchsorted(entries, [first, last]).tolist()
    found = []
    for column in entries[start:stop].tolist():
        code = 1 + int(np.searchsorted(column_dictionary(arrays, column), token))
        found.append(Option(column - first, column_codes(arrays, column), code))
    return found


def _score(task: Task, table: int) -> tuple[int, tuple[int, ...]]:
    """Return the joinability of a table and the smallest mapping that has it, by brute force."""
    columns = range(*task.arrays.table_column_first[table : table + 2].tolist())
    places = [np.append(-1, column_dictionary(task.arrays, c))[column_codes(task.arrays, c)] for c in columns]
    rows = [[str(place) if place >= 0 else None for place in row] for row in zip(*places, strict=True)]
    tuples = {tuple(map(str, row)) for row in task.probes.token[task.probes.number].tolist()}
    return oracle.joinability(tuples, rows)
