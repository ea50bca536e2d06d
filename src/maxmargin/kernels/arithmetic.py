"""Inner products and lengths of rows, dense or CSR, float32 or float64."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows, Vector
from maxmargin.data import as_vectors
from maxmargin.errors import DataError

KernelMatrix: TypeAlias = NDArray[Any]
"""Values of a kernel, one row a left argument: float32 where both sides are float32, float64 otherwise."""

_CHUNK_VALUES = 2**22  # doubles in a temporary copy of some rows: 32 MB
_CHUNK_ROWS = 2048


def as_rows(X: Rows) -> Rows:
    """X as a dense array or a CSR matrix of float32 or float64; copied only where it has to change."""
    hint = " For strings use EditDistance, a FeatureMap or a function of your own."
    return as_vectors(X, "a kernel on vectors", hint)


def as_pair(A: Rows, B: Rows) -> tuple[Rows, Rows]:
    """Both sides as rows with equally many columns; still one object if they were one."""
    left = as_rows(A)
    right = left if B is A else as_rows(B)
    if left.shape[1] != right.shape[1]:
        raise DataError(f"both sides of a kernel need equally many columns, got {left.shape[1]} and {right.shape[1]}.")
    return left, right


def kernel_dtype(A: Rows, B: Rows) -> type[np.floating[Any]]:
    """float32 where both sides are float32, float64 otherwise."""
    single = all(getattr(side, "dtype", None) == np.float32 for side in (A, B))
    return np.float32 if single else np.float64


def inner_products(A: Rows, B: Rows) -> KernelMatrix:
    """Matrix of <a, b>; dense, because a kernel matrix is."""
    if sparse.issparse(A) and sparse.issparse(B):
        # SciPy's product needs memory for every column, even if hardly any is used.
        A, B = _used_columns(A, B) if A.shape[1] > A.nnz + B.nnz else (A, B)
        return np.ascontiguousarray((A @ B.T).toarray())
    return np.ascontiguousarray(A @ B.T)


def _used_columns(A: Rows, B: Rows) -> tuple[Rows, Rows]:
    """Drop the columns that are empty in both."""
    indices = np.concatenate([X.indices[: X.nnz] for X in (A, B)])
    used, place = np.unique(indices, return_inverse=True)
    return (
        sparse.csr_array((A.data[: A.nnz], place[: A.nnz], A.indptr), shape=(A.shape[0], len(used))),
        sparse.csr_array((B.data[: B.nnz], place[A.nnz :], B.indptr), shape=(B.shape[0], len(used))),
    )


def row_chunks(X: Rows) -> Iterator[slice]:
    """Consecutive rows, few enough to be copied in double precision."""
    n_values = X.nnz if sparse.issparse(X) else X.size
    width = max(1, n_values // max(1, X.shape[0]))
    step = min(_CHUNK_ROWS, max(1, _CHUNK_VALUES // width))
    for start in range(0, X.shape[0], step):
        yield slice(start, min(start + step, X.shape[0]))


def in_double(X: Rows, centre: Vector | None = None) -> Rows:
    """X in double precision, with the row `centre` subtracted from every row of a dense X."""
    return X.astype(np.float64, copy=False) if centre is None else np.subtract(X, centre, dtype=np.float64)


def squared_norms(X: Rows, centre: Vector | None = None) -> Vector:
    """|x|^2, or |x - centre|^2, of every row in double precision."""
    norms = np.empty(X.shape[0])
    for chunk in row_chunks(X):
        rows = in_double(X[chunk], centre)
        if sparse.issparse(rows):
            row_of_value = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
            norms[chunk] = np.bincount(row_of_value, weights=rows.data**2, minlength=rows.shape[0])
        else:
            norms[chunk] = np.vecdot(rows, rows)
    return norms


def integer_power(base: KernelMatrix, exponent: int) -> KernelMatrix:
    """Raise `base` to a whole power by repeated squaring, which overwrites it; pow() would be far slower."""
    result: KernelMatrix | None = None
    while exponent > 0:
        if exponent & 1:
            result = base.copy() if result is None else np.multiply(result, base, out=result)
        exponent >>= 1
        if exponent > 0:
            np.multiply(base, base, out=base)
    return np.ones_like(base) if result is None else result
