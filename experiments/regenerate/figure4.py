"""Figure 4: runtime of MATE, SCR, MCR and the two adaptations of JOSIE.

All search the same arrays, with the paper's choice of the initial column (least cardinality) and the paper's table
filters. MATE, Algorithm 1, comes with each reading of XASH (`experiments.hashes`); with a semi-join, which drops key
tuples with a value that the lake does not have; and with tight bounds, that is a semi-join, the initial column by pairs
and tables bounded by their candidates. SCR JOSIE bounds tables by key tuples, too, not by postings as MATE and SCR do
in the paper: these two come with a tight bound alone as well, to show what is due to it. Beside them stands
column-first search, which this library uses unless told otherwise. MCR JOSIE may miss tables by design, so its answers
are not compared; its recall can be computed.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment
from experiments.hashes import READINGS

GROUP = "systems"
MATE = Method("mate", "xash", 128)
SEMI_JOIN = Method("mate", "xash", 128, "semi-join", semi_join=True)
TUNED = Method("mate", "xash", 128, "tight bounds", initial_column="pairs", tight_bound=True, semi_join=True)
BOUNDED = Method("mate", "xash", 128, "tight bound alone", tight_bound=True)
BOUNDED_SCR = Method("scr", variant="tight bound alone", tight_bound=True)
"""The peers of SCR JOSIE: with a bound as tight, and the same initial column."""
COLUMN_FIRST = Method("column-first")

EXPERIMENT = SearchExperiment(
    name="figure4",
    regenerates="Figure 4",
    what="runtime of MATE, column-first search, SCR, MCR, SCR JOSIE, MCR JOSIE",
    group=GROUP,
    methods=(
        MATE,
        *(Method("mate", name, 128) for name in READINGS[1:]),
        SEMI_JOIN,
        TUNED,
        BOUNDED,
        BOUNDED_SCR,
        COLUMN_FIRST,
        Method("scr"),
        Method("mcr"),
        Method("scr-josie"),
        Method("mcr-josie", exact=False),
    ),
)
