"""What a loss is, and how it meets a row.

A loss is a convex curve l(z) with its conjugate l*(u) = sup_z (u z - l(z)). A row with score f and target y meets it

    as a margin loss      z = y f        y is -1 or +1    (hinge, squared hinge, logistic)
    as a residual loss    z = f - y      y is a number    (squared, epsilon-insensitive, absolute)

The rest of the library speaks of scores only: l_y(f) and its conjugate l_y*(v) in f. With u the slope of the curve,

    margin      v = y u,    l_y*(v) = l*(y v)
    residual    v = u,      l_y*(v) = y v + l*(v)

The multiplier of a row is alpha = -C u; its coefficient in w = sum_i beta_i phi(x_i) is beta = -C v.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._types import Vector


class DualBox(NamedTuple):
    """The part of the dual that the loss brings, where it is a quadratic on an interval.

    -C_i l*(-alpha_i / C_i) = linear_i alpha_i - absolute_i |alpha_i| - 1/2 diagonal_i alpha_i^2
    for lower_i <= alpha_i <= upper_i, and minus infinity elsewhere.
    """

    lower: Vector
    upper: Vector
    linear: Vector
    absolute: Vector
    diagonal: Vector

    @classmethod
    def interval(cls, lower: Vector, upper: Vector) -> DualBox:
        """Bounds alone, for losses whose conjugate is not quadratic between them."""
        zero = np.zeros_like(upper)
        return cls(lower, upper, zero, zero, zero)


def distance_to_interval(x: Vector, low: Vector, high: Vector) -> Vector:
    """How far x is from [low, high]; infinite where the interval is empty (low = inf, high = -inf)."""
    with np.errstate(invalid="ignore"):  # inf - inf appears only where the other side decides
        below, above = low - x, x - high
    return np.fmax(np.fmax(below, above), 0.0)


class Loss(ABC):
    """A convex curve with its conjugate."""

    name: ClassVar[str]
    """What the curve is called."""
    formula: ClassVar[str]
    """The loss of row i, as a certificate writes it."""

    @abstractmethod
    def value(self, z: Vector) -> Vector:
        """The loss l(z)."""

    @abstractmethod
    def subgradient(self, z: Vector) -> Vector:
        """One element of the subdifferential of l at z."""

    @abstractmethod
    def conjugate(self, u: Vector) -> Vector:
        """The conjugate l*(u), the largest u z - l(z) over all z; infinite outside its domain."""

    @abstractmethod
    def score_value(self, f: Vector, y: Vector) -> Vector:
        """The loss l_y(f) of a row with score f and target y."""

    @abstractmethod
    def score_slope(self, f: Vector, y: Vector) -> Vector:
        """One subgradient of l_y at f."""

    @abstractmethod
    def score_conjugate(self, v: Vector, y: Vector) -> Vector:
        """The conjugate of l_y at v."""

    @abstractmethod
    def score_violation(self, f: Vector, v: Vector, y: Vector) -> Vector:
        """How far each row is from v in the subdifferential of l_y at f.

        The nearer of two ways out is counted: moving the slope v until it fits f, or moving the score f until it
        fits v. (A multiplier of 1e-12 far beyond the margin is off by 1e-12, not by its distance to the margin.)
        """

    @abstractmethod
    def multipliers(self, beta: Vector, y: Vector) -> Vector:
        """Multipliers alpha that belong to the coefficients beta."""

    @abstractmethod
    def coefficients(self, alpha: Vector, y: Vector) -> Vector:
        """Coefficients beta that belong to the multipliers alpha, so that w = sum_i beta_i phi(x_i)."""

    def dual_box(self, C: Vector) -> DualBox | None:
        """The quadratic pieces of the dual, or None where the conjugate is not quadratic."""
        return None

    def to_record(self) -> dict[str, Any]:
        """Name and parameters, as plain values."""
        return {"kind": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]  # all are dataclasses


class CurveLoss(Loss):
    """A loss of one number z a row, with subdifferentials that are intervals."""

    @abstractmethod
    def subdifferential(self, z: Vector) -> tuple[Vector, Vector]:
        """Ends of the interval of subgradients of l at z."""

    @abstractmethod
    def conjugate_subdifferential(self, u: Vector) -> tuple[Vector, Vector]:
        """Ends of the interval of z at which u is a subgradient of l."""

    @abstractmethod
    def curvature(self, z: Vector) -> Vector:
        """Second derivative of l at z, away from its kinks."""

    @abstractmethod
    def score_curvature(self, f: Vector, y: Vector) -> Vector:
        """Second derivative of l_y at f, away from its kinks."""

    @abstractmethod
    def score_kinks(self, y: Vector) -> list[Vector]:
        """Scores at which the slope of l_y jumps or bends; empty for a smooth loss."""

    def violation(self, z: Vector, u: Vector) -> Vector:
        """The nearer of: u to the subgradients at z, z to the points where u is a subgradient."""
        return np.minimum(
            distance_to_interval(u, *self.subdifferential(z)),
            distance_to_interval(z, *self.conjugate_subdifferential(u)),
        )


class MarginLoss(CurveLoss):
    """A loss l(y f) of the margin, with labels -1 and +1."""

    def score_value(self, f: Vector, y: Vector) -> Vector:
        """The loss l(y f)."""
        return self.value(y * f)

    def score_slope(self, f: Vector, y: Vector) -> Vector:
        """The slope y l'(y f)."""
        return y * self.subgradient(y * f)

    def score_curvature(self, f: Vector, y: Vector) -> Vector:
        """The second derivative l''(y f), because y^2 = 1."""
        return self.curvature(y * f)

    def score_conjugate(self, v: Vector, y: Vector) -> Vector:
        """The conjugate l*(y v)."""
        return self.conjugate(y * v)

    def score_violation(self, f: Vector, v: Vector, y: Vector) -> Vector:
        """Violation of the curve at z = y f and u = y v."""
        return self.violation(y * f, y * v)

    def multipliers(self, beta: Vector, y: Vector) -> Vector:
        """Multipliers alpha = y beta."""
        return y * beta

    def coefficients(self, alpha: Vector, y: Vector) -> Vector:
        """Coefficients beta = y alpha."""
        return y * alpha


class ResidualLoss(CurveLoss):
    """A loss l(f - y) of the residual, with real targets."""

    def score_value(self, f: Vector, y: Vector) -> Vector:
        """The loss l(f - y)."""
        return self.value(f - y)

    def score_slope(self, f: Vector, y: Vector) -> Vector:
        """The slope l'(f - y)."""
        return self.subgradient(f - y)

    def score_curvature(self, f: Vector, y: Vector) -> Vector:
        """The second derivative l''(f - y)."""
        return self.curvature(f - y)

    def score_conjugate(self, v: Vector, y: Vector) -> Vector:
        """The conjugate y v + l*(v)."""
        return y * v + self.conjugate(v)

    def score_violation(self, f: Vector, v: Vector, y: Vector) -> Vector:
        """Violation of the curve at z = f - y and u = v."""
        return self.violation(f - y, v)

    def multipliers(self, beta: Vector, y: Vector) -> Vector:
        """Multipliers alpha = beta: one a row with a sign, alpha+ - alpha- of the textbooks."""
        return beta

    def coefficients(self, alpha: Vector, y: Vector) -> Vector:
        """Coefficients beta = alpha."""
        return alpha
