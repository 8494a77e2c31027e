"""`mate hashes` and `mate hash`: which hash functions there are, and what one makes of some values."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mate.cli import Commands
    from mate.hashing import SuperKeyHash

EPILOG = """\
examples:
  mate hash muhammad lee us                 three values and the super key of a row that holds them
  mate hash --hash bf --set hashes=6 "new york"
  mate hash --bits 512 --alpha 4 "new york"
"""


def add(commands: Commands) -> None:
    """Declare both commands."""
    listing = commands.add_parser("hashes", help="list the hash functions that can build super keys")
    listing.set_defaults(run=run_list)

    show = commands.add_parser(
        "hash",
        help="show the bits that a hash function sets for some values",
        description="Show the bits that a hash function sets for each value, and their OR: the super key of a row\n"
        "that holds them. Bits are numbered from the left, from 1, as in the paper's figures.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    show.add_argument("values", nargs="+", metavar="VALUE", help="cell values; they are normalised to tokens first")
    show.add_argument("--hash", default="xash", metavar="NAME", help="hash function (default: xash)")
    show.add_argument("--bits", type=int, default=128, help="size of the key (default: 128)")
    show.add_argument("--alpha", type=int, help="XASH: 1-bits a value (default: 6, the paper's)")
    show.add_argument(
        "--set", action="append", default=[], metavar="NAME=N", help="any other parameter, such as hashes=6"
    )
    show.set_defaults(run=run_show)


def run_list(_: argparse.Namespace) -> int:
    """Print a table of the known hash functions."""
    from mate.cli.terminal import console, table
    from mate.errors import MateError
    from mate.hashing import available, find

    rows = []
    for name in available():
        try:
            cls = find(name)
        except MateError as error:
            rows.append((name, "", str(error)))
            continue
        rows.append((name, ", ".join(map(str, cls.sizes)), (cls.__doc__ or "").strip().splitlines()[0]))
    console().print(table(("name", "bits", "what it is"), rows))
    return 0


def run_show(options: argparse.Namespace) -> int:
    """Print the bits of each value and of their super key."""
    import numpy as np

    from mate.cli.terminal import console, table
    from mate.hashing import or_aggregate
    from mate.values.text import tokens

    function = _function(options)
    cells = tokens(options.values)
    keys = function.hash(cells)
    rows = [
        (str(cell) if cell.is_valid else "(no value)", _bits(key), _hex(key))
        for cell, key in zip(cells, keys.tolist(), strict=True)
    ]
    row = or_aggregate(keys, np.array([0, len(keys)]))[0].tolist()
    rows.append(("super key", _bits(row), _hex(row)))
    console().print(table(("token", "bits set", "key"), rows, title=repr(function)))
    return 0


def _function(options: argparse.Namespace) -> SuperKeyHash:
    from mate.errors import HashError
    from mate.hashing import get

    parameters: dict[str, int] = {} if options.alpha is None else {"alpha": options.alpha}
    for setting in options.set:
        name, _, value = setting.partition("=")
        if not name or not value.lstrip("-").isdigit():
            raise HashError(f"--set takes NAME=N with a whole number, not {setting!r}")
        parameters[name] = int(value)
    return get(options.hash, options.bits, **parameters)


def _bits(words: list[int]) -> str:
    array = "".join(f"{word:064b}" for word in words)
    places = [str(place) for place, bit in enumerate(array, start=1) if bit == "1"]
    return " ".join(places) if len(places) <= 24 else f"{' '.join(places[:24])} … ({len(places)} bits)"


def _hex(words: list[int]) -> str:
    return "".join(f"{word:016x}" for word in words)
