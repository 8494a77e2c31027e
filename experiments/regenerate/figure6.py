"""Figure 6: runtime and precision for keys of 2 to 10 columns.

Tables with ten columns that vary are drawn from the lake; the key is extended column by column in the order of the
table. The paper had one such table.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment, key_sizes
from experiments.hashes import FAIR, READINGS

HASH_FUNCTIONS = (*READINGS, "bf", *FAIR, "ht")

EXPERIMENT = SearchExperiment(
    name="figure6",
    regenerates="Figure 6",
    what="runtime and precision by key size",
    group="key-size",
    methods=(Method("scr"), *(Method("mate", name, 128) for name in HASH_FUNCTIONS)),
    choose=key_sizes,
)
