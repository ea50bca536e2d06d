"""Losses of the residual f - y: squared, absolute, tilted, and those that forgive what is smaller than epsilon."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.errors import ParameterError
from maxmargin.losses.base import DualBox, ResidualLoss

__all__ = ["Absolute", "EpsilonInsensitive", "Pinball", "Squared", "SquaredEpsilonInsensitive"]


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

    def conjugate(self, u: Vector) -> Vector:
        """u^2 / 2."""
        return np.square(u) / 2.0

    def dual_box(self, C: Vector) -> DualBox:
        """No bounds; 1 / C added to the diagonal of the kernel matrix."""
        zero = np.zeros_like(C)
        return DualBox(np.full_like(C, -np.inf), np.full_like(C, np.inf), zero, zero, 1.0 / C)


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

    def conjugate(self, u: Vector) -> Vector:
        """Equal to epsilon |u| on [-1, 1], infinite elsewhere."""
        return np.where(np.abs(u) <= 1.0, self.epsilon * np.abs(u), np.inf)

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

    def conjugate(self, u: Vector) -> Vector:
        """Equal to epsilon |u| + u^2 / 4."""
        return self.epsilon * np.abs(u) + np.square(u) / 4.0

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


@dataclass(frozen=True)
class Pinball(ResidualLoss):
    """l(r) = max(-quantile r, (1 - quantile) r);  l*(u) = 0 on [-quantile, 1 - quantile], else infinity.

    Its sum is smallest where that share of the targets lies below: 1/2 is half the absolute loss, and gives the median.
    """

    quantile: float = 0.5
    name: ClassVar[str] = "pinball"
    formula: ClassVar[str] = "max(quantile (y_i - f_i), (1 - quantile) (f_i - y_i))"

    def __post_init__(self) -> None:
        q = self.quantile
        is_number = isinstance(q, Real) and not isinstance(q, (bool, np.bool_))
        if not is_number or not 0.0 < float(q) < 1.0:
            raise ParameterError(
                f"quantile must be a number between 0 and 1, both excluded, got quantile={q!r}. It is the share of the "
                "targets that shall lie below the predictions, such as 0.9."
            )
        object.__setattr__(self, "quantile", float(q))

    def value(self, z: Vector) -> Vector:
        """The larger of -quantile r and (1 - quantile) r."""
        return np.maximum(-self.quantile * z, (1.0 - self.quantile) * z)

    def subgradient(self, z: Vector) -> Vector:
        """-quantile below the target, 1 - quantile above it, 0 at it."""
        return np.where(z > 0.0, 1.0 - self.quantile, np.where(z < 0.0, -self.quantile, 0.0))

    def conjugate(self, u: Vector) -> Vector:
        """0 on [-quantile, 1 - quantile], infinite elsewhere."""
        return np.where((u >= -self.quantile) & (u <= 1.0 - self.quantile), 0.0, np.inf)

    def dual_box(self, C: Vector) -> DualBox:
        """-(1 - quantile) C <= alpha <= quantile C, and no other term."""
        zero = np.zeros_like(C)
        return DualBox(-(1.0 - self.quantile) * C, self.quantile * C, zero, zero, zero)
