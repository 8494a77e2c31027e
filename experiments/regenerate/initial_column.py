"""Initial column selection (section 7.5.4): posting list items that each strategy fetches.

The paper's five: least cardinality (MATE), column order, longest string, the worst possible and the best possible,
which needs to know the posting lists; they are ours as well, and a sixth is the default of this library's Algorithm 1,
which looks at pairs of postings and key tuples. The paper uses OD (10000); here every set is looked at. Only the
look-up is measured: how many items there are, and how many pairs.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment

STRATEGIES = {
    "cardinality": "minimum cardinality (MATE)",
    "order": "column order",
    "longest": "longest string (TLS)",
    "worst": "worst case",
    "postings": "best case (ground truth)",
    "pairs": "fewest pairs (library default)",
}
"""Names in `mate.search.query` to names in the paper."""

EXPERIMENT = SearchExperiment(
    name="initial-column",
    regenerates="Section 7.5.4",
    what="posting list items by initial column strategy",
    group="initial-column",
    methods=tuple(
        Method("mate", "xash", 128, variant=paper, initial_column=name) for name, paper in STRATEGIES.items()
    ),
    action="prepare",
    timed=False,
)
