"""How loops are compiled: those that Python calls, and those that only other loops call."""

from __future__ import annotations

from typing import Any

import numba

_INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

kernel: Any = numba.njit(cache=True, nogil=True)
"""Compiles a loop that Python calls; its machine code is kept on disk, with that of the loops that it calls."""

inner: Any = numba.njit(**_INNER)
"""Compiles a loop that only other loops call, without what Python would need to call it: that takes long to compile."""
