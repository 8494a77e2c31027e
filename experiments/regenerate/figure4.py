"""Figure 4: runtime of MATE, SCR, MCR and the two adaptations of JOSIE.

All search the same index, with the paper's choice of the initial column (least cardinality) and the paper's table
filters. MATE comes three times: with the alpha that equation 5 gives for the lake, with the paper's alpha, and as this
library ships it, initial column by pairs and tables bounded by their candidates. MCR JOSIE may miss tables by design,
so its answers are not compared; its recall can be computed.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment
from experiments.lakes import MAIN

GROUP = "systems"
MATE = Method("mate", "xash", 128)
TUNED = Method("mate", "xash", 128, "library defaults", initial_column="pairs", tight_bound=True)

EXPERIMENT = SearchExperiment(
    name="figure4",
    regenerates="Figure 4",
    what="runtime of MATE, SCR, MCR, SCR JOSIE, MCR JOSIE",
    group=GROUP,
    index=MAIN,
    methods=(
        MATE,
        Method("mate", "xash-paper", 128),
        TUNED,
        Method("scr"),
        Method("mcr"),
        Method("scr-josie"),
        Method("mcr-josie", exact=False),
    ),
)
