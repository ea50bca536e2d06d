"""What inputs made of files have in common: how much was read, whether they changed, and rows left out."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from maxmargin.errors import DataError

_LOOKED_AT = 4096


class InputFiles:
    """Files in order, with the bytes read from those that are done and from the one being read."""

    def __init__(self, paths: Sequence[Path], settings: str, has_labels: bool = True):
        self.paths = list(paths)
        self.has_labels = has_labels
        self._settings = settings
        self._sizes = [path.stat().st_size for path in self.paths]
        self._done = 0
        self._current = 0

    def __str__(self) -> str:
        return str(self.paths[0]) if len(self.paths) == 1 else f"{len(self.paths)} files, {self.paths[0]} the first"

    @property
    def bytes_total(self) -> int | None:
        """Bytes of all files on disk."""
        return sum(self._sizes)

    @property
    def bytes_read(self) -> int:
        """Bytes taken from the disk so far."""
        return self._done + self._current

    def begin(self) -> None:
        """Count from the beginning."""
        self._done = self._current = 0

    def at(self, position: int) -> None:
        """Note how far the current file was read."""
        self._current = position

    def file_done(self, number: int) -> None:
        """Note that the file was read to its end."""
        self._done += self._sizes[number]
        self._current = 0

    def key(self) -> str | None:
        """Hash of how the files are to be read, and of their names, sizes, times, first and last bytes."""
        digest = hashlib.sha256(self._settings.encode())
        for path in self.paths:
            seen = path.stat()
            digest.update(f"\0{path.resolve()}\0{seen.st_size}\0{seen.st_mtime_ns}\0".encode())
            with open(path, "rb") as file:
                digest.update(file.read(_LOOKED_AT))
                file.seek(max(0, seen.st_size - _LOOKED_AT), os.SEEK_SET)
                digest.update(file.read())
        return digest.hexdigest()


class BadRows:
    """Rows that are left out because something is wrong with them, up to a number of them."""

    def __init__(self, allowed: int):
        self._allowed = allowed
        self.messages: list[str] = []

    @property
    def room(self) -> int:
        """How many more rows may be left out."""
        return self._allowed - len(self.messages)

    def add(self, message: str) -> None:
        """Leave out one more row, or raise what is wrong with it."""
        if self._allowed == 0:
            raise DataError(message)
        if len(self.messages) == self._allowed:
            raise DataError(f"More than skip_bad_rows={self._allowed} rows are bad. The next one: {message}")
        self.messages.append(message)
