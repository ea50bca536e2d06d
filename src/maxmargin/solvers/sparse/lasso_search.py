"""The search for the lasso: evaluations of all columns, and minima over working sets between them.

    minimise over w    P(w) = 1/2 |rho|^2 + l2/2 |w|^2 + l1 |w|_1                          rho = t - Z w
    maximise           D(theta, z) = t' theta - 1/2 |theta|^2 - l2/2 |z|^2
    subject to         |z_j' theta - l2 z_j| <= l1 for every column j        (without | | where w must be >= 0)

At the optimum theta = rho and z = w. This is the dual of the lasso on Z with the rows sqrt(l2) I below it, which the
elastic net is; the dual that a certificate uses, with the conjugate of the whole penalty, is at least as large.

An evaluation forms rho afresh from the weights and correlates it with all columns. A point of the dual is kept. Each
evaluation moves it towards (rho, w), as far as all columns allow and D rises, so that D never falls (Johnson and
Guestrin, ICML 2015). Extrapolation from several rho, which helps where each comes from a few sweeps, has nothing to add
here: rho is the best for its working set.

Gap Safe screening (Fercoq, Gramfort and Salmon, ICML 2015): D is strongly concave, so that the best theta is within
sqrt(2 (P - D)) of ours. A column with |z_j' theta| + |z_j| sqrt(2 (P - D)) < l1 has weight zero at the optimum, and
later evaluations at this strength leave it out, where leaving out saves anything.

Working sets (Massias, Gramfort and Salmon, ICML 2018): the columns whose constraint rho violates most, at most as many
as there are weights twice over. On a path also those that the strong rule expects next: |v_j| >= 2 l1 - l1 before it.
Their products H with each other are kept as long as they are, so that the next strength of a path begins with them, and
a sweep of coordinate descent touches no data. So the minimum over the set is found to rounding, whatever the tolerance,
for the price of a rough one (`l1_model`). A set of more than `MAX_PRODUCTS` columns has no H, and is searched by sweeps
over the columns themselves.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import numpy as np

from maxmargin._loops.linear.lasso import Shrinkage, SweptColumns
from maxmargin._loops.rows import DenseRows
from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.backends.threads import raise_if_interrupted
from maxmargin.problems import History, Status
from maxmargin.solvers.sparse.l1_model import minimise_by_columns, minimise_by_products
from maxmargin.solvers.sparse.lasso_design import DenseDesign, SparseDesign

MAX_PRODUCTS = 3000
_FIRST_COLUMNS = 60
_FEW_COLUMNS = 256  # columns of tall data whose products are all formed in one pass
_PATIENCE = 3  # evaluations without progress before the search is called stalled
_SWEEPS, _ROUNDS = 30, 60  # of coordinate descent between two Newton steps, and how often both
_COLUMN_SWEEPS = 40
_FINE = 1e-9  # share of the strength within which coordinates are called optimal
_EPSILON = float(np.finfo(np.float64).eps)


class Strength(NamedTuple):
    """How much weights cost."""

    l1: float
    l2: float


class DualPoint(NamedTuple):
    """A point that every constraint of the dual allows."""

    theta: Vector
    """With l2, sqrt(l2) z comes behind it."""
    v: Vector
    """z_j' theta - l2 z_j of every column that is not screened."""
    value: float


class ColumnSet:
    """The working set: columns in the order they came, their weights u, and H."""

    def __init__(self, design: DenseDesign | SparseDesign, *, positive: bool = False):
        self.design, self.positive = design, positive
        self.columns: RowIndex = np.zeros(0, dtype=np.int64)
        self.holds = np.zeros(design.n_features, dtype=bool)
        self.u: Vector = np.zeros(0)
        self.H: Matrix = np.zeros((0, 0))
        self.Z: Matrix = np.zeros((0, len(design.y)))
        self.is_whole = False
        if isinstance(design, DenseDesign) and design.n_features <= min(len(design.y), _FEW_COLUMNS):
            self.is_whole = True
            self.columns, self.u, self.H = np.arange(design.n_features), np.zeros(design.n_features), design.products()
            self.holds[:] = True

    @property
    def has_products(self) -> bool:
        """Whether H is there."""
        return self.is_whole or len(self.columns) <= MAX_PRODUCTS

    @property
    def n_used(self) -> int:
        """Number of columns whose weight is not zero."""
        return int(np.count_nonzero(self.u))

    def weights(self) -> Vector:
        """Weights of all columns."""
        w = np.zeros(self.design.n_features)
        w[self.columns] = self.u
        return w

    def left(self) -> Vector:
        """What is left of the target, formed afresh from the columns."""
        used = np.flatnonzero(self.u)
        if len(self.Z):
            return self.design.without_intercept(self.design.target - self.u[used] @ self.Z[used])
        return self.design.left(self.columns[used], self.u[used])

    def start(self, w: Vector) -> None:
        """Begin at these weights."""
        self.add(np.flatnonzero((w != 0.0) & ~self.holds))
        self.u = np.asarray(w, dtype=np.float64)[self.columns]

    def add(self, new: RowIndex) -> None:
        """Take more columns in, with weight zero; idle ones leave where there would be too many for H."""
        if len(new) == 0:
            return
        if len(self.columns) + len(new) > MAX_PRODUCTS and not self.is_whole:
            self._leave_out_idle()
        first = len(self.columns)
        self.columns = np.concatenate([self.columns, new])
        self.holds[new] = True
        self.u = np.concatenate([self.u, np.zeros(len(new))])
        if isinstance(self.design, DenseDesign):
            self.Z = np.concatenate([self.Z, self.design.taken(new)])
        if not self.has_products:
            self.H = np.zeros((0, 0))
            return
        if len(self.H) < first:  # they were too many before, and their products are not there
            first = 0
        m, had = len(self.columns), len(self.H)
        if m > had:  # room doubles, so that a column is copied a few times at most
            grown = np.zeros(2 * (min(max(2 * m, 64), max(m, MAX_PRODUCTS)),))
            grown[:had, :had] = self.H
            self.H = grown
        if isinstance(self.design, SparseDesign):
            self.design.add_products(self.columns, first, self.H)
        else:
            self.H[first:m, :m] = self.Z[first:m] @ self.Z[:m].T
            self.H[:first, first:m] = self.H[first:m, :first].T

    def _leave_out_idle(self) -> None:
        """Let the columns go whose weight is zero."""
        had_products, used = self.has_products, np.flatnonzero(self.u)
        self.holds[self.columns] = False
        self.columns, self.u = self.columns[used], self.u[used]
        self.holds[self.columns] = True
        self.H = self.H[np.ix_(used, used)] if had_products else np.zeros((0, 0))
        if len(self.Z):
            self.Z = self.Z[used]

    def minimise(self, v: Vector, strength: Strength) -> None:
        """Find the minimum over the set; v are its correlations with what is left at the present weights."""
        design, longest = self.design, float(np.max(self.design.lengths[self.columns], initial=0.0))
        rounding = 16.0 * _EPSILON * longest * float(np.linalg.norm(design.target))
        cost, goal = Shrinkage(*strength, self.positive), max(_FINE * strength.l1, rounding)
        if self.has_products:
            minimise_by_products(self.H, v.copy(), self.u, cost, goal, _SWEEPS, _ROUNDS)
            return
        base = np.zeros(len(self.u))
        if isinstance(design, SparseDesign):
            squares = np.square(design.lengths[self.columns])
            columns = SweptColumns(design.weighted, self.columns, base, squares, design.edges[self.columns])
        else:  # taken columns are centred, so that they have no share of the intercept's direction
            squares = np.einsum("ij,ij->i", self.Z, self.Z)
            columns = SweptColumns(DenseRows(self.Z), np.arange(len(self.columns)), base, squares, base)
        minimise_by_columns(columns, self.u, self.left(), cost, goal, _COLUMN_SWEEPS)


class LassoSearch:
    """Weights, and what the last evaluation of them found."""

    def __init__(self, design: DenseDesign | SparseDesign, *, positive: bool = False):
        self.design, self.positive = design, positive
        self.set = ColumnSet(design, positive=positive)
        self.history = History()
        self.strength = Strength(math.inf, 0.0)
        self.rho = self.target = design.target
        self.v = design.correlations(self.rho)
        """z_j' rho of every column, or what it was when the column was last evaluated."""
        self.primal = math.inf
        self.point = DualPoint(np.zeros_like(self.rho), np.zeros_like(self.v), 0.0)
        self.screened = np.zeros(design.n_features, dtype=bool)

    @property
    def largest(self) -> float:
        """The smallest l1 at which all weights are zero, while they are: max_j |z_j' t|."""
        return max(0.0, float(np.max(self._sizes(self.v), initial=0.0)))

    @property
    def gap(self) -> float:
        """P - D of the last evaluation."""
        return self.primal - self.point.value

    @property
    def theta(self) -> Vector:
        """Theta of the dual point."""
        return self.point.theta[: len(self.rho)]

    @property
    def rows_off(self) -> float:
        """Largest distance of a row from its condition of optimality, in the units of the targets."""
        return float(np.max(np.abs(self.rho - self.theta) / self.design.root))

    def start(self, w: Vector) -> None:
        """Begin at these weights."""
        if np.any(w):
            self.set.start(w)
            self.rho = self.set.left()
            self.v = self.design.correlations(self.rho)

    def run(
        self, strength: Strength, tol: float, rows_tol: float = math.inf, max_iter: int = 1000, end: float = math.inf
    ) -> Status:
        """Evaluate and minimise until gap and rows are within tolerance, nothing moves, or the budget is spent."""
        self._turn_to(strength)
        best, idle = math.inf, 0
        for count in range(max_iter + 1):
            raise_if_interrupted()
            self._evaluate()
            if self.gap <= tol * self.primal and self.rows_off <= rows_tol:
                return Status.CONVERGED
            if count == max_iter or time.perf_counter() > end:
                return Status.BUDGET
            idle = idle + 1 if self.gap >= best else 0
            best = min(best, self.gap)
            self._screen()
            new = self._outside(strength.l1, max(_FIRST_COLUMNS, 2 * self.set.n_used))
            if idle >= _PATIENCE and len(new) == 0:
                return Status.STALLED
            self.set.add(new)
            self.set.minimise(self.v[self.set.columns], strength)
        return Status.BUDGET

    def _turn_to(self, strength: Strength) -> None:
        """From one strength to the next: the dual point is scaled, and columns that will be needed come in."""
        before, self.strength = self.strength, strength
        self.screened[:] = False
        shrink = min(1.0, strength.l1 / before.l1)
        if before.l2 == strength.l2:
            self.point = self._dual_point(shrink * self.point.theta, shrink * self.point.v)
        else:
            below = np.zeros(self.design.n_features if strength.l2 > 0.0 else 0)
            self.target = np.concatenate([self.design.target, below])
            self.point = DualPoint(np.zeros_like(self.target), np.zeros_like(self.v), 0.0)
        if math.isfinite(before.l1):
            threshold = max(2.0 * strength.l1 - before.l1, 0.0)
            self.set.add(self._outside(threshold, 2 * self.set.n_used + _FIRST_COLUMNS))
        self.set.minimise(self.v[self.set.columns], strength)

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

    def _evaluate(self) -> None:
        """Everything about the present weights, in one pass over the columns that are not screened."""
        l1, l2 = self.strength
        theta = self.rho = self.set.left()
        any_screened = bool(np.any(self.screened))
        if any_screened:
            seen = np.flatnonzero(~self.screened)
            self.v[seen] = self.design.correlations(self.rho, seen)
        else:
            self.v = self.design.correlations(self.rho)
        v = self.v
        if l2 > 0.0:
            w = self.set.weights()
            theta, v = np.concatenate([theta, math.sqrt(l2) * w]), v - l2 * w
        if any_screened:
            v = np.where(self.screened, 0.0, v)
        self.primal = 0.5 * float(theta @ theta) + l1 * float(np.sum(np.abs(self.set.u)))
        self._raise_dual(theta, v)
        self.history.record(self.design.n_passes, self.primal, self.point.value)

    def _raise_dual(self, theta: Vector, v: Vector) -> None:
        """Move the dual point towards (rho, w), from where it is or from zero, whichever leads higher."""
        sizes = self._sizes(v)
        beyond = np.flatnonzero(sizes > self.strength.l1)
        if len(beyond) == 0:
            self.point = self._dual_point(theta, v)
            return
        scale = self.strength.l1 / float(np.max(sizes[beyond]))
        scaled, moved = self._dual_point(scale * theta, scale * v), self._towards(theta, v, beyond)
        self.point = max(scaled, moved, key=lambda point: point.value)

    def _towards(self, theta: Vector, v: Vector, beyond: RowIndex) -> DualPoint:
        """The highest feasible point between the present one and (rho, w)."""
        at, sign = self.point, np.sign(v[beyond])
        inside, outside = np.minimum(sign * at.v[beyond], self.strength.l1), sign * v[beyond]
        most = float(np.min((self.strength.l1 - inside) / (outside - inside)))
        step = theta - at.theta
        slope, curvature = float((self.target - at.theta) @ step), float(step @ step)
        t = min(max(slope / curvature if curvature > 0.0 else 0.0, 0.0), most)
        return at if t == 0.0 else self._dual_point(at.theta + t * step, at.v + t * (v - at.v))

    def _dual_point(self, theta: Vector, v: Vector) -> DualPoint:
        return DualPoint(theta, v, float(self.target @ theta) - 0.5 * float(theta @ theta))

    def _screen(self) -> None:
        """Leave out columns whose weight is zero at the optimum."""
        if isinstance(self.design, SparseDesign):  # dense rows hold all columns: a part of them would not be cheaper
            radius = math.sqrt(2.0 * max(self.gap, 0.0))
            sizes = self._sizes(self.point.v)
            self.screened |= (sizes + radius * self.design.lengths < self.strength.l1) & ~self.set.holds
