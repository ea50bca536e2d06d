"""Matrices that lie in a NumPy file row after row, so that any rows can be read without the rest.

That is a .npy in C order, and the array X of an .npz that is not compressed: an archive of the kind keeps its members
byte for byte.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy

_LOCAL_HEADER = struct.Struct("<26xHH")  # of a member in an archive: its name and extra field follow, so long each


class PlainMatrix(NamedTuple):
    """Where the rows of a matrix lie in a file, and of what type its numbers are."""

    path: Path
    offset: int
    dtype: np.dtype[Any]
    n_rows: int
    n_columns: int

    def place(self, row: int) -> int:
        """First byte of a row in the file."""
        return self.offset + row * self.n_columns * self.dtype.itemsize

    def value(self, row: int, column: int) -> Any:
        """One number, as it stands in the file."""
        with open(self.path, "rb") as file:
            file.seek(self.place(row) + column * self.dtype.itemsize)
            return np.frombuffer(file.read(self.dtype.itemsize), dtype=self.dtype)[0]


def plain_matrices(paths: Sequence[Path]) -> list[PlainMatrix] | None:
    """The matrices of all files; None where one of them is damaged, sparse, compressed, or in another order."""
    found = [_plain_matrix(path) for path in paths]
    plain = [matrix for matrix in found if matrix is not None]
    same = len({matrix.n_columns for matrix in plain}) == 1
    return plain if same and len(plain) == len(found) and all(matrix.n_rows for matrix in plain) else None


def _plain_matrix(path: Path) -> PlainMatrix | None:
    with open(path, "rb") as file:
        begin = 0 if path.suffix.lower() == ".npy" else _member_begin(path, file, "X.npy")
        if begin is None:
            return None
        file.seek(begin)
        try:
            version = npy.read_magic(file)
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            shape, by_columns, dtype = read(file)
        except ValueError:
            return None
        offset = file.tell()
    if len(shape) != 2 or by_columns or dtype.kind not in "fiub" or 0 in shape:
        return None
    matrix = PlainMatrix(path, offset, dtype, *shape)
    return matrix if matrix.place(matrix.n_rows) <= path.stat().st_size else None


def _member_begin(path: Path, file: BinaryIO, name: str) -> int | None:
    """First byte of a member of an archive, where it is stored as it is."""
    try:
        with zipfile.ZipFile(path) as archive:
            member = archive.getinfo(name)
    except (zipfile.BadZipFile, KeyError):
        return None
    if member.compress_type != zipfile.ZIP_STORED:
        return None
    file.seek(member.header_offset)
    name_length, extra_length = _LOCAL_HEADER.unpack(file.read(_LOCAL_HEADER.size))
    return member.header_offset + _LOCAL_HEADER.size + int(name_length) + int(extra_length)
