"""Distances between rows, as precise as exp(-gamma distance) needs them.

|a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> turns distances into one matrix product, but where a and b are long and
close together the terms cancel: the result is off by about eps (|a|^2 + |b|^2), and the kernel by gamma times
that. Where this is more than a few bits, more is done, in this order:

    1. the mean of dense data is moved into the origin, and the product is formed in double precision
    2. where that is still not enough, close pairs are measured again by the sum of squared differences

Data of ordinary scale need neither. Pairs that are not close need no second measure: their k is as good as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Rows, Vector
from maxmargin.backends.threads import over_ranges
from maxmargin.kernels.arithmetic import (
    KernelMatrix,
    in_double,
    inner_products,
    kernel_dtype,
    row_chunks,
    squared_norms,
)

_HARMLESS = 64.0  # gamma (|a|^2 + |b|^2) at which the error of a kernel value is 64 eps: six bits are lost
_CLOSE = 40.0  # gamma |a - b|^2 beyond which k < 1e-17
_CACHED_VALUES = 2**16  # of a temporary array that should not leave the inner caches


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

    dtype = distances.dtype
    fill: Callable[..., int]
    if sparse.issparse(A) or sparse.issparse(B):
        fill, left, right = sparse_distances, _sparse_rows(A, dtype), _sparse_rows(B, dtype)
    else:
        fill, left, right = dense_distances, np.ascontiguousarray(A, dtype), np.ascontiguousarray(B, dtype)
    # Threads share out the columns: a solver asks for few rows a against many rows b.
    over_ranges(lambda start, end, stop: fill(left, right, square, limit, start, end, stop, distances), B.shape[0])


def _sparse_rows(X: Rows, dtype: np.dtype[Any]) -> Any:
    """CSR arrays in the types that the compiled loop knows."""
    from maxmargin._loops.kernel.distances import SparseRows

    X = sparse.csr_array(X)
    columns = X.indices.astype(np.int32 if X.shape[1] < 2**31 else np.int64, copy=False)
    return SparseRows(X.data.astype(dtype, copy=False), columns, X.indptr.astype(np.int64, copy=False))
