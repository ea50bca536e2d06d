"""From rows in memory to the rows that compiled loops take, without a copy where the layout allows it.

Copied are: Fortran-ordered matrices (a loop over rows would stride through memory), rows that were selected from the
user's data, integers and halves, and 64-bit column numbers that fit 32 bits (only the numbers, not the values).
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._types import Rows


def loop_rows(X: Rows) -> DenseRows | CSRRows:
    """Rows for compiled loops, in float32 or float64 as the user has them."""
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    if not sparse.issparse(X):
        return DenseRows(np.ascontiguousarray(X, dtype=dtype))
    columns = X.indices if X.shape[1] > np.iinfo(np.int32).max else X.indices.astype(np.int32, copy=False)
    return CSRRows(X.data.astype(dtype, copy=False), columns, X.indptr.astype(np.int64, copy=False))
