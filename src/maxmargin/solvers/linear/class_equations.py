"""Newton's equations for the weights of all classes, in passes over blocks of rows.

    (penalty + sum_i S_i (x) x_i x_i') d = right        S_i = diag(h_i) - h_i h_i' / sum_k h_ik

with h_i one positive number a class: C_i p_i for softmax regression, q_i / z_i for the interior points of Crammer and
Singer's machine. The x_i have a 1 at their end for the intercept, so that d and the right side are tables of d + 1
rows, the last for b, and one column a class. Such a matrix times a table V is

    V + sum_i x_i (h_i * g_i - h_i <h_i, g_i> / sum_k h_ik)'        g_i = V' x_i

The equations are solved by a factorisation, or by conjugate gradients scaled by the diagonal, two passes a step. What
is formed is the sum over pairs of classes,

    S_i = sum_{k<l} (h_ik h_il / sum_k h_ik) (e_k - e_l)(e_k - e_l)'

It adds terms of one sign and keeps its digits where one h_ik is huge, at a unique largest score.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.data import as_double
from maxmargin.problems import LinearProblem
from maxmargin.problems.class_intercepts import column_sums, row_sums
from maxmargin.solvers.common.positive_systems import PositiveFactor, conjugate_gradients

_BLOCK_BYTES = 8 << 20
_MAX_PRODUCTS = 500  # conjugate-gradient steps for one direction


class TimeIsUp(Exception):  # noqa: N818 - not an error
    """The end of the budget, noticed inside a step."""


class ClassPasses:
    """Passes over the rows of a problem with a table of weights, shared among threads and counted."""

    def __init__(self, problem: LinearProblem, n_classes: int, end: float, n_jobs: int | None = 1):
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

        return over_ranges(share, self.problem.n_rows, self.n_jobs, brief=True)

    def scores(self, table: Matrix) -> Matrix:
        """W' x_i + b of every row."""
        scores: Matrix = np.empty((self.problem.n_rows, self.n_classes))

        def work(X: Rows, span: slice) -> None:
            scores[span] = X @ table[:-1]

        self.run(work, self.n_features)
        scores += table[-1]
        return scores

    def combination(self, beta: Matrix) -> Matrix:
        """sum_i (x_i, 1) beta_i'."""
        parts = self.run(lambda X, span: np.asarray(X.T @ beta[span]), self.n_features)
        return np.vstack([np.asarray(sum(parts)), column_sums(beta)])


def table_penalty(problem: LinearProblem) -> Matrix:
    """Curvature of the penalty in each row of a table; the 1 of an intercept that is not there stands for nothing."""
    penalty = np.ones((problem.source.n_features + 1, 1))
    penalty[-1] = problem.intercept.scale**-2.0 if problem.intercept.scale > 0.0 else 1.0
    return penalty


class ClassEquations:
    """The equations for one h."""

    def __init__(self, passes: ClassPasses, h: Matrix):
        self.passes, self.h, self.share = passes, h, h / row_sums(h)[:, None]
        self.penalty = table_penalty(passes.problem)
        self.is_free = passes.problem.intercept.is_free
        self.has_intercept = passes.problem.intercept.scale > 0.0

    def factored(self) -> Callable[[Matrix], Matrix]:
        """What solves the equations for one right side after the other."""
        K, D = self.passes.n_classes, self.passes.n_features + 1
        roots = self.h / np.sqrt(row_sums(self.h))[:, None]

        def work(X: Rows, span: slice) -> Matrix:
            x = np.full((X.shape[0], D), float(self.has_intercept))
            x[:, :-1] = X.toarray() if sparse.issparse(X) else X
            both = (roots[span, :, None] * x[:, None, :]).reshape(len(x), K * D)
            return np.asarray(both.T @ both)

        matrix = -np.asarray(sum(self.passes.run(work, K * D))).reshape(K, D, K, D)
        every = np.arange(K)
        matrix[every, :, every] = 0.0
        matrix[every, :, every] = -np.sum(matrix, axis=2)
        flat = matrix.reshape(K * D, K * D)
        flat[np.diag_indices(K * D)] += np.tile(self.penalty[:, 0], K)
        if self.is_free:  # the same number added to every b_k changes nothing; this takes that direction out
            matrix[:, -1, :, -1] += float(np.trace(matrix[:, -1, :, -1])) / K**2
        factor = PositiveFactor(flat)
        return lambda right: np.ascontiguousarray(factor.solve(right.T.ravel()).reshape(K, D).T)

    def conjugate_gradients(self, right: Matrix, accuracy: float) -> Matrix:
        """The solution by conjugate gradients scaled by the diagonal."""

        def product(V: Matrix) -> Matrix:
            g = self.passes.scores(V)
            return self.penalty * V + self.passes.combination(self.h * (g - row_sums(self.share * g)[:, None]))

        return conjugate_gradients(product, right, 1.0 / self._diagonal(), accuracy, lambda n: n < _MAX_PRODUCTS)

    def _diagonal(self) -> Matrix:
        """Diagonal of the matrix as a table; infinite for an intercept that is not there."""
        curvature = self.h * (1.0 - self.share)

        def work(X: Rows, span: slice) -> Matrix:
            squares = X.multiply(X).tocsr() if sparse.issparse(X) else np.square(X)
            return np.asarray(squares.T @ curvature[span])

        table = np.tile(self.penalty, self.passes.n_classes)
        table[:-1] += sum(self.passes.run(work, self.passes.n_features))
        table[-1] = np.maximum(table[-1] + np.sum(curvature, axis=0), 1e-300) if self.has_intercept else np.inf
        return table
