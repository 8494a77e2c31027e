"""How loops are compiled: those that Python calls, and those that only other loops call."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}

kernel: Any = numba.njit(cache=True, nogil=True)
"""Compiles a loop that Python calls; its machine code is kept on disk, with that of the loops that it calls."""

inner: Any = numba.njit(**_INNER)
"""Compiles a loop that only other loops call, without what Python would need to call it: that takes long to compile."""


@intrinsic
def prefetch(typing, array, place):  # type: ignore[no-untyped-def]
    """Ask for what an array has at a place, and go on before it has come from memory. Any place will do."""

    def generate(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), ir.IntType(8).as_pointer())
        number = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [address.type, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [address.type], kind)
        builder.call(ask, [address, number(0), number(3), number(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(array, types.int64), generate
