"""Cholesky factor of a positive matrix whose rows may differ in size by many orders of magnitude."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from maxmargin._types import Matrix, Vector

_SHIFTS = (0.0, 1e-15, 1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3)


class PositiveFactor:
    """A = S^-1 L L' S^-1 with S the diagonal that gives A ones on its diagonal: features in any units do as well.

    Where rounding has left A a little indefinite, what is missing is added to its diagonal.
    """

    def __init__(self, A: Matrix):
        self._unit = 1.0 / np.sqrt(np.maximum(A.diagonal(), 1e-300))
        scaled = np.asarray_chkfinite(A * self._unit * self._unit[:, None])
        for shift in _SHIFTS:
            self._L, failed = dpotrf(scaled if shift == 0.0 else scaled + shift * np.eye(len(A)), lower=1, clean=0)
            if not failed:
                return
        self._L, failed = dpotrf(_made_positive(scaled), lower=1, clean=0)
        if failed:
            raise np.linalg.LinAlgError("the matrix is not positive")

    def solve(self, right: Vector) -> Vector:
        """The x with A x = right."""
        if len(right) == 0:  # which LAPACK refuses
            return right
        solved: Vector = self._unit * dpotrs(self._L, self._unit * right, lower=1)[0]
        return solved


def _made_positive(A: Matrix) -> Matrix:
    """The symmetric matrix with its eigenvalues raised to what rounding can tell from zero."""
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, 1e-13 * float(np.max(np.abs(values))))
    return np.asarray((vectors * values) @ vectors.T)
