"""Scores of kernel machines over a grid and over folds, from one kernel matrix a kernel.

For each kernel of the grid the matrix over all rows is formed once. Each fold and each pair of classes takes its part
of it and solves along the costs, each answer the start of the next; the rows held out take theirs and are scored.
Nothing but sums of stored values is left to do for a cost. Where their precision is not enough, the sub-problem is
solved as a plain fit solves it (`evaluate.stored_kernels`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier

from maxmargin._types import Labels, Matrix, RowIndex, Rows
from maxmargin.backends.scratch import reusing
from maxmargin.backends.threads import one_blas_thread, run_apart, thread_count
from maxmargin.data import count_rows
from maxmargin.estimators.fitting.parameters import check_cost, check_intercept, check_positive
from maxmargin.estimators.fitting.validation import present_classes
from maxmargin.estimators.kernel.kernel_classifier import tasks_of
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.estimators.kernel.svr import SVR
from maxmargin.evaluate.progress import Tick
from maxmargin.evaluate.sample import Sample, training_on
from maxmargin.evaluate.scoring import own_score
from maxmargin.evaluate.splitters import Fold
from maxmargin.evaluate.stored_kernels import LARGEST, StoredKernel, answers
from maxmargin.losses import Hinge
from maxmargin.problems import Regression, Specification


class SubproblemScores(NamedTuple):
    """Scores of held-out rows by one sub-problem, a row for each cost, and for how many costs it took a plain fit."""

    scores: Matrix
    n_plain: int


Job = Callable[[], SubproblemScores]


def suits(estimator: Any, X: Rows, parameters: Sequence[str]) -> bool:
    """Whether the search can go through stored kernel matrices: an SVC or SVR whose matrix is not too large."""
    if type(estimator) not in (SVC, SVR) or estimator.solver != "auto":
        return False
    if estimator.max_seconds is not None or estimator.max_iter not in (-1, None):  # a budget is one of a plain fit
        return False
    known = {"C", "gamma", "kernel", "degree", "coef0", "epsilon", "tol", "class_weight"}
    return set(parameters) <= known and 4 * count_rows(X) ** 2 <= (estimator._memory() or LARGEST)


def search(
    estimator: Any,
    sample: Sample,
    folds: Sequence[Fold],
    costs: Sequence[float],
    others: Sequence[dict[str, Any]],
    tick: Tick,
) -> Matrix:
    """Scores of the held-out rows: accuracy or R^2, for each of `others`, each cost and each fold."""
    scores = np.empty((len(others), len(costs), len(folds)))
    order = np.argsort(costs)
    increasing = [costs[k] for k in order]
    stored: StoredKernel | None = None
    with one_blas_thread(), reusing():
        for number, chosen in enumerate(others):
            model = clone(estimator).set_params(**chosen)
            found, _, stored = _predictions(model, sample, folds, increasing, stored, tick)
            for k, ((_, test), by_cost) in enumerate(zip(folds, found, strict=True)):
                weight = None if sample.weight is None else sample.weight[test]
                scores[number, order, k] = [own_score(model, sample.y[test], one, weight) for one in by_cost]
    return scores


def predictions(estimator: Any, sample: Sample, folds: Sequence[Fold], tick: Tick) -> tuple[list[Labels], int]:
    """Labels or numbers of the held-out rows of every fold, and how many sub-problems took a plain fit."""
    with one_blas_thread(), reusing():
        found, n_plain, _ = _predictions(clone(estimator), sample, folds, [estimator.C], None, tick)
    return [by_cost[0] for by_cost in found], n_plain


def _predictions(
    model: Any, sample: Sample, folds: Sequence[Fold], costs: Sequence[float], stored: StoredKernel | None, tick: Tick
) -> tuple[list[list[Labels]], int, StoredKernel | None]:
    """For every fold and every cost, increasing; also how many plain fits it took, and kernel values to use again."""
    X, y, sample_weight = sample
    model._check_kernel_input(X, reset=True)
    # "scale" is the width of the rows trained on, so each fold has its own kernel, and its own matrix in turn.
    has_own_width = isinstance(model.gamma, str) and isinstance(model.kernel, str)
    found: list[list[Labels]] = []
    n_plain, numbers = 0, range(len(folds))
    for group in [[k] for k in numbers] if has_own_width else [numbers]:
        used = folds[group[0]][0] if has_own_width else np.arange(len(y))
        kernel = model._make_kernel(X[used], None if sample_weight is None else sample_weight[used])
        if stored is None or stored.kernel != kernel:
            stored = StoredKernel(kernel, X)
        parts = []
        for k in group:
            with training_on(y[folds[k][0]], k, len(folds)):
                parts.append(_fold(model, stored, sample, *folds[k], costs))
        labels, plain = _finished(parts, model)
        found += labels
        n_plain += plain
        tick(len(group))
    return found, n_plain, stored


class _FoldJobs(NamedTuple):
    """The sub-problems of one fold with their rows, and how their scores become predictions, one array a cost."""

    jobs: list[tuple[int, Job]]
    predict: Callable[[list[Matrix]], list[Labels]]


def _finished(folds: Sequence[_FoldJobs], model: Any) -> tuple[list[list[Labels]], int]:
    """Run all sub-problems side by side, and predict the rows of each fold; the second is the number of plain fits."""
    jobs = [job for fold in folds for job in fold.jobs]
    order = np.argsort([-n_rows for n_rows, _ in jobs], kind="stable")  # the longest first: none is left for the end
    found = run_apart([jobs[k][1] for k in order], min(thread_count(model.n_jobs), len(jobs)))
    results = iter([found[k].scores for k in np.argsort(order)])
    labels = [fold.predict([next(results) for _ in fold.jobs]) for fold in folds]
    return labels, sum(one.n_plain for one in found)


def _fold(
    model: Any, stored: StoredKernel, sample: Sample, train: RowIndex, test: RowIndex, costs: Sequence[float]
) -> _FoldJobs:
    tol = check_positive("tol", model.tol)
    intercept = check_intercept(model.intercept)
    for C in costs:
        check_cost(C)

    def job(specification: Specification) -> Job:
        def scored() -> SubproblemScores:
            problem, place = stored.problem(specification, sample.y, sample.weight, train)
            found = answers(problem, costs, tol)
            return SubproblemScores(stored.scores(found, place, test), sum(not answer.is_single for answer in found))

        return scored

    if not is_classifier(model):
        loss = model._loss()
        specification = Specification(Regression(), loss, 1.0, intercept, stored.kernel)
        return _FoldJobs([(len(train), job(specification))], lambda found: list(found[0]))
    y, weight = sample.y[train], None if sample.weight is None else sample.weight[train]
    classes, factors = present_classes(model.class_weight, np.unique(y), y, weight)
    jobs = []
    for task in tasks_of(classes):
        specification = Specification(task, Hinge(), 1.0, intercept, stored.kernel, class_weight=factors)
        rows = task.rows(y)
        jobs.append((len(y) if rows is None else len(rows), job(specification)))
    judge = clone(model)
    judge.classes_ = classes

    def predict(found: list[Matrix]) -> list[Labels]:
        f = np.stack(found, axis=2)  # cost, row, pair
        return [classes[judge._chosen(one)] for one in f]

    return _FoldJobs(jobs, predict)
