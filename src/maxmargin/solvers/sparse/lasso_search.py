"""The search for the lasso: looks at all columns, and minima over working sets between them.

    minimise over w    P(w) = 1/2 |rho|^2 + l2/2 |w|^2 + l1 |w|_1                          rho = t - Z w
    maximise           D(theta, z) = t' theta - 1/2 |theta|^2 - l2/2 |z|^2
    subject to         |z_j' theta - l2 z_j| <= l1 for every column j        (without | | where w must be >= 0)

At the optimum theta = rho and z = w. This is the dual of the lasso on Z with the rows sqrt(l2) I below it, which the
elastic net is; the dual that a certificate uses, with the conjugate of the whole penalty, is at least as large.

A look forms rho afresh from the weights and correlates it with all columns. A point of the dual is kept. Each look
moves it towards (rho, w), as far as all columns allow and D rises, so that D never falls (Johnson and Guestrin, ICML
2015). Extrapolation from several rho, which helps where each comes from a few sweeps, has nothing to add here: rho is
the best for its working set.

Gap Safe screening (Fercoq, Gramfort and Salmon, ICML 2015): D is strongly concave, so that the best theta is within
sqrt(2 (P - D)) of ours. A column with |z_j' theta| + |z_j| sqrt(2 (P - D)) < l1 has weight zero at the optimum, and
later looks at this strength leave it out, where leaving out saves anything.

Working sets (Massias, Gramfort and Salmon, ICML 2018): the columns whose constraint rho violates most, at most as many
as there are weights twice over. On a path also those that the strong rule expects next: |v_j| >= 2 l1 - l1 before it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import raise_if_interrupted
from maxmargin.problems import History, Status
from maxmargin.solvers.sparse.lasso_design import DenseDesign, SparseDesign
from maxmargin.solvers.sparse.lasso_working_set import WorkingSet

_FIRST_COLUMNS = 60
_PATIENCE = 3  # looks without progress before the search is called stalled


class Strength(NamedTuple):
    """How much weights cost."""

    l1: float
    l2: float


@dataclass(frozen=True)
class DualPoint:
    """A point that every constraint of the dual allows."""

    theta: Vector
    z: Vector | None
    """None stands for zero: without l2 it counts for nothing."""
    v: Vector
    """z_j' theta - l2 z_j of every column that is looked at."""
    value: float


class Search:
    """Weights, and what the last look at them saw."""

    def __init__(self, design: DenseDesign | SparseDesign, *, positive: bool = False):
        self.design, self.positive = design, positive
        self.set = WorkingSet(design, positive=positive)
        self.history = History()
        self.strength = Strength(math.inf, 0.0)
        self.rho = design.target
        self.v = design.correlations(self.rho)
        """z_j' rho of every column, or what it was when the column was last looked at."""
        self.primal = math.inf
        self.point = self._nothing()
        self.screened = np.zeros(design.n_features, dtype=bool)

    @property
    def largest(self) -> float:
        """The smallest l1 at which all weights are zero, while they are: max_j |z_j' t|."""
        return max(0.0, float(np.max(self._sizes(self.v), initial=0.0)))

    @property
    def gap(self) -> float:
        """P - D of the last look."""
        return self.primal - self.point.value

    @property
    def rows_off(self) -> float:
        """Largest distance of a row from its condition of optimality, in the units of the targets."""
        return float(np.max(np.abs(self.rho - self.point.theta) / self.design.root))

    def start(self, w: Vector) -> None:
        """Begin at these weights."""
        if np.any(w):
            self.set.start(w)
            self.rho = self.set.left()
            self.v = self.design.correlations(self.rho)

    def run(
        self, strength: Strength, tol: float, rows_tol: float = math.inf, max_iter: int = 1000, end: float = math.inf
    ) -> Status:
        """Look and minimise until gap and rows are within their tolerance, nothing moves, or the budget is spent."""
        self._turn_to(strength)
        best, idle = math.inf, 0
        for count in range(max_iter + 1):
            raise_if_interrupted()
            self._look()
            if self.gap <= tol * self.primal and self.rows_off <= rows_tol:
                return Status.CONVERGED
            if count == max_iter or time.perf_counter() > end:
                return Status.BUDGET
            idle = idle + 1 if self.gap >= best else 0
            best = min(best, self.gap)
            self._screen()
            new = self._outside(strength.l1, max(_FIRST_COLUMNS, 2 * len(self.set.support)))
            if idle >= _PATIENCE and len(new) == 0:
                return Status.STALLED
            self.set.add(new)
            self._minimise()
        return Status.BUDGET

    def _turn_to(self, strength: Strength) -> None:
        """From one strength to the next: the dual point is scaled, and columns that will be needed come in."""
        before, self.strength = self.strength, strength
        self.screened[:] = False
        self.point = self._scaled_point(before) if before.l2 == strength.l2 else self._nothing()
        if math.isfinite(before.l1):
            threshold = max(2.0 * strength.l1 - before.l1, 0.0)
            self.set.add(self._outside(threshold, 2 * len(self.set.support) + _FIRST_COLUMNS))
        self._minimise()

    def _scaled_point(self, before: Strength) -> DualPoint:
        at, shrink = self.point, min(1.0, self.strength.l1 / before.l1)
        return self._valued(shrink * at.theta, None if at.z is None else shrink * at.z, shrink * at.v)

    def _nothing(self) -> DualPoint:
        """Zero, which is always feasible."""
        return DualPoint(np.zeros_like(self.rho), None, np.zeros_like(self.v), 0.0)

    def _minimise(self) -> None:
        self.set.minimise(self.v[self.set.columns], *self.strength)

    def _sizes(self, v: Vector) -> Vector:
        """What must not exceed l1."""
        return v if self.positive else np.abs(v)

    def _outside(self, threshold: float, most: int) -> RowIndex:
        """Columns outside the working set whose correlation is beyond the threshold, those that promise most."""
        size = self._sizes(self.v)
        found = np.flatnonzero(size > threshold)
        found = found[~(self.set.holds[found] | self.screened[found])]
        if len(found) > most:
            promise = (size[found] - threshold) / self.design.lengths[found]
            found = np.sort(found[np.argpartition(-promise, most - 1)[:most]])
        return found

    def _look(self) -> None:
        """Everything about the present weights, in one pass over the columns that are not screened."""
        l1, l2 = self.strength
        self.rho = self.set.left()
        if np.any(self.screened):
            looked = np.flatnonzero(~self.screened)
            self.v[looked] = self.design.correlations(self.rho, looked)
        else:
            self.v = self.design.correlations(self.rho)
        u = self.set.u
        self.primal = 0.5 * float(self.rho @ self.rho) + 0.5 * l2 * float(u @ u) + l1 * float(np.sum(np.abs(u)))
        w = self.set.weights() if l2 > 0.0 else None
        v = self.v if w is None else self.v - l2 * w
        if np.any(self.screened):
            v = np.where(self.screened, 0.0, v)
        self._raise_dual(w, v)
        self.history.record(self.design.n_passes, self.primal, self.point.value)

    def _raise_dual(self, w: Vector | None, v: Vector) -> None:
        """Move the dual point towards (rho, w), from where it is or from zero, whichever leads higher."""
        sizes = self._sizes(v)
        beyond = np.flatnonzero(sizes > self.strength.l1)
        if len(beyond) == 0:
            self.point = self._valued(self.rho, w, v)
            return
        scale = self.strength.l1 / float(np.max(sizes[beyond]))
        scaled = self._valued(scale * self.rho, None if w is None else scale * w, scale * v)
        moved = self._towards(w, v, beyond)
        self.point = max(scaled, moved, key=lambda point: point.value)

    def _towards(self, w: Vector | None, v: Vector, beyond: RowIndex) -> DualPoint:
        """The highest feasible point between the present one and (rho, w)."""
        at, l2 = self.point, self.strength.l2
        sign = np.sign(v[beyond])
        inside, outside = np.minimum(sign * at.v[beyond], self.strength.l1), sign * v[beyond]
        most = float(np.min((self.strength.l1 - inside) / (outside - inside)))
        step = self.rho - at.theta
        slope = float((self.design.target - at.theta) @ step)
        curvature = float(step @ step)
        z = rise = None
        if w is not None:
            z = np.zeros_like(w) if at.z is None else at.z
            rise = w - z
            slope -= l2 * float(z @ rise)
            curvature += l2 * float(rise @ rise)
        t = min(max(slope / curvature if curvature > 0.0 else 0.0, 0.0), most)
        if t == 0.0:
            return at
        moved = None if z is None or rise is None else z + t * rise
        return self._valued(at.theta + t * step, moved, at.v + t * (v - at.v))

    def _valued(self, theta: Vector, z: Vector | None, v: Vector) -> DualPoint:
        squares = float(theta @ theta) + (0.0 if z is None else self.strength.l2 * float(z @ z))
        return DualPoint(theta, z, v, float(self.design.target @ theta) - 0.5 * squares)

    def _screen(self) -> None:
        """Leave out columns whose weight is zero at the optimum."""
        if not isinstance(self.design, SparseDesign):  # rows hold all columns: a part of them would not be cheaper
            return
        radius = math.sqrt(2.0 * max(self.gap, 0.0))
        sizes = self._sizes(self.point.v)
        self.screened |= (sizes + radius * self.design.lengths < self.strength.l1) & ~self.set.holds
