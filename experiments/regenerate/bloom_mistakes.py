"""Why the paper's Bloom filter is so weak: plausible mistakes, each as a method, beside the paper's table 3."""

from experiments.bloom_mistakes import MISTAKES
from experiments.definitions import Method
from experiments.experiment import SearchExperiment

EXPERIMENT = SearchExperiment(
    name="bloom-mistakes",
    regenerates="Table 3, Bloom filter",
    what="precision of Bloom filters with plausible mistakes",
    group="bloom-mistakes",
    methods=(
        Method("mate", "bf", 128),
        Method("mate", "ht", 128),
        *(Method("mate", name, 128) for name in MISTAKES),
    ),
    timed=False,
)
