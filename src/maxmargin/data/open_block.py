"""The rows that make up the next block of a block file.

They are copied into memory that is used again for every block: arrays that were allocated for each would leave the
process with holes that nothing fits into.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data.batches import Batch
from maxmargin.data.labels import smallest_integer

ROW_BYTES = 20  # of a row beside its entries: 4 for its start, 8 for its label and 8 for its weight
COLUMN_BYTES = 4
_SMALL_COLUMNS = 1 << 16
_FIRST_BYTES = 64 << 20  # room to begin with, where a block may have more


class _Section:
    """Numbers one after the other; pages of memory that none was written to take no space."""

    def __init__(self, room: int, dtype: Any):
        self._numbers: NDArray[Any] = np.empty(room, dtype=dtype)
        self._count = 0

    @property
    def numbers(self) -> NDArray[Any]:
        """All that were added since the last `clear`."""
        return self._numbers[: self._count]

    def add(self, numbers: NDArray[Any]) -> None:
        """Append a copy; where there is no room, as for a row that is larger than a block, more is made."""
        end = self._count + numbers.size
        if end > len(self._numbers):
            longer = np.empty(max(end, 2 * len(self._numbers)), dtype=self._numbers.dtype)
            longer[: self._count] = self.numbers
            self._numbers = longer
        self._numbers[self._count : end] = numbers.reshape(-1)
        self._count = end

    def clear(self) -> None:
        """Forget all numbers, and keep the memory."""
        self._count = 0


class OpenBlock:
    """Copies of rows, about `n_bytes` at most."""

    def __init__(self, n_bytes: int, dtype: np.dtype[Any]):
        n_bytes = min(n_bytes, _FIRST_BYTES)
        rows = 1 + n_bytes // ROW_BYTES
        self._starts = _Section(rows + 1, np.int32)
        self._columns = _Section(1 + n_bytes // (COLUMN_BYTES + dtype.itemsize), np.int32)
        self._values = _Section(1 + n_bytes // dtype.itemsize, dtype)
        self._codes = _Section(rows, np.int32)
        self._targets = _Section(rows, np.float64)
        self._weight = _Section(rows, np.float64)
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        for section in (self._starts, self._columns, self._values, self._codes, self._targets, self._weight):
            section.clear()
        self._starts.add(np.zeros(1, dtype=np.int32))
        self._has_wide_columns = False
        self.bytes = 0
        self.label_kind: str | None = None

    def add(self, part: Batch, size: int) -> None:
        """Copy rows that count for `size` bytes."""
        if part.columns is not None and part.starts is not None:
            self._starts.add(part.starts[1:] - part.starts[0] + self.n_entries)
            self._columns.add(part.columns)
            if len(part.columns) and not 0 <= part.columns.min() <= part.columns.max() < _SMALL_COLUMNS:
                self._has_wide_columns = True
        self._values.add(part.values)
        self.label_kind = part.labels.dtype.kind
        (self._targets if self.label_kind == "f" else self._codes).add(part.labels)
        if part.weight is not None:
            self._weight.add(part.weight)
        self.bytes += size

    @property
    def n_rows(self) -> int:
        """Rows added so far."""
        return len(self.labels)

    @property
    def n_entries(self) -> int:
        """Values added so far."""
        return len(self.values)

    @property
    def starts(self) -> NDArray[np.int32]:
        """Where each sparse row starts, and where the last ends."""
        return self._starts.numbers

    @property
    def columns(self) -> NDArray[np.int32]:
        """Columns of all entries."""
        return self._columns.numbers

    @property
    def values(self) -> NDArray[Any]:
        """Values of all entries."""
        return self._values.numbers

    @property
    def labels(self) -> NDArray[Any]:
        """Codes, or numbers where the labels have no codes."""
        return (self._targets if self.label_kind == "f" else self._codes).numbers

    @property
    def weight(self) -> NDArray[np.float64]:
        """Weights of all rows, where they have some."""
        return self._weight.numbers

    @property
    def column_type(self) -> np.dtype[Any]:
        """Smallest type that holds all columns."""
        return np.dtype("<i4" if self._has_wide_columns else "<u2")

    @property
    def label_type(self) -> np.dtype[Any]:
        """Smallest type that holds all codes, or double precision where the labels are numbers."""
        if self.label_kind == "f":
            return np.dtype("<f8")
        smallest: np.dtype[Any] = np.dtype(smallest_integer(int(self.labels.max()) + 1)).newbyteorder("<")
        return smallest
