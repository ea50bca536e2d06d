"""The hard margin as the nearest points of two convex hulls, and the proof when the hulls meet.

    minimise over lambda >= 0    1/2 |sum_i lambda_i y_i phi(x_i)|^2
    subject to                   sum over y_i = +1 of lambda_i = 1/2 = sum over y_i = -1     (free intercept)
                                 sum_i lambda_i = 1                                          (otherwise)

Let delta be the length at the minimum. If delta > 0, alpha = lambda / delta^2 solves the dual of the hard margin,
|w| = 1 / delta, and delta is the geometric margin. If delta = 0 the hulls share a point, no hyperplane separates the
classes, and lambda is the proof (`NotSeparableError`).

This program has a solution whatever the data, where the dual of the hard margin itself is unbounded for data that
cannot be separated.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.data import as_double, as_rows, count_rows
from maxmargin.errors import DataError
from maxmargin.problems import LinearProblem, Problem, Specification
from maxmargin.solvers.reference.qp_forms import InteriorPoint, QuadraticProgram, is_hopeless, not_begun, solve_program

_PROOF_ROUNDS = 50


def nearest_points(problem: Problem, max_iter: int | None, end: float) -> tuple[Vector, InteriorPoint]:
    """Lambda of the nearest points of the two hulls."""
    n = problem.n_rows
    if is_hopeless(np.arange(1, n + 1), np.ones(n), end):  # before the matrix is formed
        return normalised(problem, np.zeros(n)), not_begun(n, n)
    y = problem.targets
    K = problem.gram()
    if not problem.intercept.is_free:
        K = K + problem.intercept.scale**2
    size = float(np.mean(np.diag(K)))
    Q = K * np.outer(y, y) / (size if size > 0.0 else 1.0)
    # In units of 1/n each lambda is near one, as an interior-point method likes it.
    equal = sum_rows(problem)
    A = np.vstack([equal, -np.eye(n)])
    b = np.concatenate([n * np.full(len(equal), 1.0 / len(equal)), np.zeros(n)])
    point = solve_program(QuadraticProgram(Q, np.zeros(n), A, b, n_equal=len(equal)), max_iter, end)
    return normalised(problem, point.x / n), point


def sum_rows(problem: Problem) -> Matrix:
    """The left-hand sides of the equations that lambda obeys."""
    y = problem.targets
    if problem.intercept.is_free:
        return np.stack([y > 0.0, y < 0.0]).astype(np.float64)
    return np.ones((1, problem.n_rows))


def normalised(problem: Problem, lam: Vector) -> Vector:
    """Lambda with dust removed and its sums made exact; even where nothing but dust is there."""
    lam = np.where(lam > max(0.0, 1e-10 * np.max(lam)), lam, 0.0)
    sums = sum_rows(problem)
    for row in sums.astype(bool):
        if not np.any(lam[row]):
            lam[row] = 1.0
        lam[row] /= len(sums) * np.sum(lam[row])
    return lam


def hull_distance(problem: Problem, lam: Vector) -> float:
    """|sum_i lambda_i y_i phi(x_i)|, from the data."""
    beta = problem.targets * lam
    scale = 0.0 if problem.intercept.is_free else problem.intercept.scale * float(np.sum(beta))
    if isinstance(problem, LinearProblem):
        return float(np.hypot(np.linalg.norm(problem.weights_from(beta)), scale))
    square = float(beta @ problem.combination_scores(beta))
    return float(np.sqrt(max(square, 0.0) + scale**2))


def sharpened_proof(problem: Problem, lam: Vector) -> Vector:
    """Lambda moved onto sum_i lambda_i y_i phi(x_i) = 0, as far as rounding allows.

    Alternating projections and a least-squares solution without negative entries; the better one counts.
    """
    used = np.flatnonzero(lam)
    system = np.vstack([(problem.targets[used, None] * _features(problem, used)).T, sum_rows(problem)[:, used]])
    height = np.linalg.norm(system, axis=1)
    system = system / np.where(height > 0.0, height, 1.0)[:, None]
    sums = sum_rows(problem)
    right = np.concatenate(
        [np.zeros(len(system) - len(sums)), np.full(len(sums), 1.0 / len(sums)) / height[-len(sums) :]]
    )
    inverse = np.linalg.pinv(system, rcond=1e-12)
    projected = lam[used]
    for _ in range(_PROOF_ROUNDS):
        projected = np.maximum(projected + inverse @ (right - system @ projected), 0.0)
    parts = [projected]
    with suppress(RuntimeError):  # too many iterations
        parts.append(nnls(system, right)[0])
    candidates = [lam]
    for part in parts:
        if np.any(part > 0.0):
            trial = np.zeros_like(lam)
            trial[used] = part
            trial = normalised(problem, trial)
            if np.all(np.isfinite(trial)):
                candidates.append(trial)
    return min(candidates, key=lambda one: hull_distance(problem, one))


def _features(problem: Problem, rows: RowIndex) -> Matrix:
    """Coordinates of phi(x_i): the features themselves, or a square root of the kernel matrix."""
    if isinstance(problem, LinearProblem):
        X = as_double(problem.source.take(rows))
        features = np.asarray(X.todense() if hasattr(X, "todense") else X)
    else:
        values, vectors = np.linalg.eigh(problem.gram(rows))
        features = vectors * np.sqrt(np.maximum(values, 0.0))
    if problem.intercept.is_free or problem.intercept.scale == 0.0:
        return features
    return np.column_stack([features, np.full(len(features), problem.intercept.scale)])


def rounding_distance(problem: Problem, lam: Vector) -> float:
    """What `hull_distance` may be from rounding alone when the hulls meet."""
    lengths = problem.pieces(None, np.zeros(problem.n_rows)).lengths
    size = float(lam @ lengths) + (0.0 if problem.intercept.is_free else problem.intercept.scale)
    eps = float(np.finfo(float).eps)
    if isinstance(problem, LinearProblem):
        return 1e3 * eps * size * math.sqrt(problem.n_rows)
    return size * math.sqrt(64.0 * eps * math.sqrt(problem.n_rows))  # a square root of a rounded square


def is_proof(problem: Problem, lam: Vector) -> bool:
    """Whether lambda is a proof that no hyperplane separates the classes."""
    sums = sum_rows(problem) @ lam
    convex = bool(np.all(lam >= 0.0)) and bool(np.allclose(sums, 1.0 / len(sums), rtol=0.0, atol=1e-12))
    return convex and hull_distance(problem, lam) <= rounding_distance(problem, lam)


@dataclass(frozen=True)
class SeparabilityProof:
    """The check behind `NotSeparableError.check`: builds the problem again from the data and looks at lambda."""

    specification: Specification
    n_rows: int
    sample_weight: Vector | None

    def __call__(self, X: Rows, y: Labels, lam: Vector) -> bool:
        """Whether lambda, one a row of X, proves that the classes cannot be separated."""
        if count_rows(X) != self.n_rows or len(y) != self.n_rows:
            raise DataError(f"the proof is about {self.n_rows} rows, got X with {count_rows(X)} and y with {len(y)}.")
        problem, rows = self.specification.problem(as_rows(X), np.asarray(y), self.sample_weight)
        return is_proof(problem, lam if rows is None else lam[rows])
