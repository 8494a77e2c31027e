"""MCR JOSIE: JOSIE on every key column, and the tables that it finds for all of them are evaluated.

A table that joins well on the whole key need not be among the best for each column alone, so that answers may be
missed: by design, as in the paper. Experiments and benchmarks say how many were found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from baselines.systems.column_sets import ColumnSets, column_sets
from baselines.systems.josie import Options
from baselines.systems.josie import top_k as josie_top_k
from baselines.systems.josie_costs import costs_of
from mate.lake.base import Ids, Index
from mate.lake.folder import require_folder
from mate.search.algorithm_1 import scan
from mate.search.algorithm_1.candidates import with_unknown
from mate.search.engine import answer
from mate.search.results import SearchResult
from mate.search.search import Search, SegmentSearch, prepare
from mate.search.settings import SearchSettings
from mate.search.systems import settings_with

if TYPE_CHECKING:
    from mate.search.search import AnyQuery


class Asked(NamedTuple):
    """How many columns of the lake JOSIE is asked for: the paper's k for the initial key column, and for the others."""

    initial: int = 500
    others: int = 10_000


def search(
    index: Index,
    query: AnyQuery,
    key: Sequence[str],
    k: int | None = None,
    settings: SearchSettings | None = None,
    asked: Asked | None = None,
) -> SearchResult:
    """Return up to k tables with a high joinability, of those that JOSIE finds for every key column."""
    lake = require_folder(index, "mcr-josie searches the directory of")
    prepared = prepare("mcr-josie", lake, query, key, settings_with(k, settings).unfiltered())
    with prepared.statistics.phase("prepare"):
        parts = [with_unknown(prepared.part(segment)) for segment in lake.segments]
        prepared.statistics.segments += len(parts)
    with prepared.statistics.phase("calibrate"):
        for part in parts:
            costs_of(column_sets(part.segment))
    with prepared.statistics.phase("josie"):
        tables = _tables(prepared, parts, asked or Asked())
    for part, only in zip(parts, tables, strict=True):
        if len(part.tuples) and len(only):
            scan(part, only=only)
    return answer(prepared)


def _tables(search: Search, parts: list[SegmentSearch], asked: Asked) -> list[Ids]:
    """Return, by segment, the tables that JOSIE finds for every key column."""
    found = []
    for column in range(len(search.key.columns)):
        wanted = asked.initial if column == search.initial else asked.others
        found.append(_columns(search, parts, column, wanted))
    return [reduce(np.intersect1d, by_column) for by_column in zip(*found, strict=True)]


class _Columns(NamedTuple):
    """Columns of the lake, best first, with their overlap."""

    overlap: Ids
    segment: Ids
    set_id: Ids


def _columns(search: Search, parts: list[SegmentSearch], column: int, wanted: int) -> list[Ids]:
    """Return the tables, by segment, of the columns of the lake that overlap the most with a key column."""
    best = _Columns(*(np.empty(0, np.int64) for _ in _Columns._fields))
    all_sets: list[ColumnSets] = []
    for number, part in enumerate(parts):
        sets = column_sets(part.segment)
        all_sets.append(sets)
        floor = int(best.overlap[-1]) if len(best.overlap) == wanted else 0
        options = Options(floor=floor, exclude=sets.in_tables(~part.wanted_tables()))
        found = josie_top_k(sets, _values(search, part, column), wanted, options)
        more = _Columns(found.overlap, np.full(len(found.set_id), number), found.set_id)
        best = _Columns(*(np.append(one, other) for one, other in zip(best, more, strict=True)))
        # Segments and sets ascend already among equals.
        order = np.argsort(-best.overlap, kind="stable")[:wanted]
        best = _Columns(*(array[order] for array in best))
    return [sets.tables(best.set_id[best.segment == number]) for number, sets in enumerate(all_sets)]


def _values(search: Search, part: SegmentSearch, column: int) -> Ids:
    """Return the values of a key column that a segment has, of the key tuples that the lake knows."""
    places = part.segment.places(search.ids, search.key.tokens)
    values: Ids = np.unique(places[search.key.place[search.known, column]])
    return values[values >= 0]
