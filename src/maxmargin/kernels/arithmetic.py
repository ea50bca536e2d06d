"""Inner products and distances of rows, dense or CSR, float32 or float64.

|a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> turns distances into one matrix product, but where a and b are long and
close together the terms cancel: the result is off by about eps (|a|^2 + |b|^2), and exp(-gamma |a - b|^2) by gamma
times that. Where this is more than a few bits, more is done, in this order:

    1. the mean of dense data is moved into the origin, and the product is formed in double precision
    2. where that is still not enough, close pairs are measured again by the sum of squared differences

Data of ordinary scale need neither. Pairs that are not close need no second measure: their k is as good as 0.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Rows, Vector
from maxmargin.backends.threads import over_ranges
from maxmargin.data.arrays import in_double, row_chunks, squared_norms

KernelMatrix: TypeAlias = NDArray[Any]
"""Values of a kernel, one row a left argument: float32 where both sides are float32, float64 otherwise."""

_CACHED_VALUES = 2**16  # of a temporary array that should not leave the inner caches
_HARMLESS = 64.0  # gamma (|a|^2 + |b|^2) at which the error of a kernel value is 64 eps: six bits are lost
_CLOSE = 40.0  # gamma |a - b|^2 beyond which k < 1e-17


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


def squared_distances(A: Rows, B: Rows, gamma: float) -> KernelMatrix:
    """Matrix of |a - b|^2, precise enough for exp(-gamma |a - b|^2); exactly 0 on the diagonal if A is B."""
    norms_a = squared_norms(A)
    norms_b = norms_a if B is A else squared_norms(B)
    if gamma * _longest(norms_a, norms_b) <= _HARMLESS:
        distances = _by_product(A, B, norms_a, norms_b)
    else:
        distances = _carefully(A, B, gamma)
    if A is B:
        np.fill_diagonal(distances, 0.0)
    return distances


def absolute_distances(A: Rows, B: Rows) -> KernelMatrix:
    """Matrix of |a - b|_1."""
    distances = np.zeros((A.shape[0], B.shape[0]), kernel_dtype(A, B))
    _measure(A, B, distances, square=False, limit=0.0)
    return distances


def _longest(norms_a: Vector, norms_b: Vector) -> float:
    return float(norms_a.max(initial=0.0) + norms_b.max(initial=0.0))


def _by_product(A: Rows, B: Rows, norms_a: Vector, norms_b: Vector) -> KernelMatrix:
    distances = inner_products(A, B)
    distances *= -2.0
    step = max(1, _CACHED_VALUES // max(1, len(norms_b)))
    for start in range(0, len(norms_a), step):
        chunk = slice(start, start + step)
        # |a|^2 + |b|^2 is formed first, so that the matrix is symmetric to the last bit if A is B.
        distances[chunk] += np.add.outer(norms_a[chunk], norms_b).astype(distances.dtype, copy=False)
    return np.maximum(distances, 0.0, out=distances)


def _carefully(A: Rows, B: Rows, gamma: float) -> KernelMatrix:
    """Both steps at the top of this file; some rows at a time are copied in double precision, never all."""
    distances = np.empty((A.shape[0], B.shape[0]), kernel_dtype(A, B))
    if distances.size == 0:
        return distances
    is_dense = not sparse.issparse(A) and not sparse.issparse(B)
    centre = B.mean(axis=0, dtype=np.float64) if is_dense else None
    norms_a, norms_b = squared_norms(A, centre), squared_norms(B, centre)
    for a in row_chunks(A):
        left = in_double(A[a], centre)
        for b in row_chunks(B):
            distances[a, b] = _by_product(left, in_double(B[b], centre), norms_a[a], norms_b[b])
    longest = _longest(norms_a, norms_b)
    if gamma * longest > _HARMLESS:
        error = 8 * np.finfo(np.float64).eps * longest
        _measure(A, B, distances, square=True, limit=_CLOSE / gamma + error)
    return distances


def _measure(A: Rows, B: Rows, distances: KernelMatrix, *, square: bool, limit: float) -> None:
    """Replace distances up to `limit` by the sum of (a_k - b_k)^2 or, without `square`, of |a_k - b_k|."""
    from maxmargin._loops.kernel.distances import dense_distances, sparse_distances  # loaded when needed
    from maxmargin.data.rows import loop_rows

    fill: Any = dense_distances
    if sparse.issparse(A) or sparse.issparse(B):
        fill, A, B = sparse_distances, sparse.csr_array(A), sparse.csr_array(B)
    left, right = (loop_rows(X.astype(distances.dtype, copy=False)) for X in (A, B))
    # Threads share out the columns: a solver asks for few rows a against many rows b.
    over_ranges(lambda start, end, stop: fill(left, right, square, limit, start, end, stop, distances), B.shape[0])
