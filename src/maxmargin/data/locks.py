"""Locks on open files, which end with the process that holds them, however it ends: so leftovers can be told."""

from __future__ import annotations

from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that another process has open
    fcntl = None  # type: ignore[assignment] # a module is looked for, and there is none


def lock(file: IO[Any]) -> bool:
    """Take the lock of an open file; False where somebody else has it, or the file system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
