"""`python -m benchmarks covers`: masking many pairs of super keys against reading the same bytes once."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.timing import best_of
from mate.cli.terminal import console, table
from mate.hashing import covers

if TYPE_CHECKING:
    from mate.cli import Commands


def add(commands: Commands) -> None:
    """Declare the benchmark."""
    parser = commands.add_parser("covers", help="masking of super keys against a plain read", description=__doc__)
    parser.add_argument("--pairs", type=int, default=10_000_000, help="pairs of keys (default: 10,000,000)")
    parser.add_argument("--bits", type=int, default=128, choices=(64, 128, 256, 512), help="size (default: 128)")
    parser.add_argument("--rounds", type=int, default=5, help="the best of so many (default: 5)")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:
    """Time both and print the ratio."""
    random = np.random.default_rng(1)
    shape = (options.pairs, options.bits // 64)
    rows = random.integers(0, 2**64, shape, np.uint64)
    query = random.integers(0, 2**64, shape, np.uint64) & rows
    query[::2, 0] |= np.uint64(1)
    seconds = best_of(
        {
            "numpy read (sum of all words of both)": lambda: (query.ravel().sum(), rows.ravel().sum()),
            "mate covers": lambda: covers(query, rows),
            "numpy masking ((query & ~rows) == 0).all(1)": lambda: ((query & ~rows) == 0).all(axis=1),
        },
        options.rounds,
    )
    read = next(iter(seconds.values()))
    body = [
        (name, f"{s * 1e3:.1f}", f"{options.pairs / s / 1e6:.0f}", f"{s / read:.2f}") for name, s in seconds.items()
    ]
    title = f"{options.pairs:,} pairs of {options.bits}-bit keys, best of {options.rounds}"
    console().print(table(("what", "ms", "M pairs/s", "times a read"), body, title=title))
