"""SCR, single-column retrieval: Algorithm 1 with every optimisation but the super key.

Every posting of the initial column is paired with the key tuples that share its value, and every pair is compared
with the row itself.
"""

from __future__ import annotations

from mate.search.algorithm_1 import algorithm_1
from mate.search.systems import System

SYSTEM = System("scr", algorithm_1, filters_rows=False)
