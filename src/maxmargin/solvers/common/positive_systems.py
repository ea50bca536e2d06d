"""Equations with a symmetric positive matrix: by a factor of it, or from its products alone."""

from __future__ import annotations

from collections.abc import Callable

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


def conjugate_gradients(
    product: Callable[[Matrix], Matrix],
    right: Matrix,
    inverse_diagonal: Matrix | float,
    accuracy: float,
    goes_on: Callable[[int], bool],
) -> Matrix:
    """An x with A x = right, nearly, from x = 0; A is symmetric, and not negative. Unknowns may be a vector or a table.

    `product` gives A x, `inverse_diagonal` scales the steps. They end where what is missing, so scaled, is smaller by
    the factor `accuracy`, or where `goes_on`, given the number of steps so far, says so.
    """
    x, residual = np.zeros_like(right), right
    z = inverse_diagonal * residual
    towards, rho = z, float(np.vdot(residual, z))
    goal, steps = accuracy**2 * rho, 0
    while rho > goal and goes_on(steps):
        along = product(towards)
        curvature = float(np.vdot(towards, along))
        if not curvature > 0.0:  # rounding has left the range of a singular A
            break
        size = rho / curvature
        x, residual = x + size * towards, residual - size * along
        z = inverse_diagonal * residual
        rho, before = float(np.vdot(residual, z)), rho
        towards = z + (rho / before) * towards
        steps += 1
    return x
