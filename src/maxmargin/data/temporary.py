"""A temporary directory that is removed at its end, or, where its process was killed, by the next that makes one.

It holds a file that is locked as long as the process lives.
"""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from maxmargin.data.locks import lock

if TYPE_CHECKING:
    from typing import Self

_PREFIX, _LOCK = "maxmargin-", "in-use"


class TemporaryFolder:
    """A new directory in the system's place for temporary files."""

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        new = self.path / f"{_LOCK}.new"
        self._lock = open(new, "xb")  # noqa: SIM115 - closed by remove()
        if lock(self._lock):
            new.rename(self.path / _LOCK)  # only now, so that nobody ever sees it unlocked

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def _remove_abandoned(directory: Path) -> None:
    """Remove directories whose lock nobody holds any more."""
    for path in directory.glob(f"{_PREFIX}*/{_LOCK}"):
        with suppress(OSError), open(path, "rb") as file:  # gone meanwhile, or another user's
            if lock(file):
                shutil.rmtree(path.parent, ignore_errors=True)
