"""The smaller and the larger of two numbers that are not NaN, as one instruction.

Python's min and max become a comparison and a choice, which the compiler does not recognise as a reduction; these do
become vector instructions when a loop keeps the smallest or largest of many.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]  # it comes with Numba
from numba.extending import intrinsic


def _of_two(name: str, context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = args[0].type
    function = builder.module.declare_intrinsic(name, [kind], fnty=ir.FunctionType(kind, [kind, kind]))
    return builder.call(function, args, fastmath=("nnan", "nsz"))


def _smaller(typing_context: Any, a: Any, b: Any) -> Any:
    """The smaller of two floats of the same type."""
    return a(a, b), lambda *rest: _of_two("llvm.minnum", *rest)


def _larger(typing_context: Any, a: Any, b: Any) -> Any:
    """The larger of two floats of the same type."""
    return a(a, b), lambda *rest: _of_two("llvm.maxnum", *rest)


smaller: Any = intrinsic(_smaller)
larger: Any = intrinsic(_larger)
