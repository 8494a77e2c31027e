"""Precision without the query's own table.

Queries are tables of the lake, and neither the paper's text nor its code leaves a query's own table out. All of its
rows join, so that they raise every precision; here it is left out, beside table 3, where it is not.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment
from experiments.hashes import READINGS

METHODS = (("scr", ""), *(("mate", name) for name in (*READINGS, "bf", "bf-fair-released")))

EXPERIMENT = SearchExperiment(
    name="own-table",
    regenerates="Table 3, the query's own table left out",
    what="precision without the query's own table",
    group="own-table",
    methods=tuple(Method(system, name, 128 if name else 0, own_table=False) for system, name in METHODS),
    timed=False,
)
