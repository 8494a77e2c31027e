"""Top-k (section 7.5.1): precision for k from 2 to 20, by hash function, on the set with under 100 key tuples."""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment, hundred
from experiments.hashes import FIXED, SIZED

EXPERIMENT = SearchExperiment(
    name="top-k",
    regenerates="Section 7.5.1",
    what="precision for k from 2 to 20",
    group="top-k",
    methods=tuple(Method("mate", name, 128) for name in (*FIXED, *SIZED)),
    choose=hundred,
    several_k=True,
    timed=False,
)
