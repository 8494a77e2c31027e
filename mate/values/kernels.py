"""How loops are compiled: those that Python calls, and those that only other loops call."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from enum import EnumMeta
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

_INNER: dict[str, Any] = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a loop that Python calls; its machine code is kept on disk, with that of the loops that it calls."""
    compiled: Any = numba.njit(nogil=True)(function)
    compiled._cache = KernelCache(function)  # type: ignore[no-untyped-call]
    return compiled


class KernelCache(FunctionCache):
    """Machine code on disk, known by all that went into it.

    numba itself looks at the file of the kernel only: a change of a loop in another file, or of a constant, would go
    unnoticed, and the old code go on giving its answers.
    """

    def _index_key(self, sig: Any, codegen: Any) -> tuple[Any, ...]:
        return (*super()._index_key(sig, codegen), self._fingerprint)  # type: ignore[no-untyped-call]

    @cached_property
    def _fingerprint(self) -> str:
        return hashlib.sha256("\n".join(_parts(self._py_func, set())).encode()).hexdigest()


def _parts(function: FunctionType, seen: set[FunctionType]) -> Iterator[str]:
    """Yield what the machine code of a function follows from: its own code, what it calls, and global constants."""
    seen.add(function)
    yield from _code(function.__code__, function.__doc__)
    for name in function.__code__.co_names:
        value = function.__globals__.get(name)
        called = getattr(value, "py_func", getattr(value, "__wrapped__", None))
        if isinstance(called, FunctionType):
            if called not in seen:
                yield from _parts(called, seen)
        elif isinstance(value, EnumMeta):
            yield f"{name} = {list(value)}"
        elif isinstance(value, type) and issubclass(value, tuple):
            yield f"{name} = {getattr(value, '_fields', ())}"
        elif isinstance(value, int | float | str | bytes | tuple | np.generic | np.dtype):
            yield f"{name} = {value!r}"


def _code(code: CodeType, doc: str | None = None) -> Iterator[str]:
    """Yield instructions, names and constants, but for the docstring."""
    yield f"{code.co_code.hex()} {code.co_names}"
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code(constant)
        elif constant != doc:
            yield repr(constant)


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
