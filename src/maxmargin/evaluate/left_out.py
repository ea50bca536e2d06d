"""Exact leave-one-out for kernel machines: each row predicted by the machine that never saw it.

A row whose multiplier is zero can be left out without any change: the machine is still optimal, so its own score is
the score of the machine without it. A support row costs a solve, but a short one: its coefficient is handed to other
rows, which leaves a feasible point near the answer, and pair steps go on from there
(`solvers.kernel.driver.KernelDriver.score_without`), over a kernel matrix that is formed once. Where stored values are
too coarse for the machine of all rows (`evaluate.stored_kernels`), it is a plain fit, and so is every machine without a
support row.

A machine without a row differs from the one of all rows by that row alone, as long as the weights of classes stay. They
do not where they are balanced: n / (K n_c) counts the row. But all rows of a class, and of a sample weight, change the
counts alike. So there is one turn for each, whose machine of all rows has the class weights that are right without one.
The only row of a class takes its class with it. The pairs that are left decide.

The width gamma="scale" is that of all rows. Leaving a row out changes it by a hair; here it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import one_blas_thread, run_apart, thread_count
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.parameters import check_cost, check_intercept, check_positive
from maxmargin.estimators.fitting.validation import Factors, present_classes
from maxmargin.estimators.kernel.kernel_classifier import tasks_of
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.estimators.kernel.svr import SVR
from maxmargin.evaluate.progress import Tick, counting
from maxmargin.evaluate.scoring import own_score
from maxmargin.evaluate.stored_kernels import (
    LARGEST,
    Answer,
    StoredKernel,
    are_representable,
    is_precise,
    search_settings,
    solved_in_double,
)
from maxmargin.evaluate.tables import ShownAsTable, Table, number
from maxmargin.losses import Hinge, Loss
from maxmargin.problems import Pair, Regression, Specification
from maxmargin.solvers.kernel.dual import Variables

_BATCH = 32  # support rows that are left out by one job
_STEPS, _STEPS_A_ROW = 20_000, 20  # for one row left out, after which a plain fit is quicker


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
    n, limit = len(y), model._memory() or LARGEST
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


class LeavingOut:
    """A sub-problem on all rows, which can do without each."""

    def __init__(
        self,
        stored: StoredKernel,
        specification: Specification,
        y: Labels,
        sample_weight: Vector | None,
        tol: float,
        n_jobs: int | None,
        tick: Tick,
    ):
        self.stored, self.specification, self.y, self.sample_weight = stored, specification, y, sample_weight
        self.tol, self.n_jobs, self.tick = tol, n_jobs, tick
        self.n_solved = 0
        """Rows that needed a solve."""
        self._plainly: list[int] = []
        self.problem, self.place = stored.problem(specification, y, sample_weight, np.arange(len(y)))
        whole = replace(search_settings(self.problem, tol), whole=self.problem.n_rows)
        self._driver = whole.driver(self.problem)

    @property
    def n_plain(self) -> int:
        """Rows that needed a plain fit."""
        return len(self._plainly)

    def scores(self, rows: RowIndex) -> Vector:
        """Score of each of the given rows by the machine without it."""
        answer = self._whole()
        scores = np.empty(len(self.y))
        scores[rows] = self.stored.scores([answer], self.place, rows)[0]
        if answer.is_single:
            scores[self.place] = self._own_scores(answer.bias)
        support = np.flatnonzero(self._matter(answer) & np.isin(self.place, rows))
        without = self._by_short_solve if answer.is_single else self._by_plain_fit
        self.n_solved = len(support)
        self.tick(len(rows) - len(support))

        def job(some: RowIndex) -> Callable[[], Vector]:
            return lambda: self._ticked(np.array([without(int(i)) for i in some]))

        size = _BATCH if answer.is_single else 1
        parts = [support[first : first + size] for first in range(0, len(support), size)]
        if parts:
            found = run_apart([job(part) for part in parts], thread_count(self.n_jobs))
            scores[self.place[support]] = np.concatenate(found)
        return scores[rows]

    def _whole(self) -> Answer:
        """The machine of all rows."""
        driver, never = self._driver, np.zeros(1, dtype=np.uint8)
        driver.is_for_scores = True
        if are_representable(self.problem):
            driver.run(never)
        if not is_precise(driver):
            return solved_in_double(self.problem, self.tol)
        driver.is_for_scores = False  # stored values will do for steps; slopes are formed in double where it matters
        driver.run(never)
        return Answer(driver.engine.coefficients(), driver.intercept(), True)

    def _matter(self, answer: Answer) -> NDArray[np.bool_]:
        """Rows without which the machine is another: those with a multiplier, and all where the intercept is not told.

        Then it is the middle of an interval, and any row may be what ends the interval.
        """
        variables = Variables.of(self.problem)
        is_told = not variables.is_free or variables.tells_intercept(answer.beta)
        return np.asarray((answer.beta != 0.0) | (not is_told))

    def _own_scores(self, bias: float) -> Vector:
        """Scores of the rows of the problem; those of the driver know of an intercept that is not free."""
        return self._driver.engine.scores() + (bias if self._driver.engine.is_free else 0.0)

    def _ticked(self, scores: Vector) -> Vector:
        self.tick(len(scores))
        return scores

    def _by_plain_fit(self, i: int) -> float:
        """Score of row i of the problem by the machine without it, fitted afresh."""
        self._plainly.append(i)
        row = self.place[i]
        rest = np.delete(np.arange(len(self.y)), row)
        problem, place = self.stored.plain_problem(self.specification, self.y, self.sample_weight, rest)
        return float(self.stored.scores([solved_in_double(problem, self.tol)], place, np.array([row]))[0, 0])

    def _by_short_solve(self, i: int) -> float:
        """The same from the machine of all rows, by pair steps."""
        score = self._driver.score_without(i, _STEPS + _STEPS_A_ROW * len(self.place))
        return self._by_plain_fit(i) if score is None else score
