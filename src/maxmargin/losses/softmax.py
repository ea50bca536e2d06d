"""The softmax loss: one score a class, one loss a row.

    l_y(f) = log sum_k exp(f_k) - f_y

With e_y the unit vector of the row's class and p the softmax of f, the slope is v = p - e_y, and

    l_y*(v) = sum_k p_k log p_k    for p = v + e_y in the simplex, else infinity.

The coefficients of a row are beta = -C v = C (e_y - p), one a class; they sum to zero over the classes.
Targets are class numbers 0, 1, ..., K - 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp, softmax, xlog1py, xlogy

from maxmargin._types import Matrix, Vector
from maxmargin.losses.multiclass import MulticlassLoss, class_column, in_simplex, unit_vectors


@dataclass(frozen=True)
class Softmax(MulticlassLoss):
    """l(f) = log sum_k exp(f_k) of rows of scores; the target enters through `score_value`."""

    name: ClassVar[str] = "softmax"
    formula: ClassVar[str] = "(log sum_k exp(f_ik) - f_iy)"

    def value(self, z: Matrix) -> Vector:
        """The logarithm of sum_k exp(z_k), one a row of scores."""
        total: Vector = logsumexp(z, axis=-1)
        return total

    def subgradient(self, z: Matrix) -> Matrix:
        """The class probabilities of each row."""
        p: Matrix = softmax(z, axis=-1)
        return p

    def conjugate(self, u: Matrix) -> Vector:
        """sum_k u_k log u_k on the simplex."""
        p = np.maximum(u, 0.0)
        return np.where(in_simplex(u), np.sum(xlogy(p, p), axis=-1), np.inf)

    def score_value(self, f: Matrix, y: Vector) -> Vector:
        """The logarithm of sum_k exp(f_k - f_y), which keeps the digits of a loss near zero."""
        return self.value(f - np.take_along_axis(f, class_column(y), axis=-1))

    def score_slope(self, f: Matrix, y: Vector) -> Matrix:
        """Probabilities minus the unit vector of the target."""
        return self.subgradient(f) - unit_vectors(y, f.shape[-1])

    def score_conjugate(self, v: Matrix, y: Vector) -> Vector:
        """Negative entropy of p = v + e_y; p_y near 1 keeps the digits that v_y has."""
        own = unit_vectors(y, v.shape[-1])
        others = np.maximum(v, 0.0) * (1.0 - own)
        below_one = np.clip(np.sum(v * own, axis=-1), -1.0, 0.0)
        entropy = np.sum(xlogy(others, others), axis=-1) + xlog1py(1.0 + below_one, below_one)
        return np.where(np.isfinite(self.conjugate(v + own)), entropy, np.inf)

    def score_violation(self, f: Matrix, v: Matrix, y: Vector) -> Vector:
        """Largest difference between the slope and v over the classes."""
        worst: Vector = np.max(np.abs(self.score_slope(f, y) - v), axis=-1)
        return worst
