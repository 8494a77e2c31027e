"""Why the paper's Bloom filter is so weak: plausible mistakes, each as a method, beside the paper's table 3."""

from experiments.bloom_mistakes import MISTAKES
from experiments.definitions import Method
from experiments.experiment import SearchExperiment
from experiments.hashes import PAPERS_H
from experiments.query_mistakes import QUERY_MISTAKES

EXPERIMENT = SearchExperiment(
    name="bloom-mistakes",
    regenerates="Table 3, Bloom filter",
    what="precision of Bloom filters with plausible mistakes",
    group="bloom-mistakes",
    methods=(
        Method("mate", "bf", 128),
        Method("mate", "ht", 128),
        *(Method("mate", name, 128) for name in PAPERS_H),
        *(Method("mate", name, 128) for name in MISTAKES),
        *(Method(system, "bf", 128, mistake) for system, mistake in QUERY_MISTAKES.items()),
    ),
    timed=False,
)
