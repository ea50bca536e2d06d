"""The working set of the lasso: a few columns, their products with each other, and the minimum over them.

    minimise over u    1/2 |t - Z u|^2 + l1 |u|_1 + l2/2 |u|^2        over the columns of the working set

With H = Z'Z at hand a sweep of coordinate descent touches no data. Sweeps find which u_j are not zero. Where they
crawl, because columns are alike, a Newton step on the face of those, with their signs kept, ends it at once: on a face
the objective is a quadratic, and its minimum one Cholesky factor away. So the minimum is found to rounding, whatever
the tolerance, for the price of a rough one.

Products are kept as long as their columns are, so that the next strength of a path begins with them. A set with more
than `MAX_PRODUCTS` columns has no H, and is searched by sweeps over the columns themselves.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dposv

from maxmargin._loops.linear.lasso import column_sweeps, product_sweeps
from maxmargin._loops.rows import DenseRows
from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.solvers.common.positive_factor import PositiveFactor
from maxmargin.solvers.sparse.lasso_design import DenseDesign, SparseDesign

MAX_PRODUCTS = 3000
_FEW_COLUMNS = 256  # columns of tall data whose products are all formed in one pass
_SWEEPS = 30  # between two Newton steps
_ROUNDS = 60
_COLUMN_SWEEPS = 40
_FINE = 1e-9  # share of the strength within which coordinates are called optimal
_EPSILON = float(np.finfo(np.float64).eps)


class WorkingSet:
    """Columns in the order they came, their weights u, and H."""

    def __init__(self, design: DenseDesign | SparseDesign, *, positive: bool = False):
        self.design, self.positive = design, positive
        self.columns: RowIndex = np.zeros(0, dtype=np.int64)
        self.holds = np.zeros(design.n_features, dtype=bool)
        self.u: Vector = np.zeros(0)
        self.H: Matrix = np.zeros((0, 0))
        self.Z: Matrix = np.zeros((0, len(design.y)))
        n, d = len(design.y), design.n_features
        self.is_whole = isinstance(design, DenseDesign) and d <= min(n, _FEW_COLUMNS)
        if self.is_whole:
            assert isinstance(design, DenseDesign)
            self.columns, self.u, self.H = np.arange(d), np.zeros(d), design.products()
            self.holds[:] = True

    @property
    def has_products(self) -> bool:
        """Whether H is there."""
        return self.is_whole or len(self.columns) <= MAX_PRODUCTS

    @property
    def support(self) -> RowIndex:
        """Columns whose weight is not zero."""
        used: RowIndex = self.columns[self.u != 0.0]
        return used

    def weights(self) -> Vector:
        """Weights of all columns."""
        w = np.zeros(self.design.n_features)
        w[self.columns] = self.u
        return w

    def left(self) -> Vector:
        """What is left of the target, formed afresh from the columns."""
        if len(self.Z):
            used = np.flatnonzero(self.u)
            return self.design.without_intercept(self.design.target - self.u[used] @ self.Z[used])
        used = np.flatnonzero(self.u)
        return self.design.left(self.columns[used], self.u[used])

    def add(self, new: RowIndex) -> None:
        """Take more columns in, with weight zero; idle ones leave where there would be too many for H."""
        if len(new) == 0:
            return
        if len(self.columns) + len(new) > MAX_PRODUCTS and not self.is_whole:
            self._keep(self.u != 0.0)
        first = len(self.columns)
        self.columns = np.concatenate([self.columns, new])
        self.holds[new] = True
        self.u = np.concatenate([self.u, np.zeros(len(new))])
        m = len(self.columns)
        if isinstance(self.design, DenseDesign):
            self.Z = np.concatenate([self.Z, self.design.taken(new)])
        if not self.has_products:
            self.H = np.zeros((0, 0))
            return
        if len(self.H) < first:  # they were too many before, and their products are not there
            first = 0
        self._reserve(m)
        if isinstance(self.design, SparseDesign):
            self.design.add_products(self.columns, first, self.H)
        else:
            self.H[first:m, :m] = self.Z[first:m] @ self.Z[:m].T
            self.H[:first, first:m] = self.H[first:m, :first].T

    def start(self, w: Vector) -> None:
        """Begin at these weights."""
        self.add(np.flatnonzero((w != 0.0) & ~self.holds))
        self.u = np.asarray(w, dtype=np.float64)[self.columns]

    def _reserve(self, m: int) -> None:
        """Room in H for m columns; it doubles, so that a column is copied a few times at most."""
        if m > len(self.H):
            old = self.H
            size = min(max(2 * m, 64), max(m, MAX_PRODUCTS))
            self.H = np.zeros((size, size))
            self.H[: len(old), : len(old)] = old

    def _keep(self, kept: Vector) -> None:
        """Let the other columns go."""
        had_products, which = self.has_products, np.flatnonzero(kept)
        self.holds[self.columns] = False
        self.columns, self.u = self.columns[which], self.u[which]
        self.holds[self.columns] = True
        self.H = self.H[np.ix_(which, which)] if had_products else np.zeros((0, 0))
        if len(self.Z):
            self.Z = self.Z[which]

    def minimise(self, v: Vector, l1: float, l2: float) -> None:
        """Find the minimum over the set; v are its correlations with what is left at the present weights."""
        size = float(np.max(self.design.lengths[self.columns], initial=0.0))
        rounding = 16.0 * _EPSILON * size * float(np.linalg.norm(self.design.target))
        goal = max(_FINE * l1, rounding)
        if not self.has_products:
            self._by_columns(l1, l2, goal)
            return
        v = v.copy()
        for _ in range(_ROUNDS):
            done = product_sweeps(self.H, v, self.u, l1, l2, self.positive, goal, _SWEEPS)
            if done or not self._to_the_minimum_of_the_face(v, l1, l2):
                return

    def _to_the_minimum_of_the_face(self, v: Vector, l1: float, l2: float) -> bool:
        """A Newton step among weights of the same signs; says whether it went down.

        Where the minimum has other signs, weights that would change theirs stop at zero: all at once if that leads
        down, else only the first that the way to the minimum meets.
        """
        face = np.flatnonzero(self.u)
        if len(face) == 0:
            return False
        here = self.u[face]
        A = self.H[np.ix_(face, face)]
        if l2 > 0.0:
            A[np.diag_indices(len(A))] += l2
        slope = l2 * here + l1 * np.sign(here) - v[face]
        try:
            minimum = here - _solved(A, slope)
        except np.linalg.LinAlgError:  # too singular for a step to mean anything
            return False
        there = np.where(minimum * here > 0.0, minimum, 0.0)
        step = there - here
        change = _change(A, slope, step)
        if change >= 0.0:
            there = _first_zero(here, minimum)
            step = there - here
            change = _change(A, slope, step)
        if not change < 0.0:
            return False
        self.u[face] = there
        v -= step @ self.H[face, : len(v)]
        return True

    def _by_columns(self, l1: float, l2: float, goal: float) -> None:
        design = self.design
        if isinstance(design, SparseDesign):
            rows: object = design.weighted
            chosen, edge = self.columns, design.edges[self.columns]
            rho = self.left()
            squares = np.square(design.lengths[self.columns])
        else:  # taken columns are centred, so that they have no share of the intercept's direction
            rows, chosen, edge = DenseRows(self.Z), np.arange(len(self.columns)), np.zeros(len(self.columns))
            rho = self.left()
            squares = np.einsum("ij,ij->i", self.Z, self.Z)
        column_sweeps(rows, chosen, squares, edge, 0.0, self.u, rho, l1, l2, self.positive, goal, _COLUMN_SWEEPS)


def _solved(A: Matrix, right: Vector) -> Vector:
    """The x with A x = right: at once where A is well positive, with care where it is not."""
    unit = 1.0 / np.sqrt(np.maximum(A.diagonal(), 1e-300))
    _, solved, failed = dposv(A * unit * unit[:, None], unit * right, lower=1)
    return PositiveFactor(A).solve(right) if failed else np.asarray(unit * solved)


def _change(A: Matrix, slope: Vector, step: Vector) -> float:
    """Change of the objective by a step inside a face."""
    return float(slope @ step) + 0.5 * float(step @ (A @ step))


def _first_zero(here: Vector, minimum: Vector) -> Vector:
    """Where the way to the minimum first meets a weight of zero; the objective falls all the way."""
    crosses = minimum * here <= 0.0
    reach = np.where(crosses, here / np.where(crosses, here - minimum, 1.0), np.inf)
    first = int(np.argmin(reach))
    there: Vector = here + reach[first] * (minimum - here)
    there[first] = 0.0
    return there
