"""Cholesky factor of a positive matrix whose rows may differ in size by many orders of magnitude."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from maxmargin._types import Matrix, Vector


class PositiveFactor:
    """A = S^-1 L L' S^-1 with S the diagonal that gives A ones on its diagonal: features in any units do as well.

    Where rounding has left A a little indefinite, what is missing is added to its diagonal.
    """

    def __init__(self, A: Matrix):
        self._unit = 1.0 / np.sqrt(np.maximum(np.diag(A), 1e-300))
        scaled = A * np.outer(self._unit, self._unit)
        shift = 0.0
        while True:
            try:
                self._factor = cho_factor(scaled + shift * np.eye(len(A)), lower=True, overwrite_a=True)
                return
            except np.linalg.LinAlgError:
                shift = max(1e-15, 100.0 * shift)
                if shift > 1e-3:
                    self._factor = cho_factor(_made_positive(scaled), lower=True, overwrite_a=True)
                    return

    def solve(self, right: Vector) -> Vector:
        """The x with A x = right."""
        solved: Vector = self._unit * cho_solve(self._factor, self._unit * right)
        return solved


def _made_positive(A: Matrix) -> Matrix:
    """The symmetric matrix with its eigenvalues raised to what rounding can tell from zero."""
    values, vectors = np.linalg.eigh(A)
    values = np.maximum(values, 1e-13 * float(np.max(np.abs(values))))
    return np.asarray((vectors * values) @ vectors.T)
