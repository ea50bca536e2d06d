"""Parquet and Arrow files as batches of dense rows, and back: the one file that imports pyarrow, and only when asked.

Both formats keep a table column by column, zeros and all, and note every column of every piece they write. That suits
the columns of tables, and not the millions that sparse rows have: past `_MOST_COLUMNS` nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin.data.formats.file_bytes import beyond
from maxmargin.data.formats.inputs import InputFiles, Reading, RowBatch, column_called
from maxmargin.data.labels import ArrayLabels, no_codes
from maxmargin.errors import DataError, MissingExtraError

_BATCH_BYTES = 16 << 20
_MOST_COLUMNS = 4096
_PIECE_BYTES = 64 << 20  # of a table at a time: pieces of few rows would be notes about columns in the main


class ArrowInput(InputFiles):
    """Rows of Parquet or Arrow IPC files: numbers in all columns but the one with the label, if there is one."""

    _labels: ArrayLabels

    def __init__(self, paths: Sequence[Path], how: Reading, parquet: bool):
        settings = f"arrow {how.dtype} {how.label!r} {how.skip_bad_rows}"
        super().__init__(paths, how, settings, how.label is not None)
        self._parquet = parquet

    def batches(self) -> Iterator[RowBatch]:
        """All rows, one file after the other, with the same columns."""
        self._names: list[str] | None = None
        return super().batches()

    def _rows_of(self, number: int) -> Iterator[RowBatch]:
        path, row = self.paths[number], 0
        for table in self._tables(path):
            if self._names not in (None, table.schema.names):
                raise DataError(f"{path}: found columns {table.schema.names}, the files before had {self._names}.")
            self._names = table.schema.names
            step = _rows_at_a_time(table.num_columns)
            for first in range(0, table.num_rows, step):
                part = table.slice(first, step)
                yield self._batch(part, row, path)
                row += part.num_rows

    def _tables(self, path: Path) -> Iterator[Any]:
        """Record batches of a file, which note how far it was read."""
        pyarrow, ipc, parquet = _packages()
        size = path.stat().st_size
        try:
            if self._parquet:
                with parquet.ParquetFile(path) as file:
                    rows = 0
                    for table in file.iter_batches(batch_size=_rows_at_a_time(len(file.schema_arrow))):
                        rows += table.num_rows
                        self._at(size * rows // file.metadata.num_rows)
                        yield table
                return
            with pyarrow.memory_map(str(path)) as mapped:
                try:
                    reader = ipc.open_file(mapped)
                except pyarrow.ArrowInvalid:  # the other of the two formats has no end mark
                    mapped.seek(0)
                    for table in ipc.open_stream(mapped):
                        self._at(mapped.tell())
                        yield table
                    return
                for k in range(reader.num_record_batches):
                    self._at(size * (k + 1) // reader.num_record_batches)
                    yield reader.get_batch(k)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read ({error}). Is it complete, and of the format named?") from None

    def _batch(self, table: Any, first: int, path: Path) -> RowBatch:
        """Rows of a table that begins with row `first` of the file, less those that cannot be used."""
        names = table.schema.names
        label = column_called(self.how.label, names, str(path))
        features = [place for place in range(len(names)) if place != label]
        where = f"{path}, rows {first} to {first + table.num_rows - 1}"
        X = np.empty((table.num_rows, len(features)), dtype=self.how.dtype)
        with np.errstate(over="ignore"):  # what becomes infinite is found and named below
            for column, place in enumerate(features):
                X[:, column] = self._numbers(table.column(place), names[place], where)
        fine = np.isfinite(X).all(axis=1)
        if label >= 0:
            labels = _values(table.column(label))
            fine &= _values(table.column(label).is_valid())
            fine &= np.isfinite(labels) if labels.dtype.kind == "f" else True
        rows = np.flatnonzero(fine)
        for row in np.flatnonzero(~fine).tolist():
            self._leave_out(f"{path}, row {first + row}: {self._problem(table, row, label)}")
        if len(rows) < len(X):
            X = X[rows]
        codes = no_codes(len(X))
        if label >= 0:
            codes = self._labels.encode(_values(table.column(label).take(rows)), where)
        return RowBatch(X, None, None, codes, n_columns=len(features))

    def _numbers(self, column: Any, name: str, where: str) -> NDArray[Any]:
        """Numbers of a column, NaN where it is null."""
        values = _values(column.cast("int8") if str(column.type) == "bool" else column)
        if values.dtype.kind not in "fiu":
            hint = "" if self.has_labels else f", or is it the label? Then pass label={name!r}"
            raise DataError(
                f"{where}: column {name!r} is of type {column.type}; features must be numbers. Encode it{hint}."
            )
        return values

    def _problem(self, table: Any, row: int, label: int) -> str:
        """What is wrong with a row, in words."""
        for place, name in enumerate(table.schema.names):
            what = f"the label {name!r}" if place == label else f"column {name!r}"
            value = table.column(place)[row]
            if not value.is_valid:
                return f"{what} is null. Fill it in, or leave the row out."
            number = value.as_py()
            if isinstance(number, float) and not np.isfinite(number):
                return f"{what} is {number}; it must be finite. Fill it in, or leave the row out."
            too_large = None if place == label else beyond(number, self.how.dtype)
            if too_large is not None:
                return f"{what} has {number}, which {too_large}"
        raise AssertionError("a row without a problem was refused")


def _packages() -> tuple[Any, Any, Any]:
    """The package, and its parts for Arrow and for Parquet files."""
    try:
        import pyarrow
        from pyarrow import ipc, parquet
    except ImportError as error:
        raise MissingExtraError("pyarrow", "files") from error
    return pyarrow, ipc, parquet


def write_table(source: Any, file: BinaryIO, *, parquet: bool) -> None:
    """Write all rows of a source: a column `label` where it has labels, then x1, x2, ...; a piece at a time."""
    n_columns = source.n_features
    if n_columns > _MOST_COLUMNS:
        raise DataError(
            f"the rows have {n_columns:,} columns; Parquet and Arrow files keep every zero of every column, and are "
            f"written here up to {_MOST_COLUMNS:,} columns. LIBSVM text, .npz and .blocks keep only what is not zero."
        )
    pyarrow, ipc, parquet_files = _packages()
    first = source.block(0)
    kinds = {"label": np.asarray(first.y).dtype} if source.has_labels else {}
    kinds |= {f"x{k + 1}": first.X.dtype for k in range(n_columns)}
    schema = pyarrow.schema([(name, _type(pyarrow, kind)) for name, kind in kinds.items()])
    step = max(1, _PIECE_BYTES // (8 * n_columns))
    with parquet_files.ParquetWriter(file, schema) if parquet else ipc.new_file(file, schema) as writer:
        for block in source.scan():
            for begin in range(0, len(block.y), step):
                rows = slice(begin, begin + step)
                X = block.X[rows].toarray() if sparse.issparse(block.X) else block.X[rows]
                columns = [np.asarray(block.y)[rows]] if source.has_labels else []
                columns += list(np.asfortranarray(X).T)
                writer.write_batch(pyarrow.record_batch([pyarrow.array(one) for one in columns], schema=schema))


def _type(pyarrow: Any, kind: np.dtype[Any]) -> Any:
    return pyarrow.string() if kind.kind == "U" else pyarrow.from_numpy_dtype(kind)


def _rows_at_a_time(columns: int) -> int:
    return max(1, _BATCH_BYTES // (8 * columns))


def _values(column: Any) -> NDArray[Any]:
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
