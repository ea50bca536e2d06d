"""What one pass over a source can tell of a primal objective at a point.

    f_i = <w, x_i> + b        v_i, c_i = C_i l_i'(f_i), C_i l_i''(f_i)        beta_i = -v_i

    combination    sum_i beta_i x_i            surplus    sum_i beta_i
    H, edge, corner    sums of c_i x_i x_i', c_i x_i and c_i
    along          sum_i C_i l_i'(f_i + t a_i) a_i for some t,    a_i = <p, x_i> + shift

l_i is the loss, or its smooth neighbour around the centre u_i where the loss has kinks (`solvers.linear.multipliers`).
No number a row is kept but the coefficient: it is the centre, u_i = -beta_i / C_i, and moves where a question says so.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maxmargin._loops.curves import evaluate_loop, line_loop
from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Matrix, Vector
from maxmargin.data.passes import Passes
from maxmargin.solvers.common.sampling import long_rows, sampled
from maxmargin.solvers.streams.kept import NearKinks, nearest


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
    """Of the rows, to be kept, of a curve with kinks; the nearest to these."""
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
    kept: list[NearKinks] = field(default_factory=list)
    """Rows that are not part of H, edge and corner."""
    kept_corner: float = 0.0
    """sum_i c_i over these."""

    @classmethod
    def of(cls, n_features: int, n_lengths: int) -> PassSums:
        """Before the first row."""
        along = np.zeros(n_lengths)
        return cls(along, np.zeros(n_features), np.zeros((n_features, n_features)), np.zeros(n_features))

    def add(self, rows: Passes, y: Vector, C: Vector, beta: Vector, curve: Curve, asked: PassQuestion) -> None:
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
            self._keep(rows, y, C, f + asked.b, curvature, curve, asked.share)
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

    def _keep(self, rows: Passes, y: Vector, C: Vector, f: Vector, c: Vector, curve: Curve, share: float) -> None:
        """Copy the rows nearest to their kinks; their curvatures go with them, and are no longer part of the sums."""
        chosen = nearest(curve, f, y, share)
        self.kept.append(NearKinks(rows.source.X[chosen], y[chosen], C[chosen], curve.centre[chosen], f[chosen]))
        self.kept_corner += float(np.sum(c[chosen]))
        self.n_active += int(np.count_nonzero(c[chosen]))
        c[chosen] = 0.0

    def _add_curvature(self, rows: Passes, c: Vector, every: int) -> None:
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
