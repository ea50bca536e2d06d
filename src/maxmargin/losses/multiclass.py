"""Losses with one score a class: softmax, and Crammer and Singer's hinge.

Targets are class numbers 0, 1, ..., K - 1. The slope of a row is v = p - e_y with p in the simplex and e_y the unit
vector of its class; its coefficients are beta = -C v = C (e_y - p), which sum to zero over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax, xlog1py, xlogy

from maxmargin._types import Matrix, Vector
from maxmargin.losses.base import Loss

__all__ = ["CrammerSinger", "MulticlassLoss", "Softmax"]

_SIMPLEX_TOLERANCE = 1e-12  # p is a difference of doubles; its sum is 1 only up to rounding


@dataclass(frozen=True)
class MulticlassLoss(Loss):
    """A loss of K scores a row."""

    n_classes: int | None = None
    """K; None leaves it to the largest target, which misses classes that have no rows."""

    def count_classes(self, y: Vector) -> int:
        """K, for rows with these targets."""
        return int(np.max(y)) + 1 if self.n_classes is None else self.n_classes


def in_simplex(p: Matrix) -> NDArray[np.bool_]:
    """Which rows have no negative entry and sum to one, up to rounding."""
    sums_to_one = np.abs(np.sum(p, axis=-1) - 1.0) <= _SIMPLEX_TOLERANCE * p.shape[-1]
    inside: NDArray[np.bool_] = np.all(p >= -_SIMPLEX_TOLERANCE, axis=-1) & sums_to_one
    return inside


def unit_vectors(y: Vector, n_classes: int) -> Matrix:
    """Row i is the unit vector of class y_i."""
    return np.asarray(np.arange(n_classes) == class_column(y), dtype=np.float64)


def class_column(y: Vector) -> NDArray[np.int64]:
    """Class numbers as a column of integers."""
    return np.asarray(y, dtype=np.int64).reshape(-1, 1)


@dataclass(frozen=True)
class CrammerSinger(MulticlassLoss):
    """Crammer and Singer's hinge: the own score must exceed every other by one.

        l_y(f) = max(0, 1 - (f_y - max_{k != y} f_k)) = max_k g_k - f_y        g_k = f_k + [k != y]

    The slopes are v = p - e_y for every p in the simplex that is zero outside the classes with the largest g_k, and

        l_y*(v) = v_y    for v + e_y in the simplex, else infinity.

    A row is optimal when p_k (max_l g_l - g_k) = 0 for every class k. As a curve it is l(g) = max_k g_k of rows of
    raised scores, with l*(u) = 0 on the simplex; the target enters through `score_value`.

    Crammer and Singer, Journal of Machine Learning Research 2, 2001.
    """

    name: ClassVar[str] = "Crammer-Singer"
    formula: ClassVar[str] = "max(0, 1 + max_{k != y_i} f_ik - f_iy)"

    def value(self, z: Matrix) -> Vector:
        """The largest entry of each row."""
        largest: Vector = np.max(z, axis=-1)
        return largest

    def subgradient(self, z: Matrix) -> Matrix:
        """The unit vector of the first of the largest entries."""
        return unit_vectors(np.argmax(z, axis=-1), z.shape[-1])

    def conjugate(self, u: Matrix) -> Vector:
        """0 on the simplex."""
        return np.where(in_simplex(u), 0.0, np.inf)

    def score_value(self, f: Matrix, y: Vector) -> Vector:
        """The largest g_k - f_y, which is zero for the own class."""
        own = np.take_along_axis(f, class_column(y), axis=-1)
        return self.value(f - own + (1.0 - unit_vectors(y, f.shape[-1])))

    def score_slope(self, f: Matrix, y: Vector) -> Matrix:
        """The unit vector of the worst rival minus that of the own class; 0 where the margin is at least one."""
        own = unit_vectors(y, f.shape[-1])
        raised = f - np.take_along_axis(f, class_column(y), axis=-1) + (1.0 - own)
        return np.where(self.value(raised)[:, None] > 0.0, self.subgradient(raised) - own, 0.0)

    def score_conjugate(self, v: Matrix, y: Vector) -> Vector:
        """v_y, where v + e_y is in the simplex."""
        own = unit_vectors(y, v.shape[-1])
        return np.where(in_simplex(v + own), np.sum(v * own, axis=-1), np.inf)

    def score_violation(self, f: Matrix, v: Matrix, y: Vector) -> Vector:
        """Largest over the classes of the smaller of p_k and max_l g_l - g_k: neither is negative, one must vanish."""
        own = unit_vectors(y, f.shape[-1])
        raised = f - np.take_along_axis(f, class_column(y), axis=-1) + (1.0 - own)
        behind = self.value(raised)[:, None] - raised
        p = v + own
        # A negative p_k is no multiplier at all, and neither is a row that does not sum to one.
        worst = np.max(np.where(p < 0.0, -p, np.minimum(p, behind)), axis=-1)
        violation: Vector = np.maximum(worst, np.abs(np.sum(v, axis=-1)))
        return violation


@dataclass(frozen=True)
class Softmax(MulticlassLoss):
    """The softmax loss.

        l_y(f) = log sum_k exp(f_k) - f_y

    With p the softmax of f, the slope is v = p - e_y, and

        l_y*(v) = sum_k p_k log p_k    for p = v + e_y in the simplex, else infinity.

    As a curve it is l(f) = log sum_k exp(f_k) of rows of scores; the target enters through `score_value`.
    """

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
