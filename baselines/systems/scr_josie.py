"""SCR JOSIE: JOSIE finds the tables by the initial column, the ordinary index their rows, and every pair is compared.

JOSIE ranks columns by a single one of the query's. For an exact n-ary answer its rank must bound the joinability, and
plain overlap does not: key tuples may share a value, so that one matching value may stand for many joining tuples. So
each value of the initial column counts as often as there are key tuples with it. A mapping puts the initial column on
one column c of the table, and every tuple that joins under it has its initial value in c; hence

    joinability(table) <= max over its columns c of  sum over values v in both of  |{key tuples with v}|

which is the weighted overlap that JOSIE ranks columns by. All columns it did not return have no more of it than the
last one it did. So tables are taken from JOSIE, some columns at a time, until that is at most the k-th joinability.
"""

from __future__ import annotations

import numpy as np

from baselines.systems.column_sets import column_sets
from baselines.systems.josie import Options
from baselines.systems.josie import top_k as josie_top_k
from baselines.systems.josie_costs import costs_of
from mate.search.algorithm_1 import scan
from mate.search.algorithm_1.candidates import with_unknown
from mate.search.search import SegmentSearch
from mate.search.systems import System

FIRST_COLUMNS = 100
GROWTH = 4
"""Columns that JOSIE is asked for at first, and how many times more in every further round."""


def scr_josie(part: SegmentSearch) -> None:
    """Ask JOSIE for more and more columns until no table left can be among the k best."""
    part, search = with_unknown(part), part.search
    if not len(part.tuples):
        return
    with search.statistics.phase("calibrate"):
        sets = column_sets(part.segment)
        costs_of(sets)
    values, tuples = np.unique(part.tuples[:, search.initial], return_counts=True)
    open_tables = part.wanted_tables()
    columns, left = FIRST_COLUMNS, True
    while left:
        with search.statistics.phase("josie"):
            options = Options(weights=tuples, floor=part.floor, exclude=sets.in_tables(~open_tables))
            found = josie_top_k(sets, values, columns, options)
            tables = sets.tables(found.set_id)
            open_tables[tables] = False
        scan(part, only=tables)
        left = len(found.set_id) == columns and int(found.overlap[-1]) > part.floor
        columns *= GROWTH


SYSTEM = System("scr-josie", scr_josie, by_directory=True, filters_rows=False)
