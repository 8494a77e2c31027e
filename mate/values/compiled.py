"""When a compiled kernel is worth its start: loading the compiler takes about half a second."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

COMPILING = 100
"""How many times longer than loading the compiler it takes to compile the loops of a search, once on a machine."""

TINY = 0.02
"""Share of the time to load the compiler; what takes less alone does not load it for what was done before."""

MANY = 10
"""How many times as much must have been done for tiny work to load the compiler: somebody does much of it."""


class Interpreted:
    """Work that this process did without the compiler: 1 is as much as loading it takes."""

    def __init__(self) -> None:
        self.starts = 0.0


SPENT = Interpreted()


def is_loaded() -> bool:
    """Tell whether the compiler is loaded."""
    return "numba" in sys.modules


def is_ready() -> bool:
    """Tell whether the compiler is loaded and has compiled the loops of a search: then it is used for everything."""
    return is_loaded() and has_compiled()


def is_worth(count: int, small: int) -> bool:
    """Tell whether to use the kernel for so many values, `small` of which take as long as loading the compiler.

    It is for as many, if the compiler is ready anyway, or if many calls have come to as many: a process that works on
    loads the compiler sooner or later, one that ends soon never does. Where nothing was compiled yet, small calls must
    come to much more: nobody waits a minute for the compiler in the middle of small searches. Nor does anybody wait
    for it at the end of one: what is tiny, such as evidence for an answer, rarely loads it.
    """
    work = count / small
    enough = (1 if has_compiled() else COMPILING) * (MANY if work < TINY else 1)
    if is_ready() or work >= 1 or SPENT.starts >= enough:
        return True
    SPENT.starts += work
    return False


def has_compiled() -> bool:
    """Tell whether the loops of a search were compiled: by this process, or before, and kept beside their source."""
    loops = sys.modules.get("mate.search.column_first_kernel")
    return bool(getattr(getattr(loops, "cover", None), "signatures", ())) or _was_kept()


@cache
def _was_kept() -> bool:
    return any((Path(__file__).parents[1] / "search" / "__pycache__").glob("column_first_kernel.*.nbc"))
