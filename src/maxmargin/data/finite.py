"""Where rows of numbers are not finite, found at the cost of a sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._types import Rows

_BLOCK_ENTRIES = 1 << 20  # checked together


class NotFinite(NamedTuple):
    """The first entry that is NaN or infinite, and how many there are."""

    row: int
    column: int
    value: float
    n_such: int


def first_not_finite(X: Rows) -> NotFinite | None:
    """The first entry of dense or CSR rows that is NaN or infinite; None where all are numbers.

    The sum of all entries is finite only if they are, up to overflow; so only rows that are suspicious are checked
    entry by entry, a block at a time.
    """
    values = X.data if sparse.issparse(X) else X
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.sum(values)):
            return None
    count, first = 0, None
    step = max(1, _BLOCK_ENTRIES // max(1, int(np.prod(values.shape[1:]))))
    for top in range(0, len(values), step):
        found = np.argwhere(~np.isfinite(values[top : top + step]))
        count += len(found)
        if first is None and len(found):
            first = (top + int(found[0, 0]), *found[0, 1:].tolist())
    if first is None:
        return None
    row, column = place_of_entry(X, first[0]) if sparse.issparse(X) else first
    return NotFinite(row, column, values[first], count)


def place_of_entry(X: Rows, entry: int) -> tuple[int, int]:
    """Row and column of entry number `entry`: of those stored where rows are CSR, of all where they are dense."""
    if not sparse.issparse(X):
        return divmod(entry, int(X.shape[1]))
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1, int(X.indices[entry])
