"""Looks at test rows in this process, whichever experiment made them.

A new experiment on the same data has a new seal: nothing stops who makes one, and another, until a score is good. But
where that happens in one process, as in a notebook whose cells are run again, it is counted, and every record says how
many looks at the same data came before it. The same look again, at the same rows for the same model, is not another. A
model that is random may have the same settings twice; it is the same only if it says the same about the rows.
"""

from __future__ import annotations

import threading
from typing import NamedTuple


class Look(NamedTuple):
    """Which data, which of their rows, and for which model: its settings as text, and what it said about the rows."""

    data_hash: str
    sealed_hash: str
    settings: str
    predictions_hash: str


_made: set[Look] = set()
_lock = threading.Lock()


def count_others(look: Look) -> int:
    """How many looks at the same data, but at other rows or for other models, this process has made."""
    with _lock:
        return sum(made.data_hash == look.data_hash and made != look for made in _made)


def note(look: Look) -> None:
    """A look was made."""
    with _lock:
        _made.add(look)
