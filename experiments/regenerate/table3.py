"""Table 3: precision of the row filter by hash function and size, mean and standard deviation over queries.

The records are those of table 2: whichever of the two runs first makes them for both.
"""

from dataclasses import replace

from experiments.regenerate import table2

EXPERIMENT = replace(
    table2.EXPERIMENT, name="table3", regenerates="Table 3", what="precision by hash function and size"
)
