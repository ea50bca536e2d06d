"""Steps that see kinks coming, because the rows nearest to theirs are kept in memory.

A Newton step is right as long as no row goes over a kink of its curve: there its curvature changes, and the step must
end. With many rows some kink is always near. So a pass copies the rows whose kinks are nearest to their scores, and the
next step goes to the minimum of a model that is exact for these and quadratic for the others:

    m(p, t) = g'p + h t + 1/2 |p|^2 + 1/2 (t / s)^2 + 1/2 sum over others of c_i (<p, x_i> + t)^2
              + sum over kept rows of C_i (l_i(f_i + <p, x_i> + t) - l_i(f_i) - l_i'(f_i) (<p, x_i> + t))

with g and h the gradient at p = 0, t = 0. The minimum is found by Newton steps in memory.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._loops.curves import evaluate_loop, line_loop
from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import ArraySource
from maxmargin.data.passes import Passes
from maxmargin.solvers.linear.newton_directions import ByFeatures
from maxmargin.solvers.linear.newton_method import step_length

_STEPS = 60
_ENOUGH = 1e-6  # of the steepest way down so far: one that is as flat is the last
_SHORTER = 0.03  # the factor on the length of a step as long as it is too long: kept rows have kinks very near to them


class NearKinks(NamedTuple):
    """Some rows of a block, with targets, costs, centres and scores."""

    X: Rows
    y: Vector
    C: Vector
    centre: Vector
    f: Vector


def nearest(curve: Curve, f: Vector, y: Vector, share: float) -> RowIndex:
    """A share of the rows of a curve with kinks: those whose kinks are nearest to their scores f."""
    count = int(np.ceil(share * len(f)))
    if count >= len(f):
        return np.arange(len(f))
    u = curve.turned(curve.centre, y) + curve.sigma * (curve.place(f, y) - curve.aim)
    wall = curve.sigma * curve.tube
    kinks = [curve.low - wall, curve.high + wall, *([-wall, wall] if wall > 0.0 else [])]
    apart = np.min([np.abs(u - kink) for kink in kinks], axis=0)
    return np.sort(np.argpartition(apart, count)[:count])


class Model(NamedTuple):
    """The model of the objective around a point."""

    H: Matrix
    edge: Vector
    corner: float
    """Sums of c_i x_i x_i', c_i x_i and c_i over the other rows, the last with 1/s^2 of a penalised intercept."""
    gradient: Vector
    bias_gradient: float
    has_intercept: bool

    def minimum(self, kept: list[NearKinks], curve: Curve) -> tuple[Vector, float]:
        """The step of w and b to the minimum of the model, or to where nothing of its first gain is left to be had.

        Far from the minimum of the objective the model is not worth more: other rows have kinks, too.
        """
        rows, (y, C, centre, f) = _together(kept)
        curve, n = curve._replace(centre=centre), len(y)
        first, slope, c = np.empty(n), np.empty(n), np.empty(n)
        numbers = tuple(curve)
        evaluate_loop(numbers, f, 0.0, y, C, 0, n, first, c)
        p, t, most = np.zeros_like(self.gradient), 0.0, 0.0
        for _ in range(_STEPS):
            evaluate_loop(numbers, f, 0.0, y, C, 0, n, slope, c)
            g, h = self._slopes(p, t)
            full_g = g + rows.combination(slope - first)
            full_h = h + float(np.sum(slope - first)) if self.has_intercept else 0.0
            q, r = self._with(rows, c).solve(full_g, full_h)
            steep = -float(full_g @ q) - full_h * r
            if steep <= _ENOUGH * most:
                break
            moved = rows.scores(q) + r
            linear = float(g @ q) + h * r - float(first @ moved)
            square = float(q @ q + q @ (self.H @ q)) + 2.0 * float(self.edge @ q) * r + self.corner * r * r
            a = step_length(linear, square, steep, partial(_losses_along, numbers, f, moved, y, C), shorter=_SHORTER)
            p, t, f = p + a * q, t + a * r, f + a * moved
            most = max(most, a * steep)
        return p, t

    def _slopes(self, p: Vector, t: float) -> tuple[Vector, float]:
        """Slopes of the model at a step, but for what kept rows change."""
        g = self.gradient + p + self.H @ p + t * self.edge
        return g, self.bias_gradient + float(self.edge @ p) + self.corner * t if self.has_intercept else 0.0

    def _with(self, rows: Passes, c: Vector) -> ByFeatures:
        """Newton's equations with the curvatures of kept rows."""
        active = np.flatnonzero(c)
        H = self.H + rows.products_of(active, c[active])
        return ByFeatures(
            H, self.edge + rows.combination(c), self.corner + float(np.sum(c)) if self.has_intercept else 0.0
        )


def _together(kept: list[NearKinks]) -> tuple[Passes, list[Vector]]:
    """The rows of all blocks, and their numbers."""
    tables = [one.X for one in kept]
    X = sparse.vstack(tables, format="csr") if sparse.issparse(tables[0]) else np.concatenate(tables)
    vectors = [np.concatenate(column) for column in zip(*(one[1:] for one in kept), strict=True)]
    return Passes(ArraySource(X, vectors[0], vectors[1])), vectors


def _losses_along(numbers: Any, f: Vector, moved: Vector, y: Vector, C: Vector, a: float) -> tuple[float, float]:
    """Slope and curvature in a of the losses at scores f + a moved."""
    slope, curvature = line_loop(numbers, f, 0.0, moved, 1.0, 0.0, a, y, C, 0, len(f))
    return slope, curvature
