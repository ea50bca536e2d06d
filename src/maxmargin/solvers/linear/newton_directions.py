"""Newton directions for w and b, by whichever of three ways the shape of the data makes cheapest.

With c_i = C_i l'' the curvatures and A the rows where they are not zero, p and the change t of the intercept solve

    [ I + X' diag(c) X    X' c              ] [ p ]     [ gradient in w ]
    [ c' X                sum_i c_i + 1/s^2 ] [ t ] = - [ gradient in b ]

Few features. The matrix is formed and factored, with the intercept eliminated. Where A has very many rows for each
feature, some of them do as well: with m rows the matrix is off by a share of about sqrt(d / m), and the next step makes
good what this one misses.

Few rows in A. With delta = -c (X p + t) the change of the multipliers, p = X_A' delta - gradient, and

    (X_A X_A' + diag(1 / c)) delta + t = X_A gradient,        sum_i delta_i = t / s^2 + gradient in b

so a matrix with one row a row of A is enough. Inner products of rows are kept from one step to the next.

Both large. Conjugate gradients with the inverse diagonal for preconditioner; each product is a pass over A forth and
back, and they stop early while far from the solution.
"""

from __future__ import annotations

import numpy as np

from maxmargin._loops.passes import row_products_loop
from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.data.rows import ArrayRows
from maxmargin.solvers.common.positive_systems import PositiveFactor
from maxmargin.solvers.common.sampling import long_rows, sampled

MAX_FACTORED = 1500
"""Features up to which the Hessian is formed."""
_ROWS_PER_FEATURE = 500  # rows of A for each feature from which a sample of them is taken
_MAX_PRODUCTS = 400  # rows up to which their inner products are
_MAX_CONJUGATE = 250


class Directions:
    """Solves Newton's equations at one curvature after the other; a factor may serve several right sides."""

    def __init__(self, passes: ArrayRows, scale: float):
        self._passes, self._scale = passes, scale
        self._products: RowProducts | None = None
        self._sampling = True
        self._solver: ByFeatures | _ByRows | _Conjugate | None = None

    def forget(self, *, disappointed: bool = False) -> None:
        """Form the matrix anew for the next direction, and from now on from all rows where a sample disappointed."""
        self._solver = None
        self._sampling = self._sampling and not disappointed

    def solve(self, c: Vector, gradient: Vector, bias_gradient: float, accuracy: float) -> tuple[Vector, float]:
        """Directions of w and b; `accuracy` is the relative accuracy asked of conjugate gradients."""
        if self._solver is None:
            self._solver = self._suited(c)
        return self._solver.solve(gradient, bias_gradient, accuracy)

    def _suited(self, c: Vector) -> ByFeatures | _ByRows | _Conjugate:
        if self._passes.n_features <= MAX_FACTORED:
            return _by_features(self._passes, self._scale, c, self._sampling)
        active = np.flatnonzero(c)
        if len(active) <= _MAX_PRODUCTS:
            if self._products is None:
                self._products = RowProducts(self._passes, 2 * _MAX_PRODUCTS)
            return _ByRows(self._passes, self._scale, self._products, active, c[active])
        return _Conjugate(self._passes, self._scale, active, c)


class ByFeatures:
    """The Hessian of w, with the intercept eliminated, factored.

    From the sums over rows of c_i x_i x_i' (whose place is used), c_i x_i and c_i, the latter with 1/s^2; a corner of 0
    says that the intercept does not move.
    """

    def __init__(self, H: Matrix, edge: Vector, corner: float):
        self._edge, self._corner = edge, corner
        if corner > 0.0:
            H -= np.outer(edge, edge / corner)
        # What is left of a large diagonal can be negative by rounding; the penalty is never lost in it.
        H[np.diag_indices(len(H))] = np.maximum(np.diag(H), 0.0) + 1.0
        self._factor = PositiveFactor(H)

    def solve(self, gradient: Vector, bias_gradient: float, accuracy: float = 0.0) -> tuple[Vector, float]:
        """Directions of w and b, as accurate as rounding lets them be."""
        if self._corner == 0.0:
            return self._factor.solve(-gradient), 0.0
        p = self._factor.solve(self._edge * (bias_gradient / self._corner) - gradient)
        return p, -(bias_gradient + float(self._edge @ p)) / self._corner


def _by_features(passes: ArrayRows, scale: float, c: Vector, sampling: bool) -> ByFeatures:
    chosen = np.flatnonzero(c)
    every = rows_for_one(len(chosen), passes.n_features) if sampling else 1
    if every > 1:
        chosen, count = sampled(chosen, long_rows(passes.squared_lengths()), every)
        weight = count * c[chosen]
    else:
        weight = c[chosen]
    corner = _corner(weight, scale)
    edge = np.zeros(passes.n_features)
    if corner > 0.0:
        edge = passes.combination_of(chosen, weight) if every > 1 else passes.combination(c)
    return ByFeatures(passes.products_of(chosen, weight), edge, corner)


def rows_for_one(n_rows: int, n_features: int) -> int:
    """How many rows one of them may stand for in a matrix over the features."""
    return max(1, n_rows // (_ROWS_PER_FEATURE * n_features))


class _ByRows:
    """The inner products of the active rows, factored."""

    def __init__(self, passes: ArrayRows, scale: float, products: RowProducts, active: RowIndex, c: Vector):
        self._passes, self._scale, self._active = passes, scale, active
        K = products.among(active)
        K[np.diag_indices(len(K))] += 1.0 / c
        self._factor = PositiveFactor(K)
        self._ones = self._factor.solve(np.ones(len(active))) if scale > 0.0 else np.zeros(len(active))

    def solve(self, gradient: Vector, bias_gradient: float, accuracy: float) -> tuple[Vector, float]:
        if len(self._active) == 0:
            return -gradient, -bias_gradient * self._scale**2 if np.isfinite(self._scale) else 0.0
        delta = self._factor.solve(self._passes.scores_of(self._active, gradient))
        t = 0.0
        if self._scale > 0.0:
            t = (float(np.sum(delta)) - bias_gradient) / (float(np.sum(self._ones)) + self._scale**-2.0)
            delta = delta - t * self._ones
        return self._passes.combination_of(self._active, delta) - gradient, t


class _Conjugate:
    """Conjugate gradients on the Hessian of w with the intercept eliminated."""

    def __init__(self, passes: ArrayRows, scale: float, active: RowIndex, c: Vector):
        self._passes, self._active, self._c = passes, active, c[active]
        self._corner = _corner(c, scale)
        self._has_intercept = self._corner > 0.0
        self._inverse = 1.0 / (1.0 + passes.squared_combination(c))

    def solve(self, gradient: Vector, bias_gradient: float, accuracy: float) -> tuple[Vector, float]:
        c, inverse = self._c, self._inverse
        base = -bias_gradient / self._corner if self._has_intercept else 0.0
        right = -gradient
        if base != 0.0:
            right = right - self._passes.combination_of(self._active, c * base)
        p, moved = np.zeros_like(right), np.zeros(len(c))
        residual = right.copy()
        z = inverse * residual
        q, rho = z.copy(), float(residual @ z)
        goal = accuracy * rho
        for _ in range(_MAX_CONJUGATE):
            if not rho > 0.0:
                break
            along = self._passes.scores_of(self._active, q)
            shift = -float(c @ along) / self._corner if self._has_intercept else 0.0
            Hq = q + self._passes.combination_of(self._active, c * (along + shift))
            step = rho / float(q @ Hq)
            p += step * q
            moved += step * along
            residual -= step * Hq
            z = inverse * residual
            rho, before = float(residual @ z), rho
            if rho <= goal:
                break
            q = z + (rho / before) * q
        return p, base - float(c @ moved) / self._corner if self._has_intercept else 0.0


def _corner(c: Vector, scale: float) -> float:
    """Curvature of the objective in the intercept; 0 where it has none and stays as it is, or where there is none."""
    return float(np.sum(c)) + scale**-2.0 if scale > 0.0 else 0.0


class RowProducts:
    """<x_i, x_j> of the rows asked for so far, at most `capacity` of them; older ones are forgotten together."""

    def __init__(self, passes: ArrayRows, capacity: int):
        self._passes, self._capacity = passes, capacity
        self._forget()

    def _forget(self) -> None:
        self._known = np.empty(0, dtype=np.int64)
        self._table = np.empty((0, 0))
        self._place = np.full(self._passes.n_rows, -1, dtype=np.int64)

    def among(self, rows: RowIndex) -> Matrix:
        """The matrix of these rows, a copy."""
        new = rows[self._place[rows] < 0]
        if len(self._known) + len(new) > self._capacity:
            self._forget()
            new = rows
        if len(new):
            self._learn(new)
        places = self._place[rows]
        return np.asarray(self._table[np.ix_(places, places)])

    def _learn(self, new: RowIndex) -> None:
        """Products of the new rows with each other and with the known ones."""
        old, total = len(self._known), len(self._known) + len(new)
        if total > len(self._table):
            grown = np.empty((min(self._capacity, max(2 * total, 64)),) * 2)
            grown[:old, :old] = self._table[:old, :old]
            self._table = grown
        self._known = np.concatenate([self._known, new])
        self._place[new] = np.arange(old, total)
        row_products_loop(self._passes.rows, self._known, old, np.zeros(self._passes.n_features), self._table)
