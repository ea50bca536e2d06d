"""What a loss is, and how it meets a row.

A loss is a convex curve l(z) with its conjugate l*(u) = sup_z (u z - l(z)). A row with score f and target y meets it

    as a margin loss      z = y f        y is -1 or +1    (hinge, squared hinge, logistic)
    as a residual loss    z = f - y      y is a number    (squared, epsilon-insensitive, absolute)

The rest of the library speaks of scores only: l_y(f) and its conjugate l_y*(v) in f. With u the slope of the curve,

    margin      v = y u,    l_y*(v) = l*(y v)
    residual    v = u,      l_y*(v) = y v + l*(v)

The multiplier of a row is alpha = -C u; its coefficient in w = sum_i beta_i phi(x_i) is beta = -C v.

Where the conjugate is a quadratic on an interval (`DualBox`), a loss says no more than value, subgradient, conjugate
and the numbers of that quadratic; all else follows from these.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict
from functools import cached_property
from inspect import isabstract
from numbers import Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._loops.loss_curve import QUADRATIC, Curve
from maxmargin._types import Vector
from maxmargin.errors import ModelFileError

_EXACT = (-np.inf, -1.0, 0.0, 1.0, np.inf)  # ends of slopes that survive multiplication and division by C
_ROUNDING = 4.0 * float(np.finfo(np.float64).eps)


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
    """How far x is from [low, high]."""
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

    def multipliers(self, beta: Vector, y: Vector) -> Vector:
        """Multipliers alpha that belong to the coefficients beta."""
        return beta

    def coefficients(self, alpha: Vector, y: Vector) -> Vector:
        """Coefficients beta that belong to the multipliers alpha, so that w = sum_i beta_i phi(x_i)."""
        return alpha

    def dual_box(self, C: Vector) -> DualBox | None:
        """The quadratic pieces of the dual, or None where the conjugate is not quadratic."""
        return None

    def domain(self, C: Vector) -> DualBox:
        """The dual box; where the conjugate is not quadratic, the bounds 0 and C alone."""
        box = self.dual_box(C)
        return DualBox.interval(np.zeros_like(C), C) if box is None else box

    @property
    def curve(self) -> Curve | None:
        """What compiled loops know of the loss; None where it is none of theirs."""
        return None

    @property
    def written(self) -> str:
        """The formula with the numbers of this loss in place of their names."""
        formula = self.formula
        for name, value in vars(self).items():
            if isinstance(value, Real):
                formula = formula.replace(name, f"{value:.6g}")
        return formula

    def to_record(self) -> dict[str, Any]:
        """Name and parameters, as plain values."""
        return {"kind": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]  # all are dataclasses


def kinds_of_losses(kind: type[Loss] = Loss) -> Iterator[type[Loss]]:
    """Every loss that there is, also one that a user has defined, each after what it derives from."""
    for each in kind.__subclasses__():
        if not isabstract(each):
            yield each
        yield from kinds_of_losses(each)


def from_record(record: dict[str, Any]) -> Loss:
    """Loss whose `to_record` gave `record`."""
    parameters = dict(record)
    kind = parameters.pop("kind", None)
    for known in kinds_of_losses():
        if known.__name__ == kind:
            return known(**parameters)
    raise ModelFileError(f"the model file names a loss {kind!r} that this version does not know.")


class CurveLoss(Loss):
    """A loss of one number z a row, with subdifferentials that are intervals.

    What is not abstract here is derived from the dual box; a loss without one brings its own.
    """

    is_margin: ClassVar[bool]
    """Whether z = y f, and not f - y."""

    @cached_property
    def _numbers(self) -> Curve | None:
        """The numbers of the conjugate: the dual box at C = 1, turned round because alpha = -C u."""
        box = self.dual_box(np.ones(1))
        if box is None:
            return None
        lower, upper, linear, absolute, diagonal = (float(column[0]) for column in box)
        return Curve(QUADRATIC, self.is_margin, 0.0 - upper, 0.0 - lower, linear, absolute, diagonal)

    @property
    def curve(self) -> Curve | None:
        """What compiled loops know of the loss."""
        return self._numbers

    def _quadratic(self) -> Curve:
        assert self._numbers is not None, "a loss without a dual box brings all that follows from one"
        return self._numbers

    def subdifferential(self, z: Vector) -> tuple[Vector, Vector]:
        """Ends of the interval of subgradients of l at z."""
        curve = self._quadratic()
        if curve.ridge > 0.0:
            slope = self.subgradient(z)
            return slope, slope
        t, low, high, tube = z - curve.aim, curve.low, curve.high, curve.tube
        if tube == 0.0:
            return np.where(t > 0.0, high, low), np.where(t >= 0.0, high, low)
        lowest = np.where(t > tube, high, np.where(t > -tube, 0.0, low))
        return lowest, np.where(t >= tube, high, np.where(t >= -tube, 0.0, low))

    def conjugate_subdifferential(self, u: Vector) -> tuple[Vector, Vector]:
        """Ends of the interval of z at which u is a subgradient of l."""
        curve = self._quadratic()
        low, high, tube = curve.low, curve.high, curve.tube
        z = curve.aim + (curve.ridge * np.clip(u, low, high) if curve.ridge > 0.0 else 0.0)
        first = z + np.where(u > 0.0, tube, -tube) if tube > 0.0 else z
        last = z + np.where(u < 0.0, -tube, tube) if tube > 0.0 else z
        return np.where(u <= low, -np.inf, first), np.where(u >= high, np.inf, last)

    def curvature(self, z: Vector) -> Vector:
        """Second derivative of l at z, away from its kinks."""
        curve = self._quadratic()
        if curve.ridge == 0.0:
            return np.zeros_like(z)
        found = np.full(np.shape(z), 1.0 / curve.ridge)
        for end, side in ((curve.low, -1.0), (curve.high, 1.0)):
            if np.isfinite(end):  # straight beyond it
                found[side * (z - curve.aim) >= curve.tube + side * curve.ridge * end] = 0.0
        if curve.tube > 0.0:
            found[np.abs(z - curve.aim) <= curve.tube] = 0.0
        return found

    def kinks(self) -> list[float]:
        """Points z at which the slope of l jumps or bends."""
        curve, found = self._quadratic(), []
        for end, side in ((curve.low, -1.0), (curve.high, 1.0)):
            wall = curve.aim + side * curve.tube
            if end == 0.0:  # no slope on this side
                continue
            if curve.ridge == 0.0 or curve.tube > 0.0 or 0.0 in (curve.low, curve.high):
                found.append(wall)
            if curve.ridge > 0.0 and np.isfinite(end):
                found.append(wall + curve.ridge * end)
        return sorted(set(found))

    def violation(self, z: Vector, u: Vector) -> Vector:
        """The nearer of: u to the subgradients at z, z to the points where u is a subgradient."""
        return np.minimum(
            distance_to_interval(u, *self.subdifferential(z)),
            distance_to_interval(z, *self.conjugate_subdifferential(u)),
        )

    def place(self, f: Vector, y: Vector) -> Vector:
        """The z at which rows with scores f and targets y meet the curve."""
        return y * f if self.is_margin else f - y

    def turned(self, u: Vector, y: Vector) -> Vector:
        """Slopes u of the curve as slopes v in the scores, or the other way round, because y^2 = 1."""
        return y * u if self.is_margin else u

    def score_value(self, f: Vector, y: Vector) -> Vector:
        """The loss l(z)."""
        return self.value(self.place(f, y))

    def score_slope(self, f: Vector, y: Vector) -> Vector:
        """The slope y l'(z) or l'(z)."""
        return self.turned(self.subgradient(self.place(f, y)), y)

    def score_curvature(self, f: Vector, y: Vector) -> Vector:
        """The second derivative l''(z), away from kinks."""
        return self.curvature(self.place(f, y))

    def score_kinks(self, y: Vector) -> list[Vector]:
        """Scores at which the slope jumps or bends; empty for a smooth loss."""
        return [kink * y if self.is_margin else y + kink for kink in self.kinks()]

    def score_conjugate(self, v: Vector, y: Vector) -> Vector:
        """The conjugate l*(y v) or y v + l*(v)."""
        conjugate = self.conjugate(self._within_ends(self.turned(v, y)))
        return conjugate if self.is_margin else y * v + conjugate

    def score_violation(self, f: Vector, v: Vector, y: Vector) -> Vector:
        """Violation of the curve at z and u."""
        return self.violation(self.place(f, y), self.turned(v, y))

    def multipliers(self, beta: Vector, y: Vector) -> Vector:
        """Multipliers alpha = y beta or beta: of a residual with a sign, alpha+ - alpha- of the textbooks."""
        return self.turned(beta, y)

    def coefficients(self, alpha: Vector, y: Vector) -> Vector:
        """Coefficients beta = y alpha or alpha."""
        return self.turned(alpha, y)

    def _within_ends(self, u: Vector) -> Vector:
        """Slopes, with those at an end that are beyond it by rounding: C times an end over C may differ from it."""
        curve = self._numbers
        if curve is None or (curve.low in _EXACT and curve.high in _EXACT):
            return u
        end = np.clip(u, curve.low, curve.high)
        return np.where(np.abs(u - end) <= _ROUNDING * np.abs(end), end, u)


class MarginLoss(CurveLoss):
    """A loss l(y f) of the margin, with labels -1 and +1."""

    is_margin: ClassVar[bool] = True


class ResidualLoss(CurveLoss):
    """A loss l(f - y) of the residual, with real targets."""

    is_margin: ClassVar[bool] = False
