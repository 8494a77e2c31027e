"""When a compiled kernel is worth its start: loading the compiler takes about half a second."""

from __future__ import annotations

import sys


class Interpreted:
    """Work that this process did without the compiler: 1 is as much as loading it takes."""

    def __init__(self) -> None:
        self.starts = 0.0


SPENT = Interpreted()


def is_loaded() -> bool:
    """Tell whether the compiler is loaded: then it is used for everything."""
    return "numba" in sys.modules


def is_worth(count: int, small: int) -> bool:
    """Tell whether to use the kernel for so many values, `small` of which take as long as loading the compiler.

    It is for as many, if the compiler is loaded anyway, or if many calls have come to as many: a process that works on
    loads the compiler sooner or later, one that ends soon never does.
    """
    if is_loaded() or count >= small or SPENT.starts >= 1:
        return True
    SPENT.starts += count / small
    return False
