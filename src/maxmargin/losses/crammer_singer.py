"""Crammer and Singer's hinge for many classes: the own score must exceed every other by one.

    l_y(f) = max(0, 1 - (f_y - max_{k != y} f_k)) = max_k g_k - f_y        g_k = f_k + [k != y]

With e_y the unit vector of the row's class, the slopes are v = p - e_y for every p in the simplex that is zero outside
the classes with the largest g_k, and

    l_y*(v) = v_y    for v + e_y in the simplex, else infinity.

A row is optimal when p_k (max_l g_l - g_k) = 0 for every class k.

Crammer and Singer, Journal of Machine Learning Research 2, 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Matrix, Vector
from maxmargin.losses.multiclass import MulticlassLoss, class_column, in_simplex, unit_vectors


@dataclass(frozen=True)
class CrammerSinger(MulticlassLoss):
    """l(g) = max_k g_k of rows of raised scores; l*(u) = 0 on the simplex. The target enters through `score_value`."""

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
