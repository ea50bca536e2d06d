"""Quadratics plus an L1 penalty on a working set of columns: the model of a smooth loss, and how both are minimised.

    minimise over u, shift    1/2 sum_i c_i (<x_i, u - w> + shift)^2 + 1/2 ridge shift^2
                              + g' (u - w) + g_0 shift + strength |u|_1

with c_i the curvature of each row, g the slope of the losses in the weights of the working set and g_0 that in the
intercept. The intercept is eliminated: with edge_j = sum_i c_i x_ij and corner = sum_i c_i + ridge its best shift is
-(g_0 + edge' (u - w)) / corner, and what remains is a quadratic in u alone with

    H = X' diag(c) X - edge edge' / corner        slope g - edge g_0 / corner

Few columns: H is formed. Coordinate descent finds which u_j are not zero; where it crawls because columns are alike, a
Newton step on the face of those (signs kept, weights that would change sign stopped at zero) ends it at once: on a face
the objective is a quadratic, and its minimum one Cholesky factor away. Many columns: coordinate descent on the columns
themselves.

Nothing here knows of a loss. The squared loss has c_i = C_i, and the model is the problem itself: the lasso minimises
it with the same functions, also with l2/2 |u|^2 beside |u|_1 and where weights must not be negative.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._loops.linear.lasso import Shrinkage, SweptColumns, chosen_products_loop, column_sweeps, product_sweeps
from maxmargin._loops.rows import CSRRows, DenseRows
from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.backends.threads import StopFlag, over_ranges, run_together, thread_count
from maxmargin.data.rows import ArrayRows
from maxmargin.solvers.common.positive_systems import PositiveFactor

MAX_GRAM = 3000  # columns up to which H is formed
_BLOCK_ROWS = 2048
_SERIAL_ENTRIES = 100_000
_THREAD_BYTES = 256 << 20  # room for the H of all threads together
_FLOOR = 1e-12  # share of its own curvature that a column keeps when the intercept takes it all
_ROUNDS = 6
_WALK = 60  # weights that may reach zero on one walk
_BRIEF = 1000  # columns whose sweeps end within milliseconds
_GRAM_SWEEPS = 100
_COLUMN_SWEEPS = 60


@dataclass(frozen=True)
class LocalModel:
    """The model around weights w of the working set `chosen`."""

    passes: ArrayRows
    chosen: RowIndex
    w: Vector
    g: Vector
    c: Vector
    bias: tuple[float, float] | None
    """Slope in the intercept, and the curvature its own penalty gives it; None where there is no intercept."""
    strength: float

    def minimise(self, goal: float) -> tuple[Vector, float]:
        """The u whose coordinates are all within `goal` of optimal, or nearly, and the shift of the intercept."""
        cost = Shrinkage(self.strength)
        edge, corner, base = np.zeros(len(self.w)), 1.0, 0.0
        if self.bias is not None:
            slope, ridge = self.bias
            edge = self.passes.combination(self.c)[self.chosen]
            corner = max(float(np.sum(self.c)) + ridge, 1e-300)
            base = slope / corner
        v, u = edge * base - self.g, self.w.copy()
        if len(self.chosen) <= MAX_GRAM:
            H = chosen_products(self.passes, self.c, self.chosen)
            floor = _floor(np.diag(H))
            H -= np.outer(edge, edge / corner)
            H[np.diag_indices(len(H))] = np.maximum(np.diag(H), 0.0) + floor
            minimise_by_products(H, v, u, cost, goal, _GRAM_SWEEPS, _ROUNDS)
        else:
            squares = self.passes.squared_combination(self.c)[self.chosen]
            squares = np.maximum(squares - edge**2 / corner, 0.0) + _floor(squares)
            rho = np.zeros(int(np.count_nonzero(self.c)))
            Z, every = scaled_columns(self.passes, self.c, self.chosen), np.arange(len(u))
            columns = SweptColumns(Z, every, v, squares, edge / np.sqrt(corner))
            minimise_by_columns(columns, u, rho, cost, goal, _COLUMN_SWEEPS)
        shift = -base - float(edge @ (u - self.w)) / corner
        return u, shift if self.bias is not None else 0.0


def _floor(diagonal: Vector) -> Vector:
    return _FLOOR * diagonal + 1e-200


def minimise_by_products(
    H: Matrix, v: Vector, u: Vector, cost: Shrinkage, goal: float, sweeps: int, rounds: int
) -> None:
    """Bring u to the minimum of a quadratic and what it costs, and with it v, minus the slope of the quadratic.

    H may be larger than u: its first rows and columns count. A round is sweeps and a Newton step.
    """

    def task(stop: StopFlag) -> bool:
        return product_sweeps(H, v, u, cost, goal, sweeps, stop)

    for _ in range(rounds):
        if run_together([task], brief=len(u) < _BRIEF)[0] or not _to_the_minimum_of_the_face(H, v, u, cost):
            return


def minimise_by_columns(
    columns: SweptColumns, u: Vector, rho: Vector, cost: Shrinkage, goal: float, sweeps: int
) -> None:
    """The same where the columns are too many for H: changes u and rho."""
    run_together([lambda stop: column_sweeps(columns, u, rho, cost, goal, sweeps, stop)])


def _to_the_minimum_of_the_face(H: Matrix, v: Vector, u: Vector, cost: Shrinkage) -> bool:
    """A Newton step among weights of the same signs; says whether it went down.

    Where the minimum has other signs, weights that would change theirs stop at zero: all at once if that leads down,
    else one after the other as a walk to it meets them, each time turning to the minimum over those that are left.
    """
    face = np.flatnonzero(u)
    if len(face) == 0:
        return False
    here = u[face]
    A = H[np.ix_(face, face)]
    if cost.l2 > 0.0:
        A[np.diag_indices(len(A))] += cost.l2
    slope = cost.l2 * here + cost.l1 * np.sign(here) - v[face]
    try:
        factor = PositiveFactor(A)
        minimum = here - factor.solve(slope)
        there = np.where(minimum * here > 0.0, minimum, 0.0)
        if not _change(A, slope, there - here) < 0.0:
            there = _walk(factor, here, minimum)
    except np.linalg.LinAlgError:  # too singular for a step to mean anything
        return False
    if not _change(A, slope, there - here) < 0.0:
        return False
    u[face] = there
    v -= (there - here) @ H[face, : len(v)]
    return True


def _change(A: Matrix, slope: Vector, step: Vector) -> float:
    """Change of the objective by a step inside a face."""
    return float(slope @ step) + 0.5 * float(step @ (A @ step))


def _walk(factor: PositiveFactor, here: Vector, minimum: Vector) -> Vector:
    """Where a walk to the minimum gets when weights that reach zero stay there.

    With K the columns of A^-1 that belong to those, the minimum over the others is
    minimum - K (K_zero)^-1 minimum_zero: one solve a weight and no new factorisation.
    """
    at: Vector = here.copy()
    towards = minimum
    zero: list[int] = []
    K = np.empty((len(here), _WALK))
    while True:
        step = towards - at
        crosses = (at != 0.0) & (towards * here <= 0.0)
        if not np.any(crosses):
            return towards
        reach = np.where(crosses, at / np.where(crosses, -step, 1.0), np.inf)
        first = int(np.argmin(reach))
        at = at + reach[first] * step
        at[[*zero, first]] = 0.0
        if len(zero) == _WALK:
            return at
        unit = np.zeros(len(here))
        unit[first] = 1.0
        K[:, len(zero)] = factor.solve(unit)
        zero.append(first)
        part = K[:, : len(zero)]
        towards = minimum - part @ PositiveFactor(part[zero]).solve(minimum[zero])
        towards[zero] = 0.0


def chosen_products(passes: ArrayRows, weight: Vector, chosen: RowIndex) -> Matrix:
    """sum_i weight_i x_i x_i' over the chosen columns only."""
    rows, size = passes.rows, len(chosen)
    used = np.flatnonzero(weight)
    place = np.full(passes.n_features, -1, dtype=np.int32)
    place[chosen] = np.arange(size, dtype=np.int32)
    every = size == passes.n_features

    def dense(first: int, last: int, stop: StopFlag) -> Matrix:
        """Scaled rows in blocks that stay in the cache, multiplied by BLAS."""
        H = np.zeros((size, size))
        for top in range(first, last, _BLOCK_ROWS):
            block = used[top : min(top + _BLOCK_ROWS, last)]
            taken = rows.values[block] if every else rows.values[np.ix_(block, chosen)]
            scaled = taken * np.sqrt(weight[block])[:, None]
            H += scaled.T @ scaled
        return H

    def scattered(first: int, last: int, stop: StopFlag) -> Matrix:
        assert isinstance(rows, CSRRows)
        room = int(np.max(np.diff(rows.starts)))
        H, at, entry = np.zeros((size, size)), np.empty(room, dtype=np.int32), np.empty(room)
        chosen_products_loop(rows.values, rows.columns, rows.starts, weight, used[first:last], place, at, entry, H)
        return H

    jobs = min(thread_count(passes.n_jobs), max(1, _THREAD_BYTES // (8 * size * size + 1)))
    if passes.n_entries < _SERIAL_ENTRIES:
        jobs = 1
    is_dense = isinstance(rows, DenseRows)
    parts = over_ranges(dense if is_dense else scattered, len(used), jobs) if len(used) else []
    H = np.asarray(sum(parts, np.zeros((size, size))))
    return H if is_dense else H + H.T - np.diag(np.diag(H))


def scaled_columns(passes: ArrayRows, weight: Vector, chosen: RowIndex) -> DenseRows | CSRRows:
    """Chosen columns of diag(sqrt(weight)) X without the rows of weight zero, each column as a row for the loops."""
    rows: Any = passes.rows
    used = np.flatnonzero(weight)
    root = np.sqrt(weight[used]).astype(rows.values.dtype)
    if isinstance(rows, DenseRows):
        return DenseRows(np.ascontiguousarray((rows.values[np.ix_(used, chosen)] * root[:, None]).T))
    shape = (passes.n_rows, passes.n_features)
    X = sparse.csr_matrix((rows.values, rows.columns, rows.starts), shape=shape, copy=False)
    Z = (sparse.diags(root) @ X[used][:, chosen]).tocsc()
    return CSRRows(Z.data, Z.indices.astype(rows.columns.dtype, copy=False), Z.indptr.astype(np.int64))
