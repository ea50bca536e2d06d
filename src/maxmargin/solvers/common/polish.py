"""The last digits: active-set Newton steps on the free multipliers.

At the optimum every multiplier is at a bound, at zero (where the loss has an absolute term) or free, and the free ones
satisfy linear equations. Close to the optimum a coordinate step from alpha tells which is which:

    t_i = alpha_i - g_i / (k_ii + diagonal_i)        g_i the slope of -D at alpha, including the intercept

and t_i, soft-thresholded by the absolute term and clipped to the box, is where multiplier i is heading. With the others
put where they are heading, the free ones and the intercept solve

    [ Q_FF + diagonal_F   s_F ] [ change of alpha_F ]   [ -g_F                      ]
    [ s_F'                0   ] [ change of b       ] = [ -sum_i s_i alpha_i        ]

This is a semismooth Newton step. It is taken only while the duality gap falls, so a wrong guess costs time, not truth.
"""

from __future__ import annotations

import math
import time
import warnings

import numpy as np
from scipy import sparse
from scipy.linalg import LinAlgWarning, solve

from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.certificates import Assessment, assess
from maxmargin.data import as_double
from maxmargin.losses import DualBox, ResidualLoss
from maxmargin.problems import LinearProblem, Problem
from maxmargin.solvers.common.feasible import balanced

_MAX_ROUNDS = 12
_MAX_WEIGHTS = 300
_MAX_FREE = 1000  # a dense least-squares solve of this size takes a second


def polish(
    problem: Problem, alpha: Vector, box: DualBox, diagonal: Vector, end: float = math.inf
) -> tuple[Vector, Assessment]:
    """Improve feasible multipliers until the gap no longer falls; returns the best seen and its assessment.

    No round begins after `end` of `time.perf_counter`.
    """
    best, seen = alpha, assess(problem, alpha, None, None)
    for _ in range(_MAX_ROUNDS):
        if time.perf_counter() > end:
            break
        trial = _step(problem, best, float(np.asarray(seen.bias)), box, diagonal)
        if trial is None:
            break
        trial_seen = assess(problem, trial, None, None)
        if not trial_seen.difference < seen.difference:
            break
        best, seen = trial, trial_seen
    return best, seen


def _step(problem: Problem, alpha: Vector, b: float, box: DualBox, diagonal: Vector) -> Vector | None:
    signs = problem.coefficients(np.ones_like(alpha))
    offsets = problem.targets if isinstance(problem.loss, ResidualLoss) else 0.0
    scale = problem.intercept.scale
    curvature = diagonal + box.diagonal + (0.0 if problem.intercept.is_free else scale**2)
    curvature = np.where(curvature > 0.0, curvature, max(float(np.mean(curvature)), 1e-300))

    def slope(at: Vector) -> Vector:
        f = problem.combination_scores(signs * at)
        shift = b if problem.intercept.is_free else scale**2 * float(np.sum(signs * at))
        gradient: Vector = signs * (f + shift) - box.linear - offsets + box.diagonal * at
        return gradient

    heading = alpha - slope(alpha) / curvature
    heading = np.sign(heading) * np.maximum(np.abs(heading) - box.absolute / curvature, 0.0)
    heading = np.clip(heading, box.lower, box.upper)
    resting = (heading == box.lower) | (heading == box.upper) | ((heading == 0.0) & (box.absolute > 0.0))
    free = np.flatnonzero(~resting)
    if not 0 < len(free) <= _MAX_FREE:
        return None
    moved = np.where(resting, heading, alpha)
    missing = -(slope(moved) + box.absolute * np.sign(heading))[free]

    surplus = float(np.sum(signs * moved))
    if _keeps_weights(problem):
        assert isinstance(problem, LinearProblem)
        change = _linear_change(problem, free, signs, missing, box, surplus)
    else:
        change = _kernel_change(problem, free, signs, missing, box, surplus)
    moved[free] += change
    moved = np.clip(moved, box.lower, box.upper)
    return balanced(moved, signs, box) if problem.intercept.is_free else moved


def _keeps_weights(problem: Problem) -> bool:
    """Whether the equations are better written with the weights as unknowns: few features, perhaps badly scaled."""
    few = isinstance(problem, LinearProblem) and problem.source.n_features <= _MAX_WEIGHTS
    return few and problem.intercept.scale in (0.0, np.inf)


def _kernel_change(
    problem: Problem, free: RowIndex, signs: Vector, missing: Vector, box: DualBox, surplus: float
) -> Vector:
    """Change of the free multipliers from the equations above."""
    Q = problem.gram(free)
    if not problem.intercept.is_free:
        Q = Q + problem.intercept.scale**2
    Q = Q * np.outer(signs[free], signs[free]) + np.diag(box.diagonal[free])
    if problem.intercept.is_free:
        edge = signs[free][:, None]
        system = np.block([[Q, edge], [edge.T, np.zeros((1, 1))]])
        right = np.append(missing, -surplus)
    else:
        system, right = Q, missing
    # Symmetric scaling first: the rows of kernels and of the balance can differ by many orders of magnitude.
    unit = 1.0 / np.sqrt(np.maximum(np.max(np.abs(system), axis=1), 1e-300))
    change: Vector = unit * _solved(system * np.outer(unit, unit), unit * right)
    return change[: len(free)]


def _linear_change(
    problem: LinearProblem, free: RowIndex, signs: Vector, missing: Vector, box: DualBox, surplus: float
) -> Vector:
    """The same with the weights kept as unknowns, in features of unit size.

    Products of badly scaled features lose the small ones; the features themselves do not:

        u_j^2 dw_j - sum_F s_i x_ij change_i = 0          dw in units of u_j = 1 / size of feature j
        s_i (<dw, x_i> + db) + diagonal_i change_i = missing_i
        sum_F s_i change_i = -surplus                      (free intercept)
    """
    X = as_double(problem.source.take(free))
    X = np.asarray(X.todense() if sparse.issparse(X) else X)
    used = np.flatnonzero(np.any(X != 0.0, axis=0))
    size = np.sqrt(np.mean(np.square(X[:, used]), axis=0))
    A = signs[free][:, None] * X[:, used] / size
    d, m, e = len(used), len(free), int(problem.intercept.is_free)
    system = np.zeros((d + m + e, d + m + e))
    system[:d, :d] = np.diag(1.0 / np.square(size))
    system[:d, d : d + m] = -A.T
    system[d : d + m, :d] = A
    system[d : d + m, d : d + m] = np.diag(box.diagonal[free])
    if e:
        system[d : d + m, -1] = signs[free]
        system[-1, d : d + m] = signs[free]
    right = np.concatenate([np.zeros(d), missing, [-surplus] * e])
    row = 1.0 / np.max(np.abs(system), axis=1)
    column = 1.0 / np.maximum(np.max(np.abs(system * row[:, None]), axis=0), 1e-300)
    change: Vector = column * _solved(system * np.outer(row, column), row * right)
    return change[d : d + m]


def _solved(system: Matrix, right: Vector) -> Vector:
    """Solution by elimination, or the shortest least-squares one where rows are copies of each other."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # an almost singular system is only warned of; here it counts as singular
            found = np.asarray(solve(system, right, check_finite=False))
        if np.linalg.norm(system @ found - right) <= 1e-9 * (np.linalg.norm(right) + 1e-300):
            return found
    except (np.linalg.LinAlgError, LinAlgWarning):
        pass
    return np.asarray(np.linalg.lstsq(system, right, rcond=1e-15)[0])
