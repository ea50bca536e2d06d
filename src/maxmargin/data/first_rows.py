"""Rows of several blocks as one matrix, without holding all of them twice."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.data.arrays import take_rows


class FirstRows:
    """Collects the first `n_rows` rows of blocks, each in memory of its own."""

    def __init__(self, n_rows: int, n_features: int):
        self._shape = (n_rows, n_features)
        self._held = 0
        self._dense: NDArray[Any] | None = None
        self._values: list[NDArray[Any]] = []
        self._columns: list[NDArray[Any]] = []
        self._lengths: list[NDArray[Any]] = []

    @property
    def missing(self) -> int:
        """How many rows are still to come."""
        return self._shape[0] - self._held

    def add(self, X: Rows) -> None:
        """Take rows of a block, as many as are missing."""
        count = min(self.missing, X.shape[0])
        if sparse.issparse(X):
            rows = X if count == X.shape[0] else take_rows(X, slice(0, count))
            self._values.append(rows.data)
            self._columns.append(rows.indices)
            self._lengths.append(np.diff(rows.indptr))
        else:
            if self._dense is None:
                self._dense = np.empty(self._shape, dtype=X.dtype)
            self._dense[self._held : self._held + count] = X[:count]
        self._held += count

    def joined(self) -> Rows:
        """The matrix; what it was made of is given back array by array."""
        if self._dense is not None:
            return self._dense
        starts = np.concatenate([[0], np.cumsum(_together(self._lengths), dtype=np.int64)])
        columns = _together(self._columns)
        rows = sparse.csr_matrix((_together(self._values), columns, starts), shape=self._shape)
        rows.has_canonical_format = True  # as that of every block is
        return rows


def _together(parts: list[NDArray[Any]]) -> NDArray[Any]:
    joined = parts[0] if len(parts) == 1 else np.concatenate(parts)
    parts.clear()
    return joined
