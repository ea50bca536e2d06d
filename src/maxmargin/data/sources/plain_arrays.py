"""NumPy files whose rows can be read from where they lie, as a source: nothing is written.

These are a .npy in C order, and the array X of an .npz that is not compressed: an archive of the kind keeps its members
byte for byte.

A block is some rows of one file. Its checksum is noted when it is first read, and its values are looked through for
what is not finite; later reads must find the same bytes.
"""

from __future__ import annotations

import struct
import zipfile
from collections.abc import Sequence
from contextlib import closing, nullcontext
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from maxmargin._types import Labels, Vector
from maxmargin.data.formats.array_files import ArrayFileInput
from maxmargin.data.formats.block_format import ROW_BYTES, BlockWriter
from maxmargin.data.formats.file_bytes import ReadBuffers
from maxmargin.data.formats.inputs import not_finite
from maxmargin.data.labels import NO_LABELS, ArrayLabels, LabelTable
from maxmargin.data.source import Block
from maxmargin.data.sources.pulled import StoredSource, asked, combined
from maxmargin.errors import DataError

_LABELS_AT_A_TIME = 1 << 20
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


class ArrayFileSource(StoredSource):
    """The rows of matrices in files, with the labels that an input knows of."""

    is_sparse = False
    has_labels = asked("_input.has_labels")

    def __init__(self, rows: ArrayFileInput, matrices: list[PlainMatrix], block_bytes: int):
        super().__init__(str(rows))
        self._input = rows
        self._matrices = matrices
        self._block_bytes = block_bytes
        self._dtype = rows.how.dtype
        step = max(1, block_bytes // (matrices[0].n_columns * self._dtype.itemsize + ROW_BYTES))
        self._blocks = [  # a matrix, the first row in it, and how many rows
            (matrix, first, min(step, matrix.n_rows - first))
            for matrix in matrices
            for first in range(0, matrix.n_rows, step)
        ]
        self._starts = np.cumsum([0, *(n_rows for _, _, n_rows in self._blocks)], dtype=np.int64)
        self._checksums: dict[int, int] = {}

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self._matrices[0].n_columns

    @property
    def n_bytes(self) -> int:
        """About how many bytes all rows would take in memory."""
        return self.n_rows * (self.n_features * self._dtype.itemsize + 1)

    @property
    def weight(self) -> Vector:
        """Ones."""
        return np.broadcast_to(np.float64(1.0), self.n_rows)

    @cached_property
    def _targets(self) -> tuple[LabelTable, NDArray[Any]]:
        """Labels of all rows, looked through once: the class of each, or the labels where they are too many."""
        if not self.has_labels:
            return NO_LABELS, np.broadcast_to(np.int8(0), self.n_rows)
        given = self._given_labels()
        labels, codes = ArrayLabels(), np.empty(self.n_rows, dtype=np.int32)
        for first in range(0, self.n_rows, _LABELS_AT_A_TIME):
            last = min(first + _LABELS_AT_A_TIME, self.n_rows)
            found = labels.encode(given[first:last], f"{self._input}, labels {first} to {last - 1}")
            if found.dtype.kind == "f":
                return labels.table(), given.astype(np.float64)
            codes[first:last] = found
        table = labels.table()
        return table, table.class_of_code[codes]

    def _given_labels(self) -> Labels:
        """Labels of all files, one after the other."""
        parts, row = [], 0
        for number, matrix in enumerate(self._matrices):
            with nullcontext({}) if matrix.path.suffix.lower() == ".npy" else np.load(matrix.path) as arrays:
                parts.append(np.asarray(self._input.labels_of(number, row, matrix.n_rows, arrays)))
            row += matrix.n_rows
        self._input.check_all_used(row)
        return np.concatenate(parts) if len(parts) > 1 else parts[0]

    @property
    def _table(self) -> LabelTable:
        return self._targets[0]

    @property
    def _codes(self) -> NDArray[Any]:
        return self._targets[1]

    def _numbers(self) -> Labels:
        return self._targets[1]

    def _buffers(self, blocks: Sequence[int]) -> ReadBuffers:
        matrices, _, n_rows = zip(*(self._blocks[k] for k in blocks), strict=True)
        values = np.empty(max(n_rows) * self.n_features, dtype=self._dtype)
        return ReadBuffers({matrix.path for matrix in matrices}, values=values, weight=np.ones(max(n_rows)))

    def _read(self, k: int, buffers: ReadBuffers) -> tuple[Block, int]:
        self._refuse_closed()
        matrix, first, n_rows = self._blocks[k]
        values = buffers.values[: n_rows * matrix.n_columns]
        try:
            with np.errstate(over="ignore"):  # what becomes infinite is found and named below
                crc = buffers.fill(values, matrix.path, matrix.place(first), matrix.dtype)
        except EOFError:
            raise DataError(f"{matrix.path} became shorter while it was read. Open it again.") from None
        if k not in self._checksums:
            self._check_finite(values, matrix, first)
        if crc != self._checksums.setdefault(k, crc):
            raise DataError(f"{matrix.path}: rows {first} to {first + n_rows - 1} changed while they were in use.")
        begin, end = self.span(k)
        table, targets = self._targets
        y = table.classes[targets[begin:end]] if table.complete else targets[begin:end]
        block = Block(values.reshape(n_rows, -1), y, buffers.memory["weight"][:n_rows], begin)
        return block, matrix.place(n_rows) - matrix.place(0)

    def _check_finite(self, values: NDArray[Any], matrix: PlainMatrix, first: int) -> None:
        finite = np.isfinite(values)
        if not finite.all():
            row, column = divmod(int(np.argmin(finite)), matrix.n_columns)
            where = f"{matrix.path}: row {first + row}, column {column}"
            raise not_finite(where, matrix.value(first + row, column), self._dtype)

    def fingerprint(self) -> str:
        """Hash of the checksums of all blocks, and of the labels; blocks that were not read yet are read for it."""
        with closing(self.buffers()) as buffers:
            for k in range(self.n_blocks):
                if k not in self._checksums:
                    self.read(k, buffers)
        spans = [(n_rows, self._checksums[k]) for k, (_, _, n_rows) in enumerate(self._blocks)]
        table, targets = self._targets
        labels = [targets.tobytes()] if self.has_labels else []
        return combined(str(self._dtype), self.n_features, spans, table.classes.tolist(), *labels)

    def write_blocks(self, file: BinaryIO) -> None:
        """Write the rows to an open file, as a block file."""
        BlockWriter(file, self._input, self._block_bytes).write()


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
