"""Bytes of a file into memory that is used again, a piece at a time.

A piece is summed up, and converted, while it is still in the cache.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

PIECE_BYTES = 1 << 20


def read_bytes(file: io.FileIO, target: NDArray[np.uint8], crc: int = 0) -> int:
    """Fill `target` from where the file stands; return the checksum continued. EOFError where the file ends first."""
    view = target.data
    at = 0
    while at < len(view):
        piece = view[at : at + PIECE_BYTES]
        count = file.readinto(piece)
        if not count:
            raise EOFError
        crc = zlib.crc32(piece[:count], crc)
        at += count
    return crc


def read_numbers(
    file: io.FileIO, target: NDArray[Any], kind: np.dtype[Any], piece: NDArray[np.uint8], crc: int = 0
) -> int:
    """As `read_bytes`, of numbers that have type `kind` in the file and that of `target` in memory.

    `piece` is memory of PIECE_BYTES for numbers on their way.
    """
    if target.dtype == kind:
        return read_bytes(file, target.view(np.uint8), crc)
    step = PIECE_BYTES // kind.itemsize
    for at in range(0, len(target), step):
        converted = target[at : at + step]
        given = piece[: len(converted) * kind.itemsize]
        crc = read_bytes(file, given, crc)
        np.copyto(converted, given.view(kind), casting="unsafe")
    return crc
