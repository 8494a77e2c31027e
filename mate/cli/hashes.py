"""`mate hashes` lists the hash functions, `mate hash` shows what one does with some values."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import mate
from mate.cli import Commands
from mate.cli.terminal import show, table

MOST_SIZES = 7
"""A hash with more sizes than these has them by the width of the table."""

EPILOG = """\
examples:
  mate hash muhammad lee us                 three values and the super key of a row that holds them
  mate hash --hash bf:128:hashes=6 "new york"
  mate hash --hash xash:512:alpha=4 "new york"
  mate hash --hash fingerprint:16 muhammad lee us
"""


def add(commands: Commands) -> None:
    """Declare the commands."""
    parser = commands.add_parser("hashes", help="list the hash functions that can build super keys")
    parser.set_defaults(run=_run_hashes)

    parser = commands.add_parser(
        "hash",
        help="show the bits that a hash function sets for some values",
        description="Show the bits that a hash function sets for each value, and their OR: the super key of a row\n"
        "that holds them. Fingerprints are concatenated instead, in the order of the columns.\n"
        "Bits are numbered from the left, from 1, as in the paper's figures.",
        epilog=EPILOG,
    )
    parser.add_argument("values", nargs="+", metavar="VALUE", help="cell values; they are normalised to tokens first")
    text = "hash function (default: xash)"
    parser.add_argument("--hash", default="xash", metavar="NAME[:BITS[:PARAMETER=N]]", help=text)
    parser.set_defaults(run=_run_hash)


def _run_hashes(_: argparse.Namespace) -> int:
    rows = [(one.name, _sizes(one.bits), one.summary) for one in mate.hash_functions()]
    show(table(("name", "bits", "what it is"), rows))
    return 0


def _sizes(bits: Sequence[int]) -> str:
    """Return the sizes of a hash; one with many sizes depends on the width of the table: bits per column."""
    return ", ".join(map(str, bits)) if len(bits) <= MOST_SIZES else f"{bits[0]} to {bits[-1]} per column"


def _run_hash(options: argparse.Namespace) -> int:
    """Print the bits of each value and of their super key."""
    hashed = mate.hash_values(options.values, options.hash)
    names = ["(no value)" if token is None else token for token in hashed.tokens]
    if hashed.by_column:
        prints = [f"{key[0]:x}" for key in hashed.keys]
        rows = [*zip(names, prints, strict=True), ("super key", " ".join(prints))]
        show(table(("token", "fingerprint"), rows, title=hashed.function))
        return 0
    keys = [*zip(names, hashed.keys, strict=True), ("super key", hashed.super_key)]
    bits = [(name, _bits(key), "".join(f"{word:016x}" for word in key)) for name, key in keys]
    show(table(("token", "bits set", "key"), bits, title=hashed.function))
    return 0


def _bits(words: list[int]) -> str:
    bits = "".join(f"{word:064b}" for word in words)
    return " ".join(str(place) for place, bit in enumerate(bits, start=1) if bit == "1")
