"""The intercept: three kinds of it, and the best one for given scores.

One number tells the kinds apart: the scale s of the constant feature that the intercept stands for.

    free         s = infinity   b costs nothing, and sum_i beta_i = 0 in the dual
    augmented    s = 1          P gains 1/2 (b / s)^2, D loses 1/2 (s sum_i beta_i)^2: the kernel k + s^2
    none         s = 0          b = 0

For a free intercept the primal value of a weight vector means the value at its best b: the minimum of

    g(b) = sum_i C_i l_{y_i}(f_i + b),

a convex function of one number, minimised here exactly and not by averaging over margin vectors. Its slope is linear
between the kinks of the losses. Bisection over the sorted kinks finds the piece that holds the minimum by evaluating
the slope afresh at each probe, so nothing accumulates rounding; Newton steps then finish inside the piece, one step
for a quadratic, a few for a logistic curve. Where the minimum is a whole interval, its middle is taken.

`problems.class_intercepts` has the losses with one intercept a class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.losses import CrammerSinger, CurveLoss, HardMargin, Loss, Softmax
from maxmargin.problems.class_intercepts import best_class_intercepts

_NEWTON_STEPS = 100


@dataclass(frozen=True)
class Intercept:
    """Kind of intercept, by the scale of its constant feature."""

    scale: float

    FREE: ClassVar[Intercept]
    AUGMENTED: ClassVar[Intercept]
    NONE: ClassVar[Intercept]

    @property
    def is_free(self) -> bool:
        """Whether the intercept costs nothing."""
        return bool(np.isinf(self.scale))

    @property
    def words(self) -> str:
        """The kind, as a certificate names it."""
        if self.is_free:
            return "free intercept"
        return "no intercept" if self.scale == 0.0 else "augmented intercept"


Intercept.FREE = Intercept(np.inf)
Intercept.AUGMENTED = Intercept(1.0)
Intercept.NONE = Intercept(0.0)


def best_intercept(loss: Loss, f: Vector, y: Vector, C: Vector) -> float | Vector:
    """Minimiser over b of sum_i C_i l_{y_i}(f_i + b); for losses of all classes at once one b a class."""
    if isinstance(loss, (CrammerSinger, Softmax)):
        return best_class_intercepts(loss, f, y, C)
    if isinstance(loss, HardMargin):
        return _middle_intercept(f, y)
    assert isinstance(loss, CurveLoss)
    low, high = _piece_with_minimum(loss, f, y, C)
    return _minimum_in_piece(loss, f, y, C, low, high)


def _middle_intercept(f: Vector, y: Vector) -> float:
    """The b that makes the smallest margins of the two classes equal (L3, equation 11)."""
    return -0.5 * float(np.max(f[y < 0.0]) + np.min(f[y > 0.0]))


def _slope(loss: CurveLoss, f: Vector, y: Vector, C: Vector, b: float) -> float:
    return float(C @ loss.score_slope(f + b, y))


def _flat(C: Vector) -> float:
    """Slopes below this are zero up to rounding."""
    return 8.0 * np.finfo(float).eps * float(np.sum(C))


def _probe(low: float, high: float) -> float:
    """A point inside the piece."""
    if np.isinf(low) and np.isinf(high):
        return 0.0
    if np.isinf(low):
        return high - max(1.0, abs(high))
    if np.isinf(high):
        return low + max(1.0, abs(low))
    return 0.5 * (low + high)


def _piece_with_minimum(loss: CurveLoss, f: Vector, y: Vector, C: Vector) -> tuple[float, float]:
    """Neighbouring kinks of g (or infinity) between which, or at which, its slope changes sign."""
    kinks = loss.score_kinks(y)
    if not kinks:
        return -np.inf, np.inf
    edges = np.concatenate([[-np.inf], np.unique(np.concatenate(kinks) - np.tile(f, len(kinks))), [np.inf]])
    first, last = 0, len(edges) - 2  # pieces are numbered by their left edge; the answer is in first..last
    while first < last:
        middle = (first + last) // 2
        # At the right edge of the piece the slope is largest; the curvature carries it there from the probe.
        probe = _probe(edges[middle], edges[middle + 1])
        slope = _slope(loss, f, y, C, probe)
        if np.isfinite(edges[middle + 1]):
            slope += float(C @ loss.score_curvature(f + probe, y)) * (edges[middle + 1] - probe)
        if slope >= -_flat(C):
            last = middle
        else:
            first = middle + 1
    return float(edges[first]), float(edges[first + 1])


def _minimum_in_piece(loss: CurveLoss, f: Vector, y: Vector, C: Vector, low: float, high: float) -> float:
    """Root of the slope of g inside one smooth piece, by Newton steps kept inside a shrinking bracket."""
    b = _probe(low, high)
    is_smooth = not loss.score_kinks(y)  # then curvature vanishes by underflow alone, and says nothing
    reach = 4.0  # how far a step may go while the bracket is open; a logistic curve is nearly straight far out
    for _ in range(_NEWTON_STEPS):
        slope = _slope(loss, f, y, C, b)
        curvature = float(C @ loss.score_curvature(f + b, y))
        if curvature == 0.0:
            if abs(slope) <= _flat(C):  # every point of the piece is best; this is its middle
                return b
            if not is_smooth:
                return low if slope > 0.0 else high
        low, high = (low, b) if slope > 0.0 else (b, high)
        step = slope / curvature if curvature > 0.0 else np.copysign(np.inf, slope)
        following = b - min(max(step, -reach), reach)
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - b) <= 2.0 * np.finfo(float).eps * abs(b):
            return following
        b, reach = following, 2.0 * reach
    return b
