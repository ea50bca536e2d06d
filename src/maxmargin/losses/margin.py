"""Losses of the margin y f: hinge, squared hinge, the wall that both become when C is infinite, and logistic."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import expit, xlog1py, xlogy

from maxmargin._loops.loss_curve import LOGISTIC, Curve
from maxmargin._types import Vector
from maxmargin.losses.base import DualBox, MarginLoss, distance_to_interval

__all__ = ["HardMargin", "Hinge", "Logistic", "SquaredHinge"]


@dataclass(frozen=True)
class Hinge(MarginLoss):
    """l(z) = max(0, 1 - z);  l*(u) = u on [-1, 0], else infinity."""

    name: ClassVar[str] = "hinge"
    formula: ClassVar[str] = "max(0, 1 - y_i f_i)"

    def value(self, z: Vector) -> Vector:
        """max(0, 1 - z)."""
        return np.maximum(0.0, 1.0 - z)

    def subgradient(self, z: Vector) -> Vector:
        """-1 before the kink, 0 at it and after."""
        return np.where(z < 1.0, -1.0, 0.0)

    def conjugate(self, u: Vector) -> Vector:
        """Equal to u on [-1, 0], infinite elsewhere."""
        return np.where((u >= -1.0) & (u <= 0.0), u, np.inf)

    def dual_box(self, C: Vector) -> DualBox:
        """0 <= alpha <= C, linear term alpha."""
        zero = np.zeros_like(C)
        return DualBox(lower=zero, upper=C, linear=np.ones_like(C), absolute=zero, diagonal=zero)


@dataclass(frozen=True)
class SquaredHinge(MarginLoss):
    """l(z) = max(0, 1 - z)^2;  l*(u) = u + u^2 / 4 for u <= 0, else infinity."""

    name: ClassVar[str] = "squared hinge"
    formula: ClassVar[str] = "max(0, 1 - y_i f_i)^2"

    def value(self, z: Vector) -> Vector:
        """max(0, 1 - z)^2."""
        return np.square(np.maximum(0.0, 1.0 - z))

    def subgradient(self, z: Vector) -> Vector:
        """-2 max(0, 1 - z)."""
        return -2.0 * np.maximum(0.0, 1.0 - z)

    def conjugate(self, u: Vector) -> Vector:
        """Equal to u + u^2 / 4 for u <= 0, infinite elsewhere."""
        return np.where(u <= 0.0, u + np.square(u) / 4.0, np.inf)

    def dual_box(self, C: Vector) -> DualBox:
        """No upper bound: alpha >= 0, linear term alpha, and 1 / (2 C) added to the diagonal of the kernel matrix."""
        zero = np.zeros_like(C)
        return DualBox(zero, np.full_like(C, np.inf), np.ones_like(C), zero, 1.0 / (2.0 * C))


@dataclass(frozen=True)
class HardMargin(MarginLoss):
    """l(z) = 0 for z >= 1, else infinity;  l*(u) = u for u <= 0, else infinity.

    The limit of both hinges for C to infinity. C times it is itself, so problems use it with C = 1.
    """

    name: ClassVar[str] = "hard margin"
    formula: ClassVar[str] = "wall(y_i f_i >= 1)"

    def value(self, z: Vector) -> Vector:
        """0 behind the wall, infinite before it."""
        return np.where(z >= 1.0, 0.0, np.inf)

    def subgradient(self, z: Vector) -> Vector:
        """0 is a subgradient wherever the curve is finite."""
        return np.zeros_like(z)

    def conjugate(self, u: Vector) -> Vector:
        """Equal to u for u <= 0, infinite elsewhere."""
        return np.where(u <= 0.0, u, np.inf)

    def violation(self, z: Vector, u: Vector) -> Vector:
        """As for any loss, with multipliers counted as shares of their sum: here they have no scale of their own."""
        total = float(np.sum(np.abs(u))) or 1.0
        return np.minimum(
            distance_to_interval(u, *self.subdifferential(z)) / total,
            distance_to_interval(z, *self.conjugate_subdifferential(u)),
        )

    def dual_box(self, C: Vector) -> DualBox:
        """No upper bound: alpha >= 0, linear term alpha."""
        zero = np.zeros_like(C)
        return DualBox(zero, np.full_like(C, np.inf), np.ones_like(C), zero, zero)

    @property
    def curve(self) -> None:
        """None: no loop knows a wall."""
        return


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

    def kinks(self) -> list[float]:
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

    @cached_property
    def _numbers(self) -> Curve:
        """The one kind that loops have besides quadratic conjugates."""
        return Curve(LOGISTIC, is_margin=True, low=-1.0, high=0.0)
