"""The Hessian of softmax regression, and the equations it makes, in passes over blocks of rows.

    Hessian times V     V + sum_i C_i x_i (p_i * g_i - p_i <p_i, g_i>)'      g_i = V' x_i + change of b

V and the intercept's change are one table of d + 1 rows, one a feature and the last for b, and one column a class. The
equations are solved by a factorisation, or by conjugate gradients scaled by the diagonal, two passes a step.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from maxmargin._types import Matrix, Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.data import as_double
from maxmargin.problems import Intercept, LinearProblem

_BLOCK_BYTES = 8 << 20
_MAX_PRODUCTS = 500  # conjugate-gradient steps for one direction


class TimeIsUp(Exception):  # noqa: N818 - not an error
    """The end of the budget, noticed inside a step."""


class RowPasses:
    """Passes over the rows of a problem, shared among threads and counted, until the time is up."""

    def __init__(self, problem: LinearProblem, n_classes: int, n_jobs: int | None, end: float):
        self.problem, self.n_classes, self.n_jobs, self.end = problem, n_classes, n_jobs, end
        self.n_features = problem.source.n_features
        self.n_passes = 0.0

    def run(self, work: Callable[[Rows, slice], Matrix | None], width: int) -> list[Matrix]:
        """Give `work` all rows, a block of them at a time, and return the sums of its results, one a thread.

        Blocks are in double precision, and so few rows long that `width` numbers a row fit the caches.
        """
        if time.perf_counter() > self.end:
            raise TimeIsUp
        self.n_passes += 1.0
        step = max(1, _BLOCK_BYTES // (8 * width))

        def share(first: int, last: int, stop: StopFlag) -> Matrix | None:
            total = None
            for top in range(first, last, step):
                if stop[0]:
                    break
                span = slice(top, min(top + step, last))
                part = work(as_double(self.problem.source.take(span)), span)
                total = part if total is None or part is None else np.add(total, part, out=total)
            return total

        return over_ranges(share, self.problem.n_rows, self.n_jobs)

    def scores(self, W: Matrix) -> Matrix:
        """W' x_i of every row."""
        scores = np.empty((self.problem.n_rows, self.n_classes))

        def work(X: Rows, span: slice) -> None:
            scores[span] = X @ W

        self.run(work, self.n_features)
        return scores

    def combination(self, beta: Matrix) -> Matrix:
        """sum_i x_i beta_i'."""
        return np.asarray(sum(self.run(lambda X, span: np.asarray(X.T @ beta[span]), self.n_features)))


@dataclass(frozen=True)
class Hessian:
    """The Hessian where the rows have class probabilities p."""

    rows: RowPasses
    p: Matrix
    C: Vector
    intercept: Intercept

    @property
    def has_intercept(self) -> bool:
        """Whether there is an intercept to move."""
        return self.intercept.scale > 0.0

    @property
    def stiffness(self) -> float:
        """Curvature of the penalty on b."""
        return stiffness_of(self.intercept)

    def factored(self, right: Matrix) -> Matrix:
        """Solve with the Hessian: sum_i C_i (diag(p_i) - p_i p_i') (x) (x_i, 1)(x_i, 1)' plus the penalty."""
        p, K, D = self.p, self.rows.n_classes, self.rows.n_features + 1

        def work(X: Rows, span: slice) -> Matrix:
            x = np.full((X.shape[0], D), float(self.has_intercept))
            x[:, :-1] = X.toarray() if sparse.issparse(X) else X
            q = np.sqrt(self.C[span, None]) * p[span]
            both = (q[:, :, None] * x[:, None, :]).reshape(len(x), K * D)
            part = -(both.T @ both).reshape(K, D, K, D)
            for k in range(K):
                part[k, :, k, :] += (x * (self.C[span] * p[span, k])[:, None]).T @ x
            return part

        H = np.asarray(sum(self.rows.run(work, K * D)))
        flat = H.reshape(K * D, K * D)
        penalty = np.ones((K, D))
        if self.has_intercept:
            penalty[:, -1] = self.stiffness
        flat[np.diag_indices(K * D)] += penalty.ravel()
        if self.intercept.is_free:
            # The same number added to every b_k changes nothing; the rank-one term takes that direction out.
            H[:, -1, :, -1] += float(np.sum(self.C)) / K**2
        try:
            answer = cho_solve(cho_factor(flat, overwrite_a=True, check_finite=False), right.T.ravel())
        except LinAlgError:  # columns so different in length that rounding made a pivot negative
            answer = np.linalg.lstsq(flat, right.T.ravel(), rcond=None)[0]
        return np.ascontiguousarray(answer.reshape(K, D).T)

    def conjugate_gradients(self, right: Matrix, looseness: float) -> Matrix:
        """Solve with the Hessian by conjugate gradients scaled by its diagonal."""
        p, C = self.p, self.C[:, None]

        def product(v: Matrix) -> Matrix:
            g = self.rows.scores(v[:-1]) + v[-1]
            bent = C * p * (g - row_sums(p * g)[:, None])
            return np.vstack([v[:-1] + self.rows.combination(bent), column_sums(bent) + self.stiffness * v[-1]])

        inverse = 1.0 / self._diagonal(C * p * (1.0 - p))
        x, residual = np.zeros_like(right), right
        z = inverse * residual
        towards, rho = z, float(np.vdot(residual, z))
        goal = looseness**2 * rho
        for _ in range(_MAX_PRODUCTS):
            if rho <= goal:
                break
            bent = product(towards)
            size = rho / float(np.vdot(towards, bent))
            x, residual = x + size * towards, residual - size * bent
            z = inverse * residual
            rho, before = float(np.vdot(residual, z)), rho
            towards = z + (rho / before) * towards
        return x

    def _diagonal(self, curvature: Matrix) -> Matrix:
        """Diagonal of the Hessian as a table like the gradient; infinite for an intercept that is not there."""

        def work(X: Rows, span: slice) -> Matrix:
            squares = X.multiply(X).tocsr() if sparse.issparse(X) else np.square(X)
            return np.asarray(squares.T @ curvature[span])

        table = np.ones((self.rows.n_features + 1, self.rows.n_classes))
        table[:-1] += sum(self.rows.run(work, self.rows.n_features))
        table[-1] = np.maximum(np.sum(curvature, axis=0) + self.stiffness, 1e-300) if self.has_intercept else np.inf
        return table


def stiffness_of(intercept: Intercept) -> float:
    """1 / s^2 of an intercept that is penalised; 0 where it is free or not there."""
    return float(intercept.scale**-2.0) if intercept.scale > 0.0 else 0.0


def row_sums(A: Matrix) -> Vector:
    """By a product: for a few columns several times faster than a sum along them."""
    sums: Vector = A @ np.ones(A.shape[1])
    return sums


def column_sums(A: Matrix) -> Vector:
    """Column by column in pairs, so that long sums keep their digits; NumPy adds row after row otherwise."""
    sums: Vector = np.sum(np.ascontiguousarray(A.T), axis=1)
    return sums
