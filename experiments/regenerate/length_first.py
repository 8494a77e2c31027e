"""Sections 5.3.3, 7.3, 7.4: what the length segment of XASH rejects alone, and whether comparing it first saves time.

By this short circuit the paper explains that XASH is faster than a Bloom filter "even in cases where precision rates
are similar". Each hash function is compared at once, as MATE does elsewhere, and in two steps
(`baselines.systems.length_first`). The same number of bits of a Bloom filter, which mean nothing, are the control.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment
from experiments.hashes import PAPERS_H, READINGS, described

SHORT = "length first"
HASH_FUNCTIONS = [(name, 128) for name in (*READINGS, *PAPERS_H, "bf-fair-released")]
HASH_FUNCTIONS += [(name, 512) for name in (*READINGS[1:], *PAPERS_H)]


def _first(name: str, bits: int) -> Method:
    variant = described(name)[1]
    return Method("mate-length-first", name, bits, f"{variant}, {SHORT}" if variant else SHORT)


EXPERIMENT = SearchExperiment(
    name="length-first",
    regenerates="Sections 5.3.3, 7.3, 7.4",
    what="what the length segment rejects alone",
    group="length-first",
    methods=tuple(
        method for name, bits in HASH_FUNCTIONS for method in (Method("mate", name, bits), _first(name, bits))
    ),
)
