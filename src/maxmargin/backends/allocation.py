"""Memory that arrays no longer need, back to the system."""

from __future__ import annotations

import ctypes
import sys


def give_back_memory() -> None:
    """Return free pages of the heap, where the C library is one that keeps them until it is asked.

    Arrays of some megabytes that come and go leave holes, which would still be there when larger ones are made.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
