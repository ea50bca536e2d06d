"""Files that appear under their name only when they are complete, and temporary directories.

Both are removed at their end, or, where a process was killed, by the next one that writes in the same place. A lock on
an open file, which ends with the process that holds it, however it ends, tells leftovers from what is in the making.
"""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, BinaryIO

from maxmargin.errors import ParameterError

try:
    import fcntl
except ImportError:  # Windows, where nobody can remove a file that another process has open
    fcntl = None  # type: ignore[assignment] # a module is looked for, and there is none

if TYPE_CHECKING:
    from typing import Self

_PATTERN = ".maxmargin-*.tmp"
_PREFIX, _LOCK = "maxmargin-", "in-use"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new binary file that takes the place of `path` when the block ends well.

    Until then, and for ever when the block raises, the old file is untouched. The bytes reach the disk
    before the name does, so a crash leaves the old file or the new one, never half of either.
    """
    target = Path(path).resolve()  # a symbolic link is followed, not replaced
    try:
        _check_place(target, path)
        _remove_abandoned(target.parent.glob(_PATTERN), Path.unlink)
        file, temporary = _new_file(target.parent)  # same directory: os.replace is atomic
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # in the name the caller knows
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        size = temporary.stat().st_size if temporary.exists() else 0
        temporary.unlink(missing_ok=True)
        if not is_full(error) or error.filename is not None:
            raise
        raise OSError(
            error.errno, f"{error.strerror} after {size:,} bytes. Nothing was left behind; free some space", str(path)
        ) from None
    except BaseException:  # Ctrl-C, too: nothing half written stays behind
        temporary.unlink(missing_ok=True)
        raise


def _check_place(target: Path, path: str | os.PathLike[str]) -> None:
    """Refuse a name that belongs to something else than a file: a device would be renamed away, and be gone."""
    if target.is_dir():
        raise ParameterError(f"{os.fspath(path)!r} is a directory. Give the name of the file to write in it, too.")
    if target.exists() and not target.is_file():
        raise ParameterError(
            f"{os.fspath(path)!r} is a device or a pipe, and a new file would take its place. Name a file to write."
        )


def is_full(error: OSError) -> bool:
    """Whether the disk, or what a user may have of it, is full."""
    return error.errno in _FULL


def _new_file(directory: Path) -> tuple[BinaryIO, Path]:
    """A new file that is locked as long as it is open, and so is no leftover to anybody else."""
    while True:
        path = directory / _PATTERN.replace("*", secrets.token_hex(8))
        file = open(path, "xb")  # noqa: SIM115 - closed by the caller, before the rename
        _lock(file)
        if os.fstat(file.fileno()).st_nlink:  # else it was taken for a leftover before it was locked
            return file, path
        file.close()


class TemporaryFolder:
    """A new directory in the system's place for temporary files, with a file in it that is locked while it is used."""

    def __init__(self) -> None:
        locks = Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/{_LOCK}")
        _remove_abandoned(locks, lambda lock: shutil.rmtree(lock.parent, ignore_errors=True))
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX))
        new = self.path / f"{_LOCK}.new"
        self._lock = open(new, "xb")  # noqa: SIM115 - closed by remove()
        if _lock(self._lock):
            new.rename(self.path / _LOCK)  # only now, so that nobody ever sees it unlocked

    def remove(self) -> None:
        """Remove the directory with all that is in it."""
        self._lock.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.remove()


def _lock(file: IO[Any]) -> bool:
    """Take the lock of an open file; False where somebody else has it, or the file system has no locks."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _remove_abandoned(locks: Iterable[Path], remove: Callable[[Path], object]) -> None:
    """Remove what belongs to files whose lock nobody holds any more."""
    for path in locks:
        with suppress(OSError), open(path, "rb") as file:  # gone meanwhile, or another user's
            if _lock(file):
                remove(path)
