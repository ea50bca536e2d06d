"""What the losses with one score a class share.

Targets are class numbers 0, 1, ..., K - 1. The slope of a row is v = p - e_y with p in the simplex and e_y the unit
vector of its class; its coefficients are beta = -C v = C (e_y - p), which sum to zero over the classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Matrix, Vector
from maxmargin.losses.base import Loss

_SIMPLEX_TOLERANCE = 1e-12  # p is a difference of doubles; its sum is 1 only up to rounding


@dataclass(frozen=True)
class MulticlassLoss(Loss):
    """A loss of K scores a row."""

    n_classes: int | None = None
    """K; None leaves it to the largest target, which misses classes that have no rows."""

    def count_classes(self, y: Vector) -> int:
        """K, for rows with these targets."""
        return int(np.max(y)) + 1 if self.n_classes is None else self.n_classes

    def multipliers(self, beta: Matrix, y: Vector) -> Matrix:
        """Multipliers alpha = beta."""
        return beta

    def coefficients(self, alpha: Matrix, y: Vector) -> Matrix:
        """Coefficients beta = alpha."""
        return alpha


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
