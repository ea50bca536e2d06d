"""The logistic loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from maxmargin._types import Vector
from maxmargin.losses.base import MarginLoss


@dataclass(frozen=True)
class Logistic(MarginLoss):
    """l(z) = log(1 + exp(-z));  l*(u) = p log p + (1 - p) log(1 - p) with p = -u in [0, 1], else infinity."""

    name: ClassVar[str] = "logistic"
    formula: ClassVar[str] = "log(1 + exp(-y_i f_i))"

    def value(self, z: Vector) -> Vector:
        """log(1 + exp(-z)) without overflow."""
        return np.logaddexp(0.0, -z)

    def subgradient(self, z: Vector) -> Vector:
        """-1 / (1 + exp(z))."""
        slope: Vector = -expit(-z)
        return slope

    def subdifferential(self, z: Vector) -> tuple[Vector, Vector]:
        """The derivative, twice: the curve is smooth."""
        slope = self.subgradient(z)
        return slope, slope

    def curvature(self, z: Vector) -> Vector:
        """The variance p (1 - p), with p the probability of being wrong."""
        curvature: Vector = expit(z) * expit(-z)
        return curvature

    def score_kinks(self, y: Vector) -> list[Vector]:
        """None: the curve is smooth."""
        return []

    def conjugate(self, u: Vector) -> Vector:
        """Negative entropy of p = -u."""
        p = np.clip(-u, 0.0, 1.0)
        return np.where((u >= -1.0) & (u <= 0.0), xlogy(p, p) + xlog1py(1.0 - p, -p), np.inf)

    def conjugate_subdifferential(self, u: Vector) -> tuple[Vector, Vector]:
        """log((1 - p) / p): the score at which the slope is u."""
        p = np.clip(-u, 0.0, 1.0)
        with np.errstate(divide="ignore"):
            z = np.log1p(-p) - np.log(p)
        return z, z
