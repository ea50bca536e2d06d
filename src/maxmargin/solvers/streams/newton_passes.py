"""What one pass over a source tells of a primal objective at a point, and the model that the next step minimises.

    f_i = <w, x_i> + b        v_i, c_i = C_i l_i'(f_i), C_i l_i''(f_i)        beta_i = -v_i

    combination    sum_i beta_i x_i            surplus    sum_i beta_i
    H, edge, corner    sums of c_i x_i x_i', c_i x_i and c_i
    along          sum_i C_i l_i'(f_i + t a_i) a_i for some t,    a_i = <p, x_i> + shift

l_i is the loss, or its smooth neighbour around the centre u_i where the loss has kinks (`solvers.linear.multipliers`).
No number a row is kept but the coefficient: it is the centre, u_i = -beta_i / C_i, and moves where a question says so.

A Newton step is right as long as no row goes over a kink of its curve: there its curvature changes, and the step must
end. With many rows some kink is always near. So a pass copies the rows whose kinks are nearest to their scores, and the
next step goes to the minimum of a model that is exact for these and quadratic for the others:

    m(p, t) = g'p + h t + 1/2 |p|^2 + 1/2 (t / s)^2 + 1/2 sum over others of c_i (<p, x_i> + t)^2
              + sum over near-kink rows of C_i (l_i(f_i + <p, x_i> + t) - l_i(f_i) - l_i'(f_i) (<p, x_i> + t))

with g and h the gradient at p = 0, t = 0. The minimum is found by Newton steps in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._loops.curves import evaluate_loop, line_loop
from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import ArraySource
from maxmargin.data.rows import ArrayRows
from maxmargin.solvers.common.sampling import long_rows, sampled
from maxmargin.solvers.linear.newton_directions import ByFeatures
from maxmargin.solvers.linear.newton_method import step_length

_STEPS = 60
_ENOUGH = 1e-6  # of the steepest way down so far: one that is as flat is the last
_SHORTER = 0.03  # the factor on the length of a step as long as it is too long: kinks of these rows are very near


class NearKinkRows(NamedTuple):
    """Some rows of a block, with targets, costs, centres and scores."""

    X: Rows
    y: Vector
    C: Vector
    centre: Vector
    f: Vector


def _nearest(curve: Curve, f: Vector, y: Vector, share: float) -> RowIndex:
    """A share of the rows of a curve with kinks: those whose kinks are nearest to their scores f."""
    count = int(np.ceil(share * len(f)))
    if count >= len(f):
        return np.arange(len(f))
    u = curve.turned(curve.centre, y) + curve.sigma * (curve.place(f, y) - curve.aim)
    wall = curve.sigma * curve.tube
    kinks = [curve.low - wall, curve.high + wall, *([-wall, wall] if wall > 0.0 else [])]
    apart = np.min([np.abs(u - kink) for kink in kinks], axis=0)
    return np.sort(np.argpartition(apart, count)[:count])


class PassQuestion(NamedTuple):
    """A point, and what is asked of it."""

    w: Vector
    b: float
    sigma: float
    moved_from: float | None = None
    """The centres move first, to the slopes at this stiffness."""
    p: Vector | None = None
    shift: float = 0.0
    """A step of w and b."""
    further: Vector = np.empty(0)
    """How much further along the step, or back, the slope is asked for as well."""
    every: int = 1
    """How many rows one may stand for in H, edge and corner."""
    share: float = 0.0
    """Of the rows, to be copied, of a curve with kinks; the nearest to these."""
    cost: float = 1.0
    """Factor on the costs of all rows."""
    is_last: bool = False
    """Nothing is asked for but that the centres move."""


@dataclass
class PassSums:
    """The answer, as far as rows have been added."""

    along: Vector
    combination: Vector
    H: Matrix
    edge: Vector
    corner: float = 0.0
    surplus: float = 0.0
    loss: float = 0.0
    conjugate: float = 0.0
    violation: float = 0.0
    n_active: int = 0
    """Rows with curvature."""
    near: list[NearKinkRows] = field(default_factory=list)
    """Rows that are not part of H, edge and corner."""
    near_corner: float = 0.0
    """sum_i c_i over these."""

    @classmethod
    def of(cls, n_features: int, n_lengths: int) -> PassSums:
        """Before the first row."""
        along = np.zeros(n_lengths)
        return cls(along, np.zeros(n_features), np.zeros((n_features, n_features)), np.zeros(n_features))

    def add(self, rows: ArrayRows, y: Vector, C: Vector, beta: Vector, curve: Curve, asked: PassQuestion) -> None:
        """Rows with targets, costs above 0 and coefficients; the latter change where the centres move."""
        n, C = rows.n_rows, asked.cost * C
        f, slope, curvature = rows.scores(asked.w), np.empty(n), np.empty(n)
        curve = curve._replace(centre=-beta / C)
        if asked.moved_from is not None:
            first = curve._replace(sigma=asked.moved_from)
            evaluate_loop(tuple(first), f, asked.b, y, C, 0, n, slope, curvature)
            np.negative(slope, out=beta)
            curve = curve._replace(centre=slope / C)
        if asked.is_last:
            return
        curve = curve._replace(sigma=asked.sigma)
        loss, conjugate, total, violation = evaluate_loop(tuple(curve), f, asked.b, y, C, 0, n, slope, curvature)
        self.loss += loss
        self.conjugate += conjugate
        self.surplus -= total
        self.violation = max(self.violation, violation)
        self.combination -= rows.combination(slope)
        if asked.share > 0.0 and asked.every == 1:
            self._set_apart(rows, y, C, f + asked.b, curvature, curve, asked.share)
        self._add_curvature(rows, curvature, asked.every)
        if asked.p is not None:
            moved = rows.scores(asked.p)
            for k, t in enumerate(asked.further):
                self.along[k] += line_loop(tuple(curve), f, asked.b, moved, 1.0, asked.shift, t, y, C, 0, n)[0]

    def add_sums(self, other: PassSums) -> None:
        """The rows of another thread."""
        for name, value in vars(other).items():
            if name == "violation":
                self.violation = max(self.violation, value)
            else:
                setattr(self, name, getattr(self, name) + value)

    def _set_apart(
        self, rows: ArrayRows, y: Vector, C: Vector, f: Vector, c: Vector, curve: Curve, share: float
    ) -> None:
        """Copy the rows nearest to their kinks; their curvatures go with them, and are no longer part of the sums."""
        chosen = _nearest(curve, f, y, share)
        self.near.append(NearKinkRows(rows.source.X[chosen], y[chosen], C[chosen], curve.centre[chosen], f[chosen]))
        self.near_corner += float(np.sum(c[chosen]))
        self.n_active += int(np.count_nonzero(c[chosen]))
        c[chosen] = 0.0

    def _add_curvature(self, rows: ArrayRows, c: Vector, every: int) -> None:
        active = np.flatnonzero(c)
        self.n_active += len(active)
        weight = c[active]
        if every > 1:
            active, count = sampled(active, long_rows(rows.squared_lengths()), every)
            weight = count * c[active]
        if len(active):
            self.H += rows.products_of(active, weight)
            self.edge += rows.combination_of(active, weight)
            self.corner += float(np.sum(weight))


class NearKinkModel(NamedTuple):
    """The model of the objective around a point."""

    H: Matrix
    edge: Vector
    corner: float
    """Sums of c_i x_i x_i', c_i x_i and c_i over the other rows, the last with 1/s^2 of a penalised intercept."""
    gradient: Vector
    bias_gradient: float
    has_intercept: bool

    def minimum(self, near: list[NearKinkRows], curve: Curve) -> tuple[Vector, float]:
        """The step of w and b to the minimum of the model, or to where nothing of its first gain is left to be had.

        Far from the minimum of the objective the model is not worth more: other rows have kinks, too.
        """
        rows, (y, C, centre, f) = _together(near)
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
        """Slopes of the model at a step, but for what near-kink rows change."""
        g = self.gradient + p + self.H @ p + t * self.edge
        return g, self.bias_gradient + float(self.edge @ p) + self.corner * t if self.has_intercept else 0.0

    def _with(self, rows: ArrayRows, c: Vector) -> ByFeatures:
        """Newton's equations with the curvatures of near-kink rows."""
        active = np.flatnonzero(c)
        H = self.H + rows.products_of(active, c[active])
        return ByFeatures(
            H, self.edge + rows.combination(c), self.corner + float(np.sum(c)) if self.has_intercept else 0.0
        )


def _together(near: list[NearKinkRows]) -> tuple[ArrayRows, list[Vector]]:
    """The rows of all blocks, and their numbers."""
    tables = [one.X for one in near]
    X = sparse.vstack(tables, format="csr") if sparse.issparse(tables[0]) else np.concatenate(tables)
    vectors = [np.concatenate(column) for column in zip(*(one[1:] for one in near), strict=True)]
    return ArrayRows(ArraySource(X, vectors[0], vectors[1])), vectors


def _losses_along(numbers: Any, f: Vector, moved: Vector, y: Vector, C: Vector, a: float) -> tuple[float, float]:
    """Slope and curvature in a of the losses at scores f + a moved."""
    slope, curvature = line_loop(numbers, f, 0.0, moved, 1.0, 0.0, a, y, C, 0, len(f))
    return slope, curvature
