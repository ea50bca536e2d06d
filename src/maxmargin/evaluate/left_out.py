"""Exact leave-one-out for kernel machines: each row predicted by the machine that never saw it.

A row whose multiplier is zero can be left out without any change: the machine is still optimal, so its own score is
the score of the machine without it. A support row costs a solve, but a short one (`evaluate.leaving_rows`), over a
kernel matrix that is formed once.

A machine without a row differs from the one of all rows by that row alone, as long as the weights of classes stay. They
do not where they are balanced: n / (K n_c) counts the row. But all rows of a class, and of a sample weight, change the
counts alike. So there is one turn for each, whose machine of all rows has the class weights that are right without one.
The only row of a class takes its class with it. The pairs that are left decide.

The width gamma="scale" is that of all rows. Leaving a row out changes it by a hair; here it does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.parameters import check_cost, check_intercept, check_positive
from maxmargin.estimators.fitting.validation import Factors, present_classes
from maxmargin.estimators.kernel.kernel_classifier import tasks_of
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.estimators.kernel.svr import SVR
from maxmargin.evaluate.leaving_rows import LeavingOut
from maxmargin.evaluate.progress import counting
from maxmargin.evaluate.scoring import own_score
from maxmargin.evaluate.stored_kernels import StoredKernel
from maxmargin.evaluate.tables import ShownAsTable, Table, number
from maxmargin.losses import Hinge, Loss
from maxmargin.problems import Pair, Regression, Specification

_LARGEST = 1 << 31  # bytes of a kernel matrix that is formed whole where nobody says more


@dataclass(frozen=True)
class LeftOut(ShownAsTable):
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
    turns = _turns_of(model.class_weight, y, weight, classes) if len(classes) else [Turn(np.arange(n), ())]
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
    predictions = scores[:, 0]
    if is_classifier(model):
        model.classes_ = classes
        predictions = classes[model._chosen(scores)]
        for turn in turns:
            if turn.gone is not None:
                predictions[turn.rows] = _among_others(model, classes, turn.gone, scores[turn.rows])
    return LeftOut(predictions, scores, n_solved, own_score(model, y, predictions, weight), n_plain)


def _among_others(model: Any, classes: Labels, gone: Any, scores: Matrix) -> Labels:
    """Labels by the pairs of classes that are left without one of them."""
    judge = clone(model)
    judge.classes_ = rest = classes[classes != gone]
    f = scores[:, ~np.isnan(scores[0])]
    return np.asarray(rest[judge._chosen(f if len(rest) > 2 else -f)])  # of two classes the second is positive


@dataclass(frozen=True)
class Turn:
    """Rows to leave out, one at a time."""

    rows: RowIndex
    factors: Factors
    """On C, of the labels that have one."""
    gone: Any = None
    """The class that has no other row."""

    def is_without(self, task: Any) -> bool:
        """Whether a pair of classes is none when the row is gone."""
        return self.gone is not None and isinstance(task, Pair) and self.gone in (task.negative, task.positive)


def _turns_of(class_weight: Any, y: Labels, weight: Vector | None, classes: Labels) -> list[Turn]:
    """The turns in which rows of `classes`, and others, are left out."""
    is_used = np.isin(y, classes) if weight is None else np.isin(y, classes) & (weight > 0.0)
    counts = {label: int(np.sum(is_used & (y == label))) for label in classes.tolist()}
    alone = {label: int(np.flatnonzero(is_used & (y == label))[0]) for label, n in counts.items() if n == 1}
    if alone and len(classes) == 2:
        raise DataError(
            f"the class {next(iter(alone))!r} has one row; without it there is one class, and nothing to learn. "
            "left_out of two classes needs two rows of each."
        )
    turns = [Turn(np.array([row]), _factors(class_weight, y, weight, row), label) for label, row in alone.items()]
    others = np.setdiff1d(np.arange(len(y)), list(alone.values()))
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        turns.append(Turn(others, _factors(class_weight, y, weight, None)))
        return turns
    mass = np.ones(len(y)) if weight is None else weight
    for label in np.unique(y[others]).tolist():
        of_class = others[y[others] == label]
        for one in np.unique(mass[of_class]):
            rows = of_class[mass[of_class] == one]
            turns.append(Turn(rows, _factors(class_weight, y, weight, int(rows[0]))))
    return turns


def _factors(class_weight: Any, y: Labels, weight: Vector | None, row: int | None) -> Factors:
    """Factors on C of the classes, without a row."""
    if row is not None:
        y, weight = np.delete(y, row), None if weight is None else np.delete(weight, row)
    known = class_weight
    if isinstance(class_weight, dict):
        here = set(np.unique(y).tolist())
        known = {label: factor for label, factor in class_weight.items() if label in here}
    return present_classes(known, np.unique(y), y, weight)[1]
