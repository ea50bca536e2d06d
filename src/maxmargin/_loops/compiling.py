"""The one way in which a function becomes a compiled loop."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
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


def elementwise_loop(function: Function) -> Function:
    """Like `loop`, for values that do not depend on each other and are never NaN: min and max become one instruction.

    The order of operations is kept, so that certificates may be computed from the values.
    """
    return _compiled(function, nogil=True, fastmath={"contract", "nnan", "nsz"}, error_model="numpy")


def search_loop(function: Function) -> Function:
    """Like `fast_loop`, where no number is ever NaN, so that the smallest and largest are found by vectors."""
    return _compiled(function, nogil=True, fastmath=FAST | {"nnan"}, error_model="numpy")


def _compiled(function: Function, **options: Any) -> Function:
    config: Any = numba.config
    given = config.CACHE_DIR
    config.CACHE_DIR = str(_cache_directory(given))  # Numba asks for it when it decorates
    try:
        return cast(Function, numba.njit(cache=True, **options)(function))
    except RuntimeError:
        return cast(Function, numba.njit(**options)(function))
    finally:
        config.CACHE_DIR = given


@cache
def _cache_directory(given: str) -> Path:
    """Where compiled code is kept: in a directory named after the source of all loops.

    Numba looks whether the file of a loop has changed, but not those of the loops that it calls, and it cannot read a
    directory that names a record which is no longer there. So code of another version is never looked at.
    """
    home = Path(__file__).parent
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(home.rglob("*.py")))).hexdigest()[:16]
    beside = home / "__pycache__"
    is_ours = beside.is_dir() and os.access(beside, os.W_OK)
    base = Path(given) if given else beside if is_ours else Path.home() / ".cache" / "maxmargin"
    return base / f"loops-{digest}"
