"""Losses of a residual that forgive what is smaller than epsilon, and the absolute value, which forgives nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.errors import ParameterError
from maxmargin.losses.base import DualBox, ResidualLoss


def _check_epsilon(epsilon: float) -> None:
    if not (np.isfinite(epsilon) and epsilon >= 0.0):
        raise ParameterError(
            f"epsilon must be zero or a positive number, got epsilon={epsilon!r}. "
            "It is the half-width of the tube inside which errors cost nothing, in the units of y."
        )


@dataclass(frozen=True)
class EpsilonInsensitive(ResidualLoss):
    """l(r) = max(0, |r| - epsilon);  l*(u) = epsilon |u| on [-1, 1], else infinity."""

    epsilon: float = 0.1
    name: ClassVar[str] = "epsilon-insensitive"
    formula: ClassVar[str] = "max(0, |f_i - y_i| - epsilon)"

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def value(self, z: Vector) -> Vector:
        """max(0, |r| - epsilon)."""
        return np.maximum(0.0, np.abs(z) - self.epsilon)

    def subgradient(self, z: Vector) -> Vector:
        """The sign of the residual outside the tube, 0 in it and on its walls."""
        return np.where(np.abs(z) > self.epsilon, np.sign(z), 0.0)

    def subdifferential(self, z: Vector) -> tuple[Vector, Vector]:
        """[-1, 0] on the lower wall, [0, 1] on the upper one, one number elsewhere."""
        e = self.epsilon
        low = np.where(z <= -e, -1.0, np.where(z > e, 1.0, 0.0))
        high = np.where(z >= e, 1.0, np.where(z < -e, -1.0, 0.0))
        return low, high

    def curvature(self, z: Vector) -> Vector:
        """0: three straight pieces."""
        return np.zeros_like(z)

    def score_kinks(self, y: Vector) -> list[Vector]:
        """The walls of the tube."""
        return [y - self.epsilon, y + self.epsilon]

    def conjugate(self, u: Vector) -> Vector:
        """Equal to epsilon |u| on [-1, 1], infinite elsewhere."""
        return np.where(np.abs(u) <= 1.0, self.epsilon * np.abs(u), np.inf)

    def conjugate_subdifferential(self, u: Vector) -> tuple[Vector, Vector]:
        """The wall on the side of u; everything outside it at |u| = 1; the whole tube at u = 0."""
        e = self.epsilon
        low = np.where(u <= -1.0, -np.inf, np.where(u > 0.0, e, -e))
        high = np.where(u >= 1.0, np.inf, np.where(u < 0.0, -e, e))
        return low, high

    def dual_box(self, C: Vector) -> DualBox:
        """-C <= alpha <= C, minus epsilon |alpha|."""
        zero = np.zeros_like(C)
        return DualBox(-C, C, zero, np.full_like(C, self.epsilon), zero)


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(ResidualLoss):
    """l(r) = max(0, |r| - epsilon)^2;  l*(u) = epsilon |u| + u^2 / 4."""

    epsilon: float = 0.1
    name: ClassVar[str] = "squared epsilon-insensitive"
    formula: ClassVar[str] = "max(0, |f_i - y_i| - epsilon)^2"

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)

    def value(self, z: Vector) -> Vector:
        """max(0, |r| - epsilon)^2."""
        return np.square(np.maximum(0.0, np.abs(z) - self.epsilon))

    def subgradient(self, z: Vector) -> Vector:
        """Twice what stands out of the tube, with its sign."""
        return 2.0 * np.sign(z) * np.maximum(0.0, np.abs(z) - self.epsilon)

    def subdifferential(self, z: Vector) -> tuple[Vector, Vector]:
        """The derivative, twice: the curve is smooth."""
        slope = self.subgradient(z)
        return slope, slope

    def curvature(self, z: Vector) -> Vector:
        """2 outside the tube, 0 in it."""
        return np.where(np.abs(z) > self.epsilon, 2.0, 0.0)

    def score_kinks(self, y: Vector) -> list[Vector]:
        """The walls of the tube, where the curve bends."""
        return [y - self.epsilon, y + self.epsilon]

    def conjugate(self, u: Vector) -> Vector:
        """Equal to epsilon |u| + u^2 / 4."""
        return self.epsilon * np.abs(u) + np.square(u) / 4.0

    def conjugate_subdifferential(self, u: Vector) -> tuple[Vector, Vector]:
        """The wall on the side of u plus u / 2; the whole tube at u = 0."""
        e = self.epsilon
        return u / 2.0 + np.where(u > 0.0, e, -e), u / 2.0 + np.where(u < 0.0, -e, e)

    def dual_box(self, C: Vector) -> DualBox:
        """No bounds, minus epsilon |alpha|, and 1 / (2 C) added to the diagonal of the kernel matrix."""
        free = np.full_like(C, np.inf)
        return DualBox(-free, free, np.zeros_like(C), np.full_like(C, self.epsilon), 1.0 / (2.0 * C))


@dataclass(frozen=True)
class Absolute(EpsilonInsensitive):
    """l(r) = |r|;  l*(u) = 0 on [-1, 1], else infinity."""

    epsilon: float = 0.0
    name: ClassVar[str] = "absolute"
    formula: ClassVar[str] = "|f_i - y_i|"

    def __post_init__(self) -> None:
        if self.epsilon != 0.0:
            raise ParameterError(f"Absolute has no tube; use EpsilonInsensitive(epsilon={self.epsilon!r}).")
