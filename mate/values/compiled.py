"""When a compiled kernel is worth its start: loading the compiler takes about half a second."""

from __future__ import annotations

import sys


def is_worth(count: int, small: int) -> bool:
    """Tell whether to use the kernel for so many values: for many, or if the compiler is loaded anyway."""
    return count >= small or "numba" in sys.modules
