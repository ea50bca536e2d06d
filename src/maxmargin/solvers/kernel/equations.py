"""The linear equations of kernel least squares, with the intercept eliminated.

    minimise over w, b   1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i 1/2 (<w, phi(x_i)> + b - y_i)^2
    maximise over beta   D(beta) = sum_i y_i beta_i - 1/2 beta' K beta - 1/2 (s sum_i beta_i)^2 - 1/2 sum_i beta_i^2/C_i

with C_i = c_i / alpha, w = sum_i beta_i phi(x_i), K the matrix of k(x_i, x_j), and s the scale of the intercept
(`problems.intercept`). The slope of D vanishes where

    M beta = t,      M = K~ + diag(1 / C_i)

    no intercept         K~ = K                t = y
    augmented            K~ = K + s^2 1 1'     t = y
    free                 K~ = H' K H           t = y - 1 sum_i p_i y_i        p_i = c_i / sum_j c_j,   H = I - p 1'

For a free intercept H' K H is the kernel of the features phi(x_i) - sum_j p_j phi(x_j), whose mean is zero. With such
features, and targets with mean zero, the best b is zero: b is gone, and nothing is approximated. A point beta~ of these
equations stands for beta = H beta~, which has the same w and the sum zero that the dual asks for.

What is missing, rho = t - M beta, is all a certificate needs: the duality gap is

    P - D = 1/2 sum_i C_i rho_i^2        (rho less its mean by p, for a free intercept)

Without a penalty, alpha = 0, the diagonal of M is zero, and D is the dual of another problem:

    minimise over w, b   1/2 |w|^2     subject to   <w, phi(x_i)> + b = y_i

the flattest function through all targets, the limit of the above for alpha -> 0 where there is such a function. It
needs a finite primal value next to the optimum. A cost on what misses the targets gives one, and changes nothing once
it is larger than every multiplier (an exact penalty): 1/2 |w|^2 + A sum_i c_i |f_i - y_i| with A > |beta_i| / c_i.

Cholesky factors: one in the space of the matrix itself, and one from some of its rows only
-------------------------------------------------------------------------------------------

`KernelFactor` keeps K in the upper triangle of an array and writes the factor L, with L L' = K + diagonal, into the
lower one: together 8 n^2 bytes. Panels of columns are finished from left to right, each from those before it:

    L_kk L_kk' = M_kk - L_k L_k'        L_ik = (M_ik - L_i L_k') L_kk'^-1       L_k = the finished columns of the rows k

so a fit that is stopped in the middle has the factor of the leading rows, and with it the answer to these rows alone.

`NystroemFactor` takes r of the n rows, the columns S: K is about F F' with F = K_nS L^-T, L L' = K_SS, and

    (F F' + diagonal)^-1 = E - E F (I + F' E F)^-1 F' E        E = 1 / diagonal

It is no solution, but a preconditioner: what F F' has of K needs no conjugate gradients.
"""

from __future__ import annotations

import time
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsymv

from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.backends.threads import raise_if_interrupted
from maxmargin.data import as_double, long_sum
from maxmargin.problems import KernelProblem

_TILE = 1024
_PANEL = 512  # columns; narrower panels leave BLAS too little to do at a time
_ROWS = 4096  # rows of a panel between two looks at the clock
_MARGIN = 2.0  # how much larger than every multiplier the cost of missing a target is


class Values(NamedTuple):
    """Primal and dual value of a point, and the largest violation of a row's condition of optimality."""

    primal: float
    dual: float
    violation: float

    @property
    def relative_gap(self) -> float:
        """Gap by the size of the primal value."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)

    def within(self, tol: float) -> bool:
        """Whether a certificate would call this converged."""
        return self.relative_gap <= tol and self.violation <= tol


def covering_cost(beta: Vector, weight: Vector) -> float:
    """A of this file: a cost of missing a target that is larger than every multiplier."""
    return _MARGIN * float(np.max(np.abs(beta) / weight, initial=0.0)) or 1.0


class KernelEquations:
    """M beta = t of a problem, with the letters of this file; alpha is zero where `interpolate` is set."""

    def __init__(self, problem: KernelProblem, *, interpolate: bool):
        self.problem = problem
        self.alpha = 0.0 if interpolate else 1.0 / problem.C
        self.weight = problem.source.weight
        self.diagonal = self.alpha / self.weight
        self.is_free = problem.intercept.is_free
        self.share = self.weight / np.sum(self.weight)
        self.n_products = 0.0
        self.largest = 0.0
        """Size of the entries of K, before anything was subtracted from them; known with the matrix."""
        self.mean = np.zeros(problem.n_rows)
        """K p, likewise."""

    @cached_property
    def right(self) -> Vector:
        """The right side t."""
        y = self.problem.targets
        if not self.is_free:
            return y
        return np.zeros_like(y) if np.ptp(y) == 0.0 else self.centred(y)

    def centred(self, f: Vector) -> Vector:
        """H' f: less the mean by p, along the first axis."""
        return f - self.share @ f

    def multipliers(self, beta: Vector) -> Vector:
        """H beta, balanced to the last digit, for a free intercept; otherwise beta itself."""
        for _ in range(2 if self.is_free else 0):
            beta = beta - self.share * long_sum(beta)
        return beta

    def bias(self, beta: Vector) -> float | None:
        """The free intercept of least squares where alpha = 0; None where the certificate finds it by itself.

        Left to itself, it would take the best one for the cost of missing a target, which is a median and no mean.
        """
        if not self.is_free or self.alpha > 0.0:
            return None
        return float(self.share @ self.problem.targets - self.mean @ self.multipliers(beta))

    def product(self, beta: Vector) -> Vector:
        """K~ beta by tiles of the kernel matrix, which never exists as a whole."""
        self.n_products += 1.0
        scores = self.problem.scores(self.multipliers(beta))
        if self.is_free:
            return self.centred(scores)
        return scores + self.problem.intercept.scale**2 * long_sum(beta)

    def matrix(self) -> Matrix:
        """K~ as a whole: 8 n^2 bytes, and no second matrix on the way."""
        n = self.problem.n_rows
        K = np.empty((n, n))
        for top in range(0, n, _TILE):
            for left in range(0, top + 1, _TILE):
                raise_if_interrupted()
                rows, columns = slice(top, min(top + _TILE, n)), slice(left, min(left + _TILE, n))
                tile = self.kernel_tile(rows, columns)
                K[rows, columns] = tile
                K[columns, rows] = tile.T
        self.n_products += 1.0
        self.largest = float(np.max(np.abs(np.diagonal(K))))
        if self.is_free:
            self.mean = K @ self.share
            K -= self.mean[:, None]
            K -= self.mean - self.share @ self.mean
        else:
            K += self.problem.intercept.scale**2
        return K

    def kernel_tile(self, rows: slice, columns: slice | RowIndex) -> Matrix:
        """k(x_i, x_j), without the intercept."""
        problem = self.problem
        A = as_double(problem.source.take(rows))
        if problem.kernel.on == "matrix":
            tile = problem.kernel.columns(A, problem.source.X, problem.row_positions[columns])
        else:
            tile = problem.kernel.block(A, as_double(problem.source.take(columns)))
        return np.asarray(tile, dtype=np.float64)

    def values(self, beta: Vector, missing: Vector) -> Values:
        """Primal and dual value at beta, from what is missing there."""
        residual = missing + self.diagonal * beta  # y - f
        scores = self.right - residual
        half = 0.5 * float(beta @ scores)
        off = self.centred(missing) if self.is_free else missing
        violation = float(np.max(np.abs(off)))
        if self.alpha == 0.0:
            balanced = self.multipliers(beta)
            cost = covering_cost(balanced, self.weight)
            return Values(
                half + cost * float(self.weight @ np.abs(off)), float(self.right @ balanced) - half, violation
            )
        costs = self.problem.costs
        primal = half + 0.5 * float(costs @ np.square(residual))
        return Values(primal, primal - 0.5 * float(costs @ np.square(off)), violation)


class NotPositiveError(Exception):
    """The matrix has an eigenvalue that is negative, or zero up to rounding."""


class TimeIsUpError(Exception):
    """The deadline has passed."""


class KernelFactor:
    """K with its products, and the factor of K + diagonal as far as it got."""

    def __init__(self, K: Matrix, panel: int = _PANEL):
        self._array, self._panel = K, panel
        self._kernel_diagonal = np.diagonal(K).copy()
        self.n_done = 0

    def product(self, x: Vector) -> Vector:
        """K x, from the upper triangle."""
        # The upper triangle of an array by rows is the lower one of the same array by columns, as BLAS sees it.
        whole: Vector = dsymv(1.0, self._array.T, x, lower=1)
        return whole + (self._kernel_diagonal - np.diagonal(self._array)) * x

    def factor(self, diagonal: Vector, end: float, least: float = 0.0) -> None:
        """Factor K + diagonal; every pivot must be larger than `least`."""
        A, n = self._array, len(self._array)
        self._restore()
        for left in range(0, n, self._panel):
            right = min(left + self._panel, n)
            before = A[left:right, :left]
            square = np.triu(A[left:right, left:right], 1)
            square = square + square.T + np.diag(self._kernel_diagonal[left:right] + diagonal[left:right])
            try:
                corner = cholesky(square - before @ before.T, lower=True)
            except LinAlgError as error:
                raise NotPositiveError from error
            if not np.min(np.diagonal(corner)) ** 2 > least:
                raise NotPositiveError
            A[left:right, left:right] = np.triu(A[left:right, left:right], 1) + corner
            self.n_done = right
            for top in range(right, n, _ROWS):
                rows = slice(top, min(top + _ROWS, n))
                part = A[rows, left:right] - A[rows, :left] @ before.T
                A[rows, left:right] = solve_triangular(corner, part.T, lower=True, check_finite=False).T
                raise_if_interrupted()
                if time.perf_counter() > end:
                    raise TimeIsUpError

    def _restore(self) -> None:
        """Copy the upper triangle over what an earlier attempt has left in the lower one."""
        if self.n_done:
            for top in range(0, len(self._array), self._panel):
                rows = slice(top, top + self._panel)
                self._array[rows, :top] = self._array[:top, rows].T
                corner = np.triu(self._array[rows, rows], 1)
                self._array[rows, rows] = corner + corner.T + np.diag(self._kernel_diagonal[rows])
            self.n_done = 0

    def solve(self, right: Vector) -> Vector:
        """The x with (K + diagonal) x = right over the leading rows that are done, and zero elsewhere."""
        A, n = self._array, self.n_done
        x = np.zeros_like(right)
        x[:n] = right[:n]
        panels = [slice(left, min(left + self._panel, n)) for left in range(0, n, self._panel)]
        for rows in panels:
            x[rows] -= A[rows, : rows.start] @ x[: rows.start]
            x[rows] = solve_triangular(A[rows, rows], x[rows], lower=True, check_finite=False)
        for rows in reversed(panels):
            x[rows] -= A[rows.stop : n, rows].T @ x[rows.stop : n]
            x[rows] = solve_triangular(A[rows, rows], x[rows], lower=True, trans=1, check_finite=False)
        return x


class NystroemFactor:
    """The inverse of F F' + diagonal, from the kernel values of some rows."""

    def __init__(self, equations: KernelEquations, n_chosen: int, rng: np.random.Generator):
        n = equations.problem.n_rows
        chosen = np.sort(rng.choice(n, size=min(n_chosen, n), replace=False))
        F = np.empty((n, len(chosen)))
        for top in range(0, n, _ROWS):
            raise_if_interrupted()
            rows = slice(top, min(top + _ROWS, n))
            F[rows] = equations.kernel_tile(rows, chosen)
        if not equations.is_free:
            F += equations.problem.intercept.scale**2
        square = F[chosen]
        size = float(np.max(np.abs(np.diagonal(square)), initial=0.0))
        # Rows that resemble each other make the square singular; this much on its diagonal only weakens F a little.
        square[np.diag_indices_from(square)] += max(1e-10 * size, 1e-300)
        try:
            corner = cholesky(0.5 * (square + square.T), lower=True)
        except LinAlgError as error:
            raise NotPositiveError from error
        F = solve_triangular(corner, F.T, lower=True, overwrite_b=True, check_finite=False).T
        self._F = equations.centred(F) if equations.is_free else F
        self._inverse = 1.0 / equations.diagonal
        inner = (self._F * self._inverse[:, None]).T @ self._F
        inner[np.diag_indices_from(inner)] += 1.0
        self._inner = cho_factor(inner, lower=True, overwrite_a=True)

    def solve(self, right: Vector) -> Vector:
        """The x with (F F' + diagonal) x = right."""
        scaled = self._inverse * right
        solved: Vector = scaled - self._inverse * (self._F @ cho_solve(self._inner, self._F.T @ scaled))
        return solved
