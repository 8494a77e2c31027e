"""How much is measured: three scales, each a set of numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scale:
    """The numbers behind ``--scale``."""

    name: str
    tables: int
    """Tables of the synthetic lake."""
    queries: int
    """Queries of each set."""
    repetitions: int
    """Counted runs of each search, after one that is not counted."""
    key_tables: int
    """Tables of the key size experiment."""
    ks: tuple[int, ...]
    """The k of the top-k experiment."""
    tokens: int
    """Tokens whose hashes are compared in the collision analysis."""
    spark: bool
    """Whether the index generation experiment builds on Spark; starting it takes 15 s."""
    what: str


SCALES = {
    scale.name: scale
    for scale in (
        Scale("smoke", 60, 3, 1, 1, (2, 10, 20), 5_000, False, "does everything run: about a minute"),
        Scale("small", 200, 12, 2, 3, (2, 5, 10, 15, 20), 50_000, True, "the embedded lakes: about 5 minutes"),
        Scale("full", 500, 50, 3, 4, tuple(range(2, 21, 2)), 200_000, True, "real corpora: about an hour"),
    )
}
