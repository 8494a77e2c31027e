"""Every claim of the paper that can be measured: what it says, its numbers, and the rule that decides."""

from __future__ import annotations

from collections.abc import Iterable

from experiments.reporting.claims import (
    bloom,
    components,
    examples,
    hashes,
    indexing,
    key_size,
    precision,
    sizes,
    systems,
    values,
)
from experiments.reporting.claims.claim import Claim, Judgement, about, judged
from experiments.reporting.results import Results

CLAIMS: tuple[Claim, ...] = (
    *systems.CLAIMS,
    *hashes.CLAIMS,
    *sizes.CLAIMS,
    *precision.CLAIMS,
    *bloom.CLAIMS,
    *components.CLAIMS,
    *key_size.CLAIMS,
    *indexing.CLAIMS,
    *values.CLAIMS,
    *examples.CLAIMS,
)
"""In the order of the report."""

__all__ = ["CLAIMS", "Claim", "Judgement", "verdicts"]


def verdicts(results: Results, names: Iterable[str] = ()) -> list[Judgement]:
    """Test all claims, or those that some experiments test, on every lake."""
    claims = about(CLAIMS, names) if (names := list(names)) else CLAIMS
    return [judgement for claim in claims for judgement in judged(claim, results)]
