"""Figure 5: what each part of XASH adds to its precision, at 128 and 512 bits.

SCI in the figure is SCR, the search without a row filter; the ideal system has precision 1 by definition. The parts
are tried with the paper's alpha, and so is XASH itself (``xash-paper``); the other readings of XASH stand beside, and
XASH by the characters that are rarest in a corpus, which tests the lemma on rare characters.
"""

from experiments.definitions import Method
from experiments.experiment import SearchExperiment, hundred
from experiments.hashes import READINGS, components

EXPERIMENT = SearchExperiment(
    name="figure5",
    regenerates="Figure 5",
    what="precision by component of XASH",
    group="components",
    methods=(
        Method("scr"),
        *(Method("mate", name, bits) for name, bits in components()),
        *(Method("mate", name, bits) for name in READINGS for bits in (128, 512)),
    ),
    choose=hundred,
    timed=False,
)
