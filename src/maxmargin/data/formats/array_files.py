"""NumPy files as batches: .npy, and .npz of scipy.sparse.save_npz or with the arrays X and y.

A .npy is mapped, so that only the rows at hand are in memory. An archive cannot be mapped; its arrays are unpacked into
a temporary directory first, which is removed at the end.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from maxmargin._types import Labels
from maxmargin.data.formats.inputs import InputFiles, Reading, RowBatch, make_batch
from maxmargin.data.labels import ArrayLabels, no_codes
from maxmargin.data.replacing import TemporaryFolder
from maxmargin.errors import DataError, ParameterError

_BATCH_BYTES = 16 << 20


class ArrayFileInput(InputFiles):
    """Rows of .npy or .npz files; labels from as many other files, from one array, from the archives, or no labels."""

    _labels: ArrayLabels

    def __init__(self, paths: Sequence[Path], how: Reading, labels: Any):
        self._paths_of_labels = _paths_of_labels(labels, len(paths))
        self._given = None if labels is None or self._paths_of_labels is not None else np.asarray(labels)
        # What the labels add to the name of a cached file.
        words = "" if self._given is None else str(zlib.crc32(repr(self._given.tolist()).encode()))
        has_labels = labels is not None or _has_labels(paths[0])
        super().__init__(paths, how, f"arrays {how.dtype} {words}", has_labels, self._paths_of_labels or ())

    def batches(self) -> Iterator[RowBatch]:
        """All rows, copied from the mapped files."""
        self._row = 0
        yield from super().batches()
        self.check_all_used(self._row)

    def _rows_of(self, number: int) -> Iterator[RowBatch]:
        path, first = self.paths[number], 0
        with TemporaryFolder() as folder:
            arrays = _mapped(path, folder.path)
            n_rows = len(arrays["indptr"]) - 1 if "indptr" in arrays else len(arrays["X"])
            y = self.labels_of(number, self._row, n_rows, arrays)
            while first < n_rows:
                last = _last_row(arrays, first, n_rows)
                rows = _csr_part(arrays, first, last) if "indptr" in arrays else np.asarray(arrays["X"][first:last])
                where = f"{path}, rows {first} to {last - 1}"
                codes = no_codes(last - first) if y is None else self._labels.encode(np.asarray(y[first:last]), where)
                batch = make_batch(rows, codes, self.how.dtype, where)
                self._row += last - first
                self._at(path.stat().st_size * last // n_rows)
                yield batch
                first = last

    def labels_of(self, number: int, row: int, n_rows: int, arrays: Mapping[str, NDArray[Any]]) -> Labels | None:
        """Labels of a file whose first row is row `row` of all; `arrays` are those in the file."""
        path = self.paths[number]
        if not self.has_labels:
            if "y" in arrays:
                raise DataError(f"{path} has labels, the files before have none. Open them one kind at a time.")
            return None
        y: Labels
        if self._paths_of_labels is not None:
            y = _load(self._paths_of_labels[number])
        elif self._given is not None:
            y = self._given[row : row + n_rows]
        elif "y" in arrays:
            y = arrays["y"]
        else:
            raise DataError(f"{path} has no labels, the files before have. Open them one kind at a time.")
        if len(y) != n_rows:
            raise DataError(f"{path}: {n_rows} rows, but {len(y)} labels; one a row is needed.")
        return y

    def check_all_used(self, n_rows: int) -> None:
        """Refuse more labels than rows."""
        if self._given is not None and n_rows != len(self._given):
            raise DataError(f"{self}: {n_rows} rows, but {len(self._given)} labels were given; one a row is needed.")


def _has_labels(path: Path) -> bool:
    """Whether a file is an archive with labels in it."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "y.npy" in archive.namelist()
    except zipfile.BadZipFile:  # a .npy, or damaged, which is told when the rows are read
        return False


def _paths_of_labels(labels: Any, count: int) -> list[Path] | None:
    """Files of labels, where paths were given."""
    given = [labels] if isinstance(labels, (str, Path)) else labels
    if not isinstance(given, (list, tuple)) or not given or not all(str(one).endswith(".npy") for one in given):
        return None
    if len(given) != count:
        raise ParameterError(f"labels names {len(given)} files for {count} files of rows; one for each is needed.")
    return [Path(one) for one in given]


def _load(path: Path) -> NDArray[Any]:
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DataError(f"{path} cannot be read as a NumPy array ({error}). Is it complete?") from None
    return array


def _mapped(path: Path, folder: Path) -> dict[str, NDArray[Any]]:
    """Arrays of a file by name, mapped; a CSR matrix has data, indices, indptr and shape."""
    if path.suffix == ".npy":
        arrays = {"X": _load(path)}
    else:
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(folder)
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise DataError(f"{path} is not a whole .npz archive ({error}). Copy it again.") from None
        arrays = {file.stem: _load(file) for file in folder.rglob("*.npy") if file.stem != "format"}
    if "indptr" in arrays and {"data", "indices", "shape"} <= set(arrays):
        if len(arrays["indptr"]) != int(arrays["shape"][0]) + 1:
            raise DataError(f"{path} holds a sparse matrix that is not CSR. Save X.tocsr().")
        return arrays
    if "X" in arrays and arrays["X"].ndim == 1 and arrays["X"].dtype.kind in "SU":
        raise DataError(
            f"{path}: found a list of strings; expected a matrix. Texts and sequences are a matrix of bytes, one a "
            'row: np.array(strings, dtype="S").view(np.uint8).reshape(len(strings), -1).'
        )
    if "X" not in arrays or arrays["X"].ndim != 2:
        raise DataError(
            f"{path}: found {', '.join(sorted(arrays)) or 'no arrays'}; expected a matrix X, or a CSR matrix as "
            "scipy.sparse.save_npz writes it."
        )
    return arrays


def _last_row(arrays: dict[str, NDArray[Any]], first: int, n_rows: int) -> int:
    """End of a batch that begins at `first` and has a bounded number of bytes, or one row."""
    if "indptr" in arrays:
        entries = _BATCH_BYTES // (arrays["data"].itemsize + arrays["indices"].itemsize)
        far = min(n_rows, first + _BATCH_BYTES // 8)
        starts = arrays["indptr"][first : far + 1]
        return first + max(1, int(np.searchsorted(starts, starts[0] + entries, side="right")) - 1)
    width = max(1, arrays["X"].shape[1] * arrays["X"].itemsize)
    return min(n_rows, first + max(1, _BATCH_BYTES // int(width)))


def _csr_part(arrays: dict[str, NDArray[Any]], first: int, last: int) -> Any:
    starts = np.asarray(arrays["indptr"][first : last + 1], dtype=np.int64)
    span = slice(int(starts[0]), int(starts[-1]))
    entries = (np.array(arrays["data"][span]), np.array(arrays["indices"][span]), starts - starts[0])
    rows = csr_matrix(entries, shape=(last - first, int(arrays["shape"][1])))
    rows.sum_duplicates()
    return rows
