"""Exact leave-one-out for kernel machines: each row predicted by the machine that never saw it.

A row whose multiplier is zero can be left out without any change: the machine is still optimal, so its own score is
the score of the machine without it. A support row costs a solve, but a short one: its coefficient is handed to other
rows (`_loops.pair_steps.expel`), which leaves a feasible point near the answer, and pair steps go on from there over a
kernel matrix that is formed once.

The width gamma="scale" is that of all rows. Leaving a row out changes it by a hair; here it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from maxmargin._loops.pair_steps import Box, expel, pair_steps
from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import one_blas_thread, run_apart, thread_count
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.kernel_classifier import tasks_of
from maxmargin.estimators.parameters import check_cost, check_epsilon, check_intercept, check_positive
from maxmargin.estimators.svc import SVC
from maxmargin.estimators.svr import SVR
from maxmargin.evaluate.progress import Tick, counting
from maxmargin.evaluate.stored_kernels import StoredKernel
from maxmargin.losses import EpsilonInsensitive, Hinge, Loss
from maxmargin.problems import Regression, Specification
from maxmargin.solvers.blocks import Blocks
from maxmargin.solvers.whole_ascent import WholeAscent

_LARGEST = 1 << 31  # bytes of a kernel matrix that is formed whole where nobody says more
_STEPS = 1_000_000  # pair steps for one row left out
_BATCH = 32  # support rows that are left out by one job


@dataclass(frozen=True)
class LeftOut:
    """Predictions of rows by machines that never saw them.

    Attributes
    ----------
    predictions
        Label or number of each row.
    scores
        Score of each row: one column a pair of classes, or one.
    n_solved
        Sub-problems that had to be solved again; all others cost nothing.
    score
        Accuracy, or R^2 for a regressor.
    """

    predictions: Labels
    scores: Matrix
    n_solved: int
    score: float


def left_out(
    estimator: Any, X: Rows, y: Labels, sample_weight: Vector | None = None, *, verbose: bool | int = 0
) -> LeftOut:
    """Predict every row by the machine trained on all others, for an `SVC` or `SVR`; `verbose=1` shows progress.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.evaluate import left_out
    >>> found = left_out(SVC(), *load_iris(return_X_y=True))
    >>> round(found.score, 3)
    0.967
    """
    if type(estimator) not in (SVC, SVR):
        raise ParameterError(
            f"left_out is for SVC and SVR, got {type(estimator).__name__}. For others use scikit-learn's LeaveOneOut."
        )
    model = clone(estimator)
    C, intercept = check_cost(model.C), check_intercept(model.intercept)
    if not np.isfinite(C):
        raise ParameterError("left_out needs a finite C: without a row a hard margin may not exist.")
    if is_classifier(model):
        model._check_choices()
        X, y, weight, classes, factors = model._check_all(X, y, sample_weight)
        kernel = model._make_kernel(X, weight)
        loss: Loss = Hinge()
        if np.min(np.unique(y, return_counts=True)[1]) < 2:
            raise DataError("left_out needs two rows of every class: without its only row a class is gone.")
        tasks: list[Any] = list(tasks_of(classes))
    else:
        X, y, weight, kernel = model._check_all(X, y, sample_weight)
        loss = EpsilonInsensitive(check_epsilon(model.epsilon))
        tasks, factors = [Regression()], ()
    n, limit = len(y), model._memory() or _LARGEST
    if 4 * n**2 > limit:
        raise ParameterError(
            f"left_out keeps a kernel matrix of {n} x {n} single-precision values, {4 * n**2 / 1e9:.1f} GB; the limit "
            f"is {limit / 1e9:.1f} GB. Give more with memory=."
        )
    settings = Blocks(tol=check_positive("tol", model.tol))
    with one_blas_thread(), counting("left_out", "rows", len(tasks) * n, verbose) as tick:
        stored = StoredKernel(kernel, X)
        columns, n_solved = [], 0
        for task in tasks:
            specification = Specification(task, loss, C, intercept, kernel, class_weight=factors)
            column, solved = _without_each(stored, specification, y, weight, settings, model.n_jobs, tick)
            columns.append(column)
            n_solved += solved
    scores = np.column_stack(columns)
    if not is_classifier(model):
        return LeftOut(scores[:, 0], scores, n_solved, float(r2_score(y, scores[:, 0], sample_weight=weight)))
    model.classes_ = classes
    predictions = classes[model._chosen(scores)]
    return LeftOut(predictions, scores, n_solved, float(accuracy_score(y, predictions, sample_weight=weight)))


def _without_each(
    stored: StoredKernel,
    specification: Specification,
    y: Labels,
    sample_weight: Vector | None,
    settings: Blocks,
    n_jobs: int | None,
    tick: Tick,
) -> tuple[Vector, int]:
    """Score of every row by the sub-problem without it, and how many rows needed a solve."""
    problem, place = stored.problem(specification, y, sample_weight, np.arange(len(y)))
    ascent = WholeAscent(problem, settings, None)
    ascent.run(np.zeros(1, dtype=np.uint8))
    beta = ascent.variables.combined(ascent.all.beta)
    full = stored.values[:, place] @ beta.astype(np.float32) + ascent.intercept()
    scores: Vector = full.astype(np.float64)
    scores[place] = ascent.all.F[: len(place)] + ascent.variables.target[: len(place)] + ascent.intercept()
    support = np.flatnonzero(beta)

    tick(len(y) - len(support))

    def job(rows: RowIndex) -> Callable[[], Vector]:
        return lambda: _ticked(np.array([_without(ascent, int(i)) for i in rows]), tick)

    parts = [support[first : first + _BATCH] for first in range(0, len(support), _BATCH)]
    if parts:
        scores[place[support]] = np.concatenate(run_apart([job(part) for part in parts], thread_count(n_jobs)))
    return scores, len(support)


def _ticked(scores: Vector, tick: Tick) -> Vector:
    tick(len(scores))
    return scores


def _without(ascent: WholeAscent, i: int) -> float:
    """Score of row i by the machine without it."""
    v, whole = ascent.variables, ascent.all
    beta, F = whole.beta.copy(), whole.F.copy()
    lower, upper = whole.lower.copy(), whole.upper.copy()
    box = Box(lower, upper, whole.tube, whole.ridge, ascent.curvature, whole.group)
    if expel(ascent.matrix, beta, F, box, i) < 0:  # nothing else has room: begin again from zero
        beta, F = v.start.copy(), -v.target
    lower[i], upper[i] = 0.0, 0.0
    tolerance = 0.75 * ascent.settings.tol
    never, slots = np.zeros(1, dtype=np.uint8), np.arange(len(beta))
    pair_steps(ascent.matrix, slots, beta, F, box, tolerance, _STEPS, never)
    if not v.is_free:
        return float(F[i] + v.target[i])
    rising = F + np.where(beta < upper, np.where(beta >= 0.0, whole.tube, -whole.tube), np.inf)
    falling = F + np.where(beta > lower, np.where(beta > 0.0, whole.tube, -whole.tube), -np.inf)
    return float(F[i] + v.target[i] - 0.5 * (np.min(rising) + np.max(falling)))
