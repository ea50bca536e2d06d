"""Distances between rows, as precise as exp(-gamma distance) needs them.

|a - b|^2 = |a|^2 + |b|^2 - 2 <a, b> turns distances into one matrix product, but where a and b are long and
close together the terms cancel: the result is off by about eps (|a|^2 + |b|^2), and the kernel by gamma times
that. So there are three ways, from fast to exact, and the first whose error is harmless is taken:

    1. the product as it is, in the precision of the data
    2. the product in double precision, after moving the mean of dense data into the origin
    3. the sum of squared differences, in a compiled loop

Data of ordinary scale take the first, data far from the origin the second. The third remains for rows so far
apart, measured by 1 / sqrt(gamma), that the kernel matrix is the identity but for near copies of a row.
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

_HARMLESS = {np.float32: 1e-5, np.float64: 1e-12}
"""Error of a kernel value that is not worth a slower way."""

_CACHED_VALUES = 2**16  # of a temporary array that should not leave the inner caches


def squared_distances(A: Rows, B: Rows, gamma: float) -> KernelMatrix:
    """Matrix of |a - b|^2, precise enough for exp(-gamma |a - b|^2); exactly 0 on the diagonal if A is B."""
    norms_a = squared_norms(A)
    norms_b = norms_a if B is A else squared_norms(B)
    if _is_harmless(gamma, norms_a, norms_b, kernel_dtype(A, B)):
        distances = _by_product(A, B, norms_a, norms_b)
    else:
        distances = _carefully(A, B, gamma)
    if A is B:
        np.fill_diagonal(distances, 0.0)
    return distances


def _carefully(A: Rows, B: Rows, gamma: float) -> KernelMatrix:
    """Ways 2 and 3; the copies in double precision are of some rows at a time."""
    distances = np.empty((A.shape[0], B.shape[0]), kernel_dtype(A, B))
    if distances.size == 0:
        return distances
    is_dense = not sparse.issparse(A) and not sparse.issparse(B)
    centre = B.mean(axis=0, dtype=np.float64) if is_dense else None
    norms_a, norms_b = squared_norms(A, centre), squared_norms(B, centre)
    if not _is_harmless(gamma, norms_a, norms_b, np.float64):
        return by_differences(A, B, square=True)
    for a in row_chunks(A):
        left = in_double(A[a], centre)
        for b in row_chunks(B):
            distances[a, b] = _by_product(left, in_double(B[b], centre), norms_a[a], norms_b[b])
    return distances


def _is_harmless(gamma: float, norms_a: Vector, norms_b: Vector, dtype: type[np.floating[Any]]) -> bool:
    longest = norms_a.max(initial=0.0) + norms_b.max(initial=0.0)
    return bool(gamma * longest * np.finfo(dtype).eps <= _HARMLESS[dtype])


def _by_product(A: Rows, B: Rows, norms_a: Vector, norms_b: Vector) -> KernelMatrix:
    distances = inner_products(A, B)
    distances *= -2.0
    step = max(1, _CACHED_VALUES // max(1, len(norms_b)))
    for start in range(0, len(norms_a), step):
        chunk = slice(start, start + step)
        # |a|^2 + |b|^2 is formed first, so that the matrix is symmetric to the last bit if A is B.
        distances[chunk] += np.add.outer(norms_a[chunk], norms_b).astype(distances.dtype, copy=False)
    return np.maximum(distances, 0.0, out=distances)


def by_differences(A: Rows, B: Rows, *, square: bool) -> KernelMatrix:
    """Matrix of sum_k (a_k - b_k)^2 or, without `square`, of sum_k |a_k - b_k|."""
    from maxmargin._loops import distances as loops  # compiled code is loaded when it is needed

    dtype = kernel_dtype(A, B)
    result = np.empty((A.shape[0], B.shape[0]), dtype)
    fill: Callable[..., int]
    if sparse.issparse(A) or sparse.issparse(B):
        fill, left, right = loops.sparse_distances, _sparse_rows(A, dtype), _sparse_rows(B, dtype)
    else:
        fill, left, right = (
            loops.dense_distances,
            np.ascontiguousarray(A, dtype),
            np.ascontiguousarray(B, dtype),
        )
    # Threads share out the columns: a solver asks for few rows a against many rows b.
    over_ranges(lambda start, end, stop: fill(left, right, square, start, end, stop, result), B.shape[0])
    return result


def _sparse_rows(X: Rows, dtype: type[np.floating[Any]]) -> Any:
    """CSR arrays in the types that the compiled loop knows."""
    from maxmargin._loops.distances import SparseRows

    X = sparse.csr_array(X)
    columns = X.indices.astype(np.int32 if X.shape[1] < 2**31 else np.int64, copy=False)
    return SparseRows(X.data.astype(dtype, copy=False), columns, X.indptr.astype(np.int64, copy=False))
