"""A file that appears under its name only when it is complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a new binary file that takes the place of `path` when the block ends well.

    Until then, and for ever when the block raises, the old file is untouched. The bytes reach the disk
    before the name does, so a crash leaves the old file or the new one, never half of either.
    """
    target = Path(path).resolve()  # a symbolic link is followed, not replaced
    temporary = target.with_name(f".maxmargin-{secrets.token_hex(8)}.tmp")  # same directory: os.replace is atomic
    try:
        file = open(temporary, "xb")  # noqa: SIM115 - closed below, before the rename
    except OSError as error:
        raise OSError(error.errno, error.strerror, os.fspath(path)) from None  # in the name the caller knows
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:  # Ctrl-C, too: nothing half written stays behind
        temporary.unlink(missing_ok=True)
        raise
