"""The dual and the primal of a training problem as quadratic programs, and clarabel, which solves them.

Dual, for any kernel, in the multipliers alpha (s_i = y_i for margin losses, 1 for residual losses; `DualBox` has the
meaning of the other letters):

    minimise    1/2 sum_ij alpha_i alpha_j s_i s_j (k_ij + s^2) + 1/2 sum_i diagonal_i alpha_i^2
                - sum_i (linear_i + o_i) alpha_i + sum_i absolute_i t_i
    subject to  lower_i <= alpha_i <= upper_i,   -t_i <= alpha_i <= t_i,   sum_i s_i alpha_i = 0 (free intercept)

with o_i = y_i for residual losses and 0 for margin losses. The t_i are there only for losses with an absolute term.

Primal, in w, b and one slack a row, where phi(x) is at hand (the features, or a square root of the kernel matrix):

    minimise    1/2 |w|^2 + 1/2 (b / s)^2 + sum_i C_i (xi_i or xi_i^2)
    subject to  margin      y_i f_i >= 1 - xi_i            xi_i >= 0 (where it is not squared)
                residual    |f_i - y_i| <= epsilon + xi_i

whose multipliers are alpha. An L1 penalty has only this form: 1/2 |w|^2 makes way for strength sum_j t_j with
-t_j <= w_j <= t_j. All are put into units in which the typical inner product, target and variable are near
one before they are handed over, because an interior-point method sees absolute sizes.

Clarabel runs in a worker thread that Ctrl-C can stop. It looks at the clock once an iteration, and the first one ends
only after the program is set up and factored. So a program that cannot possibly come that far in its time is not begun.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Matrix, Rows, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.data import as_double
from maxmargin.losses import (
    DualBox,
    EpsilonInsensitive,
    HardMargin,
    Hinge,
    MarginLoss,
    ResidualLoss,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.penalties import L1
from maxmargin.problems import LinearProblem, Problem, ProblemKind, Status

_REGULARISATION = 1e-10  # clarabel's own 1e-8 makes it give up early: on 8 of 89 problems of the table
_STATUS = {"Solved": Status.CONVERGED, "MaxIterations": Status.BUDGET, "MaxTime": Status.BUDGET}
_ENTRIES_A_SECOND = 1e7  # set up: several times what one core does
_PRODUCTS_A_SECOND = 2e10  # of a factor, likewise
_TIGHT = 1e-13  # asked for always; the method takes what double precision gives and the certificate says what it was


@dataclass(frozen=True)
class QuadraticProgram:
    """1/2 x'Px + q'x subject to rows of A: the first `n_equal` as equations A x = b, the others as A x <= b."""

    P: Any
    q: Vector
    A: Any
    b: Vector
    n_equal: int


@dataclass(frozen=True)
class InteriorPoint:
    """Where the method ended: variables, multipliers of the rows of A, and how."""

    x: Vector
    z: Vector
    status: Status
    iterations: int


def solve_dual(problem: Problem, box: DualBox, max_iter: int | None, end: float) -> tuple[Vector, InteriorPoint]:
    """Multipliers from the dual program; the kernel matrix is formed whole."""
    n = problem.n_rows
    if is_hopeless(np.arange(1, n + 1), np.ones(n), end):  # before the matrix is formed
        return np.zeros(n), not_begun(n, n)
    signs = problem.coefficients(np.ones(n))
    offsets = problem.targets if isinstance(problem.loss, ResidualLoss) else np.zeros(n)
    K = problem.gram()
    Q = _centred(K) if problem.intercept.is_free else K + problem.intercept.scale**2
    Q = Q * np.outer(signs, signs) + np.diag(box.diagonal)

    # alpha = unit * a, the objective divided by unit * height, linear terms by height.
    height = _height(problem)
    unit = height / _positive(float(np.mean(np.diag(Q))))
    if np.all(np.isfinite(box.upper)):
        unit = min(unit, float(np.max(box.upper)))
    has_absolute = bool(np.any(box.absolute > 0.0))

    eye = sparse.identity(n, format="csc")
    rows, right = [], []
    if problem.intercept.is_free:
        rows.append(sparse.csc_matrix(signs[None, :]))
        right.append(np.zeros(1))
    for matrix, bound in ((-eye, -box.lower), (eye, box.upper)):
        bounded = np.flatnonzero(np.isfinite(bound))
        if len(bounded):
            rows.append(matrix[bounded])
            right.append(bound[bounded] / unit)
    A, b = (
        sparse.vstack(rows, format="csc") if rows else sparse.csc_matrix((0, n)),
        np.concatenate([*right, np.empty(0)]),
    )
    P = Q * (unit / height)
    q = -(box.linear + offsets) / height
    if has_absolute:
        P = sparse.block_diag([sparse.csc_matrix(P), sparse.csc_matrix((n, n))], format="csc")
        q = np.concatenate([q, box.absolute / height])
        A = sparse.vstack(
            [sparse.hstack([A, sparse.csc_matrix((A.shape[0], n))]), sparse.bmat([[eye, -eye], [-eye, -eye]])]
        )
        b = np.concatenate([b, np.zeros(2 * n)])
    program = QuadraticProgram(P, q, A, b, n_equal=int(problem.intercept.is_free))
    point = solve_program(program, max_iter, end)
    return unit * point.x[:n], point


def solve_primal(problem: Problem, max_iter: int | None, end: float) -> tuple[Vector, Vector, InteriorPoint]:
    """Multipliers and weights from the primal program, in scaled and (where that is free) centred features.

    A kernel problem is solved in the coordinates of a square root of its kernel matrix, the only place where its
    weights mean something.
    """
    X: Rows = (
        as_double(problem.source.take(slice(None))) if isinstance(problem, LinearProblem) else _square_root(problem)
    )
    n, d = X.shape
    y, loss = problem.targets, problem.loss
    has_intercept = problem.intercept.scale > 0.0
    if problem.intercept.is_free and not sparse.issparse(X):
        X = X - X.mean(axis=0)  # a free intercept absorbs the shift
    size = np.sqrt(np.asarray(X.multiply(X).mean(axis=0)).ravel() if sparse.issparse(X) else np.mean(X * X, axis=0))
    column = 1.0 / np.where(size > 0.0, size, 1.0)
    features = sparse.csc_matrix(X) @ sparse.diags(column)

    cost = float(np.max(problem.costs))
    height = _height(problem)
    squared = isinstance(loss, (SquaredHinge, SquaredEpsilonInsensitive))
    # w = height * column * w', b = height * b', xi = height * xi'; the objective is divided by cost * height^(1 or 2).
    per_slack = problem.costs / cost
    per_weight = (1.0 if squared else height) / cost
    strength = _l1_strength(problem)
    ridge = per_weight * np.square(column) if strength is None else np.zeros(d)
    if has_intercept:
        ridge = np.append(ridge, per_weight / problem.intercept.scale**2)  # zero where the scale is infinite
    n_slacks = 0 if isinstance(loss, HardMargin) else n
    P = sparse.diags(np.concatenate([ridge, (2.0 * per_slack if squared else np.zeros(n))[:n_slacks]]), format="csc")
    q = np.concatenate([np.zeros(len(ridge)), (np.zeros(n) if squared else per_slack)[:n_slacks]])

    score = sparse.hstack([features, np.ones((n, 1))]) if has_intercept else features
    eye = sparse.identity(n, format="csc")[:, :n_slacks]
    if isinstance(loss, MarginLoss):
        A = sparse.hstack([-sparse.diags(y) @ score, -eye])
        b = -np.ones(n)
    else:
        assert isinstance(loss, (EpsilonInsensitive, SquaredEpsilonInsensitive))
        A = sparse.vstack([sparse.hstack([score, -eye]), sparse.hstack([-score, -eye])])
        b = np.concatenate([y + loss.epsilon, loss.epsilon - y]) / height
    if n_slacks and not squared:  # a squared slack is never negative, and a needless constraint slows the method down
        A = sparse.vstack([A, sparse.hstack([sparse.csc_matrix((n, score.shape[1])), -eye])])
        b = np.concatenate([b, np.zeros(n)])
    if strength is not None:
        bound = sparse.hstack([sparse.identity(d), sparse.csc_matrix((d, A.shape[1] - d))])
        below = sparse.vstack([sparse.csc_matrix((A.shape[0], d)), -sparse.identity(d), -sparse.identity(d)])
        A = sparse.hstack([sparse.vstack([A, bound, -bound]), below])
        b = np.concatenate([b, np.zeros(2 * d)])
        P = sparse.block_diag([P, sparse.csc_matrix((d, d))], format="csc")
        q = np.concatenate([q, strength * per_weight / height * column])
    point = solve_program(QuadraticProgram(P, q, A.tocsc(), b, n_equal=0), max_iter, end)
    z = point.z * cost * (height if squared else 1.0)
    alpha = z[:n] if isinstance(loss, MarginLoss) else z[n : 2 * n] - z[:n]
    return alpha, height * column * point.x[:d], point


def _l1_strength(problem: Problem) -> float | None:
    """Strength of an L1 penalty, None for the penalty 1/2 |w|^2."""
    penalty = problem.penalty if isinstance(problem, LinearProblem) else None
    return penalty.strength if isinstance(penalty, L1) else None


def _square_root(problem: Problem) -> Matrix:
    """Rows whose inner products are the kernel matrix; centred ones where the intercept is free."""
    K = problem.gram()
    values, vectors = np.linalg.eigh(_centred(K) if problem.intercept.is_free else K)
    kept = values > len(K) * np.finfo(float).eps * values[-1]
    root: Matrix = vectors[:, kept] * np.sqrt(values[kept])
    return root


def _centred(K: Matrix) -> Matrix:
    """Kernel matrix of phi(x) - mean of phi: the same problem for a free intercept, without a large common part."""
    mean = K.mean(axis=0)
    centred: Matrix = K - mean[:, None] - mean[None, :] + mean.mean()
    return centred


def _height(problem: Problem) -> float:
    """Typical size of the targets."""
    return _positive(float(np.std(problem.targets))) if isinstance(problem.loss, ResidualLoss) else 1.0


def has_primal_form(problem: ProblemKind) -> bool:
    """Whether `solve_primal` knows the problem."""
    known = (Hinge, HardMargin, SquaredHinge, EpsilonInsensitive, SquaredEpsilonInsensitive)
    return isinstance(problem.loss, known)


def _positive(value: float) -> float:
    """A scale that can be divided by."""
    return value if value > 0.0 and np.isfinite(value) else 1.0


def solve_program(program: QuadraticProgram, max_iter: int | None, end: float) -> InteriorPoint:
    """Solve a convex quadratic program as precisely as double precision allows.

    `end` is when, by `time.perf_counter`, the time is up; a point that nobody looked for is zero.
    """
    P, A = sparse.triu(sparse.csc_matrix(program.P), format="csc"), sparse.csc_matrix(program.A)
    if is_hopeless(np.diff(P.indptr), np.diff(A.tocsr().indptr), end):
        return not_begun(len(program.q), len(program.b))
    left = end - time.perf_counter()
    cones = [clarabel.NonnegativeConeT(len(program.b) - program.n_equal)]
    if program.n_equal:
        cones.insert(0, clarabel.ZeroConeT(program.n_equal))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = _TIGHT
    settings.static_regularization_constant = _REGULARISATION
    settings.max_iter = 200 if max_iter is None else max_iter
    if math.isfinite(left):
        settings.time_limit = left

    def task(stop: StopFlag) -> Any:
        solver = clarabel.DefaultSolver(P, program.q, A, program.b, cones, settings)
        solver.set_termination_callback(lambda _: bool(stop[0]))
        return solver.solve()

    result, interrupted = run_until_interrupted(task)
    return InteriorPoint(
        x=np.asarray(result.x),
        z=np.asarray(result.z),
        status=Status.INTERRUPTED if interrupted else _STATUS.get(str(result.status), Status.STALLED),
        iterations=int(result.iterations),
    )


def is_hopeless(columns: NDArray[Any], rows: NDArray[Any], end: float) -> bool:
    """Whether even a machine several times quicker than usual would not end its first iteration in time.

    Given are the entries in each column of the upper half of P, and in each row of A: the entries are set up, and m of
    them in one place are m^2 products of a factor.
    """
    entries, products = (sum(float(np.sum(counts.astype(float) ** k)) for counts in (columns, rows)) for k in (1, 2))
    return time.perf_counter() + entries / _ENTRIES_A_SECOND + products / _PRODUCTS_A_SECOND > end


def not_begun(n_variables: int, n_constraints: int) -> InteriorPoint:
    """What is there of a program that is not begun."""
    return InteriorPoint(np.zeros(n_variables), np.zeros(n_constraints), Status.BUDGET, 0)
