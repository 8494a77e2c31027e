"""Figure 4: runtime of MATE, SCR, MCR and the two adaptations of JOSIE.

All search the same arrays, with the paper's choice of the initial column (least cardinality) and the paper's table
filters. MATE, Algorithm 1, comes three times: with the alpha that equation 5 gives for the lake, with the paper's
alpha, and with tight bounds, the initial column by pairs and tables bounded by their candidates. Beside them stands
column-first search, which this library uses unless told otherwise. MCR JOSIE may miss tables by design, so its answers
are not compared; its recall can be computed.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment

GROUP = "systems"
MATE = Method("mate", "xash", 128)
TUNED = Method("mate", "xash", 128, "tight bounds", initial_column="pairs", tight_bound=True)
COLUMN_FIRST = Method("column-first")

EXPERIMENT = SearchExperiment(
    name="figure4",
    regenerates="Figure 4",
    what="runtime of MATE, column-first search, SCR, MCR, SCR JOSIE, MCR JOSIE",
    group=GROUP,
    methods=(
        MATE,
        Method("mate", "xash-paper", 128),
        TUNED,
        COLUMN_FIRST,
        Method("scr"),
        Method("mcr"),
        Method("scr-josie"),
        Method("mcr-josie", exact=False),
    ),
)
