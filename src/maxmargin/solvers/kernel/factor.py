"""Cholesky factor of a kernel matrix in the space of the matrix itself, and one from some of its rows only.

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

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, solve_triangular
from scipy.linalg.blas import dsymv

from maxmargin._types import Matrix, Vector
from maxmargin.backends.threads import raise_if_interrupted
from maxmargin.solvers.kernel.equations import KernelEquations

_PANEL = 512  # columns; narrower panels leave BLAS too little to do at a time
_ROWS = 4096  # rows of a panel between two looks at the clock


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
