"""Table 2: runtime of MATE by hash function and size, and of SCR, which has none.

All of them search one index that carries the super keys of every hash function, so that conditions are the same.
Beside the paper's Bloom filter stands the fair one, which sets as many bits per value as XASH.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment
from experiments.hashes import compared

GROUP = "hashes"
METHODS = (Method("scr"), *(Method("mate", name, bits) for name, bits in compared()))

EXPERIMENT = SearchExperiment(
    name="table2",
    regenerates="Table 2",
    what="runtime by hash function and size",
    group=GROUP,
    methods=METHODS,
)
