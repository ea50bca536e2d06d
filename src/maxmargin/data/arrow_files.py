"""Parquet and Arrow files as batches of dense rows: the one file that imports pyarrow, and only when one is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.batches import Batch, Found, make_batch
from maxmargin.data.input_files import InputFiles
from maxmargin.data.labels import ArrayLabels
from maxmargin.errors import DataError, MissingExtraError, ParameterError

_BATCH_BYTES = 16 << 20


class ArrowInput(InputFiles):
    """Rows of Parquet or Arrow IPC files: numbers in all columns but the one with the label."""

    def __init__(self, paths: Sequence[Path], dtype: np.dtype[Any], label: str | int | None, parquet: bool):
        super().__init__(paths, f"arrow {dtype} {label!r}")
        self._dtype = dtype
        self._label = label
        self._parquet = parquet

    def batches(self) -> Iterator[Batch]:
        """All rows, one file after the other, with the same columns."""
        self.begin()
        self._labels = ArrayLabels()
        names: list[str] | None = None
        for number, path in enumerate(self.paths):
            row = 0
            for table in self._tables(path):
                if names not in (None, table.schema.names):
                    raise DataError(f"{path}: found columns {table.schema.names}, the files before had {names}.")
                names = table.schema.names
                step = _rows_at_a_time(len(names))
                for first in range(0, table.num_rows, step):
                    part = table.slice(first, step)
                    yield self._batch(part, f"{path}, rows {row} to {row + part.num_rows - 1}", path)
                    row += part.num_rows
            self.file_done(number)

    def found(self) -> Found:
        """The labels met."""
        return Found(self._labels.table())

    def _tables(self, path: Path) -> Iterator[Any]:
        """Record batches of a file."""
        try:
            import pyarrow
            from pyarrow import ipc, parquet
        except ImportError as error:
            raise MissingExtraError("pyarrow", "files") from error
        try:
            if self._parquet:
                with parquet.ParquetFile(path) as file:
                    yield from file.iter_batches(batch_size=_rows_at_a_time(len(file.schema_arrow)))
                return
            with pyarrow.memory_map(str(path)) as mapped:
                try:
                    reader = ipc.open_file(mapped)
                except pyarrow.ArrowInvalid:  # the other of the two formats has no end mark
                    mapped.seek(0)
                    yield from ipc.open_stream(mapped)
                    return
                for k in range(reader.num_record_batches):
                    yield reader.get_batch(k)
        except (pyarrow.ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read ({error}). Is it complete, and of the format named?") from None

    def _batch(self, table: Any, where: str, path: Path) -> Batch:
        names = table.schema.names
        label = self._label_column(names, path)
        features = [place for place in range(len(names)) if place != label]
        X = np.empty((table.num_rows, len(features)), dtype=self._dtype)
        for column, place in enumerate(features):
            with np.errstate(over="ignore"):  # what becomes infinite is found and named below
                X[:, column] = _numbers(table.column(place), names[place], where)
        labels = table.column(label)
        if labels.null_count:
            raise DataError(f"{where}: the label {names[label]!r} is null in {labels.null_count} rows. Leave them out.")
        codes = self._labels.encode(_labels(labels), where)
        return make_batch(X, codes, self._dtype, where, lambda column: repr(names[features[column]]))

    def _label_column(self, names: list[str], path: Path) -> int:
        if self._label is None:
            raise ParameterError(
                f"{path}: say which column is the label, by name or by position: label={names[-1]!r} or label=-1. "
                f"Found: {', '.join(map(repr, names[:20]))}."
            )
        if isinstance(self._label, str):
            if self._label not in names:
                raise DataError(f"{path}: no column is called {self._label!r}. Found: {', '.join(map(repr, names))}.")
            return names.index(self._label)
        if not -len(names) <= self._label < len(names):
            raise DataError(f"{path}: label={self._label}, but there are {len(names)} columns, counted from 0.")
        return self._label % len(names)


def _rows_at_a_time(columns: int) -> int:
    return max(1, _BATCH_BYTES // (8 * columns))


def _numbers(column: Any, name: str, where: str) -> NDArray[Any]:
    if column.null_count:
        raise DataError(
            f"{where}: column {name!r} is null in {column.null_count} rows. Fill them in or leave them out."
        )
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    if values.dtype.kind not in "fiub":
        raise DataError(f"{where}: column {name!r} is of type {column.type}; features must be numbers. Encode it.")
    return values


def _labels(column: Any) -> NDArray[Any]:
    """Labels as an array of numbers, booleans or strings."""
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    return values
