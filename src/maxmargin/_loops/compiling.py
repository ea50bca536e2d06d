"""The one way in which a function becomes a compiled loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Function = TypeVar("Function", bound=Callable[..., Any])


def loop(function: Function) -> Function:
    """Compile `function` on first use, release the GIL while it runs, and keep the code on disk.

    Where no cache directory can be written (a read-only installation) Numba refuses to decorate at all; the loop
    then compiles in every process instead.
    """
    return _compiled(function, nogil=True)


# Reassociation lets the sums of a search loop use vector instructions; NaN and infinity keep their meaning.
# Never for a number that a certificate reports.
FAST = {"reassoc", "contract", "nsz"}


def fast_loop(function: Function) -> Function:
    """Like `loop`, but sums may be reordered and division by zero gives infinity: to search, not to certify."""
    return _compiled(function, nogil=True, fastmath=FAST, error_model="numpy")


def _compiled(function: Function, **options: Any) -> Function:
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(Function, numba.njit(**options)(function))
