"""Is it a kernel? Mercer's condition, tested on a sample.

k is a kernel if and only if for every finite set of points the matrix K of k(x_i, x_j) is symmetric and
positive semidefinite: v' K v >= 0 for all v. One set of points can disprove that, and a vector v with
v' K v < 0 is the proof; no number of points can prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.kernels.base import Kernel, as_rows, non_negative
from maxmargin.kernels.vectors import as_kernel

_ENTRY_ERROR = 64  # eps of relative error that the entries of K may have before the eigenvalues are computed


@dataclass(frozen=True, eq=False)
class MercerReport:
    """What a sample says about a kernel; true in an `if` when nothing speaks against it."""

    is_kernel: bool
    """No contradiction on this sample. That is not a proof: other points may bring one."""

    symmetric: bool
    """k(x, z) = k(z, x) on this sample, up to rounding."""

    smallest_eigenvalue: float
    """Of the symmetric part of K, the smallest v' K v over unit vectors v."""

    rounding: float
    """What rounding errors alone can make of an eigenvalue that is 0."""

    witness: Vector | None
    """A unit vector v with v' K v < -rounding, which anybody can check, or None."""

    explanation: str
    """The finding in one sentence."""

    def __bool__(self) -> bool:
        return self.is_kernel

    def __str__(self) -> str:
        return (
            f"{self.explanation}\n"
            f"  symmetric            {'yes' if self.symmetric else 'no'}\n"
            f"  smallest eigenvalue  {self.smallest_eigenvalue:.3g}\n"
            f"  rounding             {self.rounding:.3g}"
        )


def mercer_check(kernel: Kernel | str | Callable[[Any, Any], Any], X: Rows, tol: float | None = None) -> MercerReport:
    """Look for a contradiction to Mercer's condition on the rows of X.

    Parameters
    ----------
    kernel
        Anything `as_kernel` takes. For `"precomputed"`, X is the kernel matrix.
    X
        The sample. The check takes time in proportion to the cube of its size.
    tol
        How far below 0 an eigenvalue may lie, and how far apart k(x, z) and k(z, x); rounding by default.

    >>> import numpy as np
    >>> report = mercer_check(lambda x, z: 1 - np.sum((x - z) ** 2), np.array([[0.0], [2.0]]))
    >>> report.is_kernel, round(report.smallest_eigenvalue, 6)
    (False, -2.0)
    """
    kernel = as_kernel(kernel)
    K, eps = _gram_matrix(kernel, X)
    if not np.all(np.isfinite(K)):
        i, j = np.argwhere(~np.isfinite(K))[0]
        raise DataError(f"k(x_{i}, x_{j}) = {K[i, j]} for {kernel}; a kernel has finite values. Scale the data down.")
    # The largest sum of |K| along a row bounds every eigenvalue.
    default = _ENTRY_ERROR * len(K) * eps * float(np.abs(K).sum(axis=1).max())
    rounding = default if tol is None else non_negative("tol", tol)
    symmetric = bool(np.abs(K - K.T).max() <= rounding)
    eigenvalues, eigenvectors = np.linalg.eigh((K + K.T) / 2)
    smallest = float(eigenvalues[0])
    return MercerReport(
        is_kernel=symmetric and smallest >= -rounding,
        symmetric=symmetric,
        smallest_eigenvalue=smallest,
        rounding=rounding,
        witness=eigenvectors[:, 0].copy() if smallest < -rounding else None,
        explanation=_explanation(kernel, K, symmetric, smallest, rounding),
    )


def _gram_matrix(kernel: Kernel, X: Rows) -> tuple[Matrix, float]:
    """K in double precision, and the relative precision of its entries."""
    if kernel.on == "matrix":
        K = as_rows(X)
        if K.shape[0] != K.shape[1]:
            raise DataError(f"a precomputed kernel matrix must be square, got shape {K.shape}.")
        eps = float(np.finfo(K.dtype).eps)
        K = (K.toarray() if sparse.issparse(K) else K).astype(np.float64)
    else:
        if kernel.on == "vectors" or getattr(X, "dtype", None) == np.float32:
            X = as_rows(X).astype(np.float64, copy=False)
        K, eps = kernel.block(X, X), float(np.finfo(np.float64).eps)
    if len(K) == 0:
        raise DataError("Mercer's condition needs at least one point, got none.")
    return K, eps


def _explanation(kernel: Kernel, K: Matrix, symmetric: bool, smallest: float, rounding: float) -> str:
    if not symmetric:
        i, j = np.unravel_index(np.argmax(np.abs(K - K.T)), K.shape)
        return f"{kernel} is not a kernel: k(x_{i}, x_{j}) = {K[i, j]:g}, but k(x_{j}, x_{i}) = {K[j, i]:g}."
    if smallest < -rounding:
        return (
            f"{kernel} is not a kernel: its matrix on these {len(K)} points has the eigenvalue "
            f"{smallest:.3g}, and the witness v shows v' K v < 0."
        )
    return f"{kernel} meets no contradiction on these {len(K)} points, which is not yet a proof."
