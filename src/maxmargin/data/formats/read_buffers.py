"""Numbers of files into memory that is used again for every block, a piece at a time.

A piece is summed up, and converted, while it is still in the cache.
"""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES = 1 << 20


class ReadBuffers:
    """Memory for any one block, and the files it may be read from; for one thread at a time."""

    def __init__(self, paths: Iterable[Path], **memory: NDArray[Any]):
        with ExitStack() as opened:
            self._files = {path: opened.enter_context(open(path, "rb", buffering=0)) for path in paths}
            self._opened = opened.pop_all()
        weakref.finalize(self, self._opened.close)
        self.memory = memory
        self._piece = np.empty(PIECE_BYTES, dtype=np.uint8)

    @property
    def values(self) -> NDArray[Any]:
        """Memory for the values of a block."""
        return self.memory["values"]

    @property
    def n_bytes(self) -> int:
        """Bytes of memory for a block."""
        return sum(part.nbytes for part in self.memory.values())

    def close(self) -> None:
        """Close the files."""
        self._opened.close()

    def fill(self, target: NDArray[Any], path: Path, offset: int, kind: np.dtype[Any], crc: int = 0) -> int:
        """Fill `target` with numbers that have type `kind` in the file; return the checksum continued.

        EOFError where the file ends first.
        """
        self._files[path].seek(offset)
        if target.dtype == kind:
            return self._fill(target.view(np.uint8), path, crc)
        step = PIECE_BYTES // kind.itemsize
        for at in range(0, len(target), step):
            converted = target[at : at + step]
            given = self._piece[: len(converted) * kind.itemsize]
            crc = self._fill(given, path, crc)
            np.copyto(converted, given.view(kind), casting="unsafe")
        return crc

    def _fill(self, target: NDArray[np.uint8], path: Path, crc: int) -> int:
        view, file, at = target.data, self._files[path], 0
        while at < len(view):
            piece = view[at : at + PIECE_BYTES]
            count = file.readinto(piece)
            if not count:
                raise EOFError
            crc = zlib.crc32(piece[:count], crc)
            at += count
        return crc
