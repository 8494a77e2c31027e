"""`mate hashes` and `mate hash`: which hash functions there are, and what one makes of some values."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mate.cli import Commands

_MANY = 8
"""From so many sizes on, the first and the last are shown."""

EPILOG = """\
examples:
  mate hash muhammad lee us                 three values and the super key of a row that holds them
  mate hash --hash bf --set hashes=6 "new york"
  mate hash --bits 512 --alpha 4 "new york"
  mate hash --hash fingerprint:16 muhammad lee us
"""


def add(commands: Commands) -> None:
    """Declare both commands."""
    from mate.cli.options import whole

    listing = commands.add_parser("hashes", help="list the hash functions that can build super keys")
    listing.set_defaults(run=run_list)

    show = commands.add_parser(
        "hash",
        help="show the bits that a hash function sets for some values",
        description="Show the bits that a hash function sets for each value, and their OR: the super key of a row\n"
        "that holds them. Fingerprints stand one after another instead, in the order of the columns.\n"
        "Bits are numbered from the left, from 1, as in the paper's figures.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument("values", nargs="+", metavar="VALUE", help="cell values; they are normalised to tokens first")
    show.add_argument(
        "--hash", default="xash", metavar="NAME[:BITS[:PARAMETER=N]]", help="hash function (default: xash)"
    )
    show.add_argument("--bits", type=whole("--bits"), help="size of the key, where --hash has none (default: 128)")
    show.add_argument("--alpha", type=whole("--alpha", 0), help="XASH: 1-bits per value (default: 6, the paper's)")
    show.add_argument(
        "--set", action="append", default=[], metavar="NAME=N", help="any other parameter, such as hashes=6"
    )
    show.set_defaults(run=run_show)


def run_list(_: argparse.Namespace) -> int:
    """Print a table of the known hash functions."""
    import mate
    from mate.cli.terminal import show, table

    rows = [(one.name, _sizes(one.bits), one.summary) for one in mate.hash_functions()]
    show(table(("name", "bits", "what it is"), rows))
    return 0


def _sizes(bits: Sequence[int]) -> str:
    """Return sizes for people: those of a hash that follows the width of a table are bits per column."""
    return ", ".join(map(str, bits)) if len(bits) < _MANY else f"{bits[0]} to {bits[-1]} per column"


def run_show(options: argparse.Namespace) -> int:
    """Print the bits of each value and of their super key."""
    import mate
    from mate.cli.options import numbers
    from mate.cli.terminal import show, table

    parameters = {} if options.alpha is None else {"alpha": options.alpha}
    parameters |= numbers("--set", options.set)
    hashed = mate.hash_values(options.values, options.hash, options.bits, parameters)
    names = ["(no value)" if token is None else token for token in hashed.tokens]
    if hashed.by_column:
        prints = [f"{key[0]:x}" for key in hashed.keys]
        rows = [*zip(names, prints, strict=True), ("super key", " ".join(prints))]
        show(table(("token", "fingerprint"), rows, title=hashed.function))
        return 0
    keys = [*zip(names, hashed.keys, strict=True), ("super key", hashed.super_key)]
    shown = [(name, _bits(key), _hex(key)) for name, key in keys]
    show(table(("token", "bits set", "key"), shown, title=hashed.function))
    return 0


def _bits(words: list[int]) -> str:
    array = "".join(f"{word:064b}" for word in words)
    places = [str(place) for place, bit in enumerate(array, start=1) if bit == "1"]
    return " ".join(places) if len(places) <= 24 else f"{' '.join(places[:24])} … ({len(places)} bits)"


def _hex(words: list[int]) -> str:
    return "".join(f"{word:016x}" for word in words)
