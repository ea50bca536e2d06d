"""A file that appears under its name only when it is complete."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maxmargin.data.locks import lock
from maxmargin.errors import ParameterError

_PATTERN = ".maxmargin-*.tmp"
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new binary file that takes the place of `path` when the block ends well.

    Until then, and for ever when the block raises, the old file is untouched. The bytes reach the disk
    before the name does, so a crash leaves the old file or the new one, never half of either. What a process that was
    killed left half written is removed by the next one that writes into the same directory.
    """
    target = Path(path).resolve()  # a symbolic link is followed, not replaced
    try:
        _check_place(target, path)
        _remove_leftovers(target.parent)
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
        size = _size(temporary)
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


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _new_file(directory: Path) -> tuple[BinaryIO, Path]:
    """A new file that is locked as long as it is open, and so is no leftover to anybody else."""
    while True:
        path = directory / _PATTERN.replace("*", secrets.token_hex(8))
        file = open(path, "xb")  # noqa: SIM115 - closed by the caller, before the rename
        lock(file)
        if os.fstat(file.fileno()).st_nlink:  # else it was taken for a leftover before it was locked
            return file, path
        file.close()


def _remove_leftovers(directory: Path) -> None:
    """Remove files that nobody writes any more."""
    for path in directory.glob(_PATTERN):
        with suppress(OSError), open(path, "rb") as file:  # gone meanwhile, or another user's
            if lock(file):
                path.unlink(missing_ok=True)
