"""The squared loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.losses.base import DualBox, ResidualLoss


@dataclass(frozen=True)
class Squared(ResidualLoss):
    """l(r) = r^2 / 2;  l*(u) = u^2 / 2."""

    name: ClassVar[str] = "squared"
    formula: ClassVar[str] = "1/2 (f_i - y_i)^2"

    def value(self, z: Vector) -> Vector:
        """r^2 / 2."""
        return np.square(z) / 2.0

    def subgradient(self, z: Vector) -> Vector:
        """The residual itself."""
        return np.array(z, dtype=np.float64)

    def subdifferential(self, z: Vector) -> tuple[Vector, Vector]:
        """The derivative, twice: the curve is smooth."""
        return z, z

    def curvature(self, z: Vector) -> Vector:
        """1 everywhere."""
        return np.ones_like(z)

    def score_kinks(self, y: Vector) -> list[Vector]:
        """None: the curve is smooth."""
        return []

    def conjugate(self, u: Vector) -> Vector:
        """u^2 / 2."""
        return np.square(u) / 2.0

    def conjugate_subdifferential(self, u: Vector) -> tuple[Vector, Vector]:
        """The residual with slope u is u."""
        return u, u

    def dual_box(self, C: Vector) -> DualBox:
        """No bounds; 1 / C added to the diagonal of the kernel matrix."""
        zero = np.zeros_like(C)
        return DualBox(np.full_like(C, -np.inf), np.full_like(C, np.inf), zero, zero, 1.0 / C)
