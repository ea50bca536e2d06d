"""Memory of large arrays that are used up and wanted again, by one solve after the other, or that go back.

The first write to new memory is slow: the system has to find it and wipe it, which can take ten times as long as to
compute what is written. Inside `reusing`, a thread that asks again for an array of the same name gets the same memory.
Whoever asks must be done with what it asked for before. When the block ends the memory is given back.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_ident

import numpy as np
from numpy.typing import NDArray

_kept: ContextVar[dict[tuple[int, str], NDArray[np.float32]] | None] = ContextVar("kept", default=None)


@contextmanager
def reusing() -> Iterator[None]:
    """Keep arrays for the next that asks, until the end of the block; inside another such block do nothing."""
    if _kept.get() is not None:
        yield
        return
    token = _kept.set({})
    try:
        yield
    finally:
        _kept.reset(token)


def scratch(name: str, size: int) -> NDArray[np.float32]:
    """`size` single-precision numbers of any value."""
    kept = _kept.get()
    if kept is None:
        return np.empty(size, dtype=np.float32)
    key = (get_ident(), name)
    if key not in kept or len(kept[key]) < size:
        kept.pop(key, None)  # given back before more is asked for
        kept[key] = np.empty(size, dtype=np.float32)
    return kept[key][:size]


def give_back_memory() -> None:
    """Return free pages of the heap, where the C library is one that keeps them until it is asked.

    Arrays of some megabytes that come and go leave holes, which would still be there when larger ones are made.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
