"""Exact leave-one-out for kernel machines: each row predicted by the machine that never saw it.

A row whose multiplier is zero can be left out without any change: the machine is still optimal, so its own score is
the score of the machine without it. A support row costs a solve, but a short one (`evaluate.leaving_rows`), over a
kernel matrix that is formed once. Balanced class weights are those without the row (`evaluate.leaving_turns`).

The width gamma="scale" is that of all rows. Leaving a row out changes it by a hair; here it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.parameters import check_cost, check_intercept, check_positive
from maxmargin.estimators.kernel.kernel_classifier import tasks_of
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.estimators.kernel.svr import SVR
from maxmargin.evaluate.leaving_rows import LeavingOut
from maxmargin.evaluate.leaving_turns import Turn, turns_of
from maxmargin.evaluate.progress import counting
from maxmargin.evaluate.stored_kernels import StoredKernel
from maxmargin.evaluate.tables import Table, number
from maxmargin.losses import Hinge, Loss
from maxmargin.problems import Regression, Specification

_LARGEST = 1 << 31  # bytes of a kernel matrix that is formed whole where nobody says more


@dataclass(frozen=True)
class LeftOut:
    """Predictions of rows by machines that never saw them; `str()` is a table.

    Attributes
    ----------
    predictions
        Label or number of each row.
    scores
        Score of each row: one column a pair of classes, or one. Not a number where without the row a class is gone.
    n_solved
        Sub-problems that had to be solved again; all others cost nothing.
    n_plain
        Those of them that took a plain fit, because single precision is too coarse for the data.
    score
        Accuracy, or R^2 for a regressor.
    """

    predictions: Labels
    scores: Matrix
    n_solved: int
    score: float
    n_plain: int = 0

    def table(self) -> Table:
        """The score, and what it cost."""
        rows = [
            ("rows", str(len(self.predictions))),
            ("score", number(self.score)),
            ("sub-problems solved again", str(self.n_solved)),
        ]
        return Table("Each row predicted without it", ("figure", "value"), rows)

    def __str__(self) -> str:
        return self.table().as_text()

    def _repr_html_(self) -> str:
        return self.table().as_html()


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
            f"left_out is for SVC and SVR, got {estimator!r}. For others use "
            "cross_validate(model, X, y, cv=leave_one_out()), which fits them as often as there are rows."
        )
    model = clone(estimator)
    C, intercept = check_cost(model.C), check_intercept(model.intercept)
    if not np.isfinite(C):
        raise ParameterError("left_out needs a finite C: without a row a hard margin may not exist.")
    classes: Labels = np.empty(0)
    if is_classifier(model):
        model._check_choices()
        X, y, weight, classes, _ = model._check_all(X, y, sample_weight)
        kernel = model._make_kernel(X, weight)
        loss: Loss = Hinge()
        tasks: list[Any] = list(tasks_of(classes))
    else:
        X, y, weight, kernel = model._check_all(X, y, sample_weight)
        loss = model._loss()
        tasks = [Regression()]
    n, limit = len(y), model._memory() or _LARGEST
    if 4 * n**2 > limit:
        raise ParameterError(
            f"left_out keeps a kernel matrix of {n} x {n} single-precision values, {4 * n**2 / 1e9:.1f} GB; the limit "
            f"is {limit / 1e9:.1f} GB. Give more with memory=."
        )
    tol, scores = check_positive("tol", model.tol), np.empty((n, len(tasks)))
    n_solved, n_plain = 0, 0
    turns = turns_of(model.class_weight, y, weight, classes) if len(classes) else [Turn(np.arange(n), ())]
    with one_blas_thread(), counting("left_out", "rows", len(tasks) * n, verbose) as tick:
        stored = StoredKernel(kernel, X)
        for turn in turns:
            for k, task in enumerate(tasks):
                if turn.is_without(task):
                    scores[turn.rows, k] = np.nan
                    tick(len(turn.rows))
                    continue
                specification = Specification(task, loss, C, intercept, kernel, class_weight=turn.factors)
                leaving = LeavingOut(stored, specification, y, weight, tol, model.n_jobs, tick)
                scores[turn.rows, k] = leaving.scores(turn.rows)
                n_solved += leaving.n_solved
                n_plain += leaving.n_plain
    if not is_classifier(model):
        score = float(r2_score(y, scores[:, 0], sample_weight=weight))
        return LeftOut(scores[:, 0], scores, n_solved, score, n_plain)
    model.classes_ = classes
    predictions = classes[model._chosen(scores)]
    for turn in turns:
        if turn.gone is not None:
            predictions[turn.rows] = _among_others(model, classes, turn.gone, scores[turn.rows])
    score = float(accuracy_score(y, predictions, sample_weight=weight))
    return LeftOut(predictions, scores, n_solved, score, n_plain)


def _among_others(model: Any, classes: Labels, gone: Any, scores: Matrix) -> Labels:
    """Labels by the pairs of classes that are left without one of them."""
    judge = clone(model)
    judge.classes_ = rest = classes[classes != gone]
    f = scores[:, ~np.isnan(scores[0])]
    return np.asarray(rest[judge._chosen(f if len(rest) > 2 else -f)])  # of two classes the second is positive
