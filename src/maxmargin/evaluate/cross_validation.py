"""Cross-validation of one estimator: a score for every fold, and predictions by machines that never saw the row.

    R = 1/K sum_k r_k        standard error  s / sqrt(K),   s^2 = 1/(K-1) sum_k (r_k - R)^2

The r_k share training rows, so they are correlated and the standard error is too small: no unbiased estimate of the
variance of K-fold cross-validation exists (Bengio and Grandvalet, 2004). It is a yardstick, not a test; to compare two
methods use `compare_five_by_two`.

R^2 of a single row is not defined. Where test parts have one row, a regressor's score is R^2 of all predictions
together, and so are other scores that are no means over rows (`evaluate.scoring`); there is one score then and no
standard error.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.evaluate import routes
from maxmargin.evaluate.folds import check_folds, folds_of
from maxmargin.evaluate.sample import Sample, check_estimator, clone_with_threads, sample_of
from maxmargin.evaluate.scoring import standard_error
from maxmargin.evaluate.splitters import EachRowOut, Folds
from maxmargin.evaluate.tables import CORRELATED, ShownAsTable, Table, number

_MOST_LINES = 20  # folds that the table shows one by one


@dataclass(frozen=True)
class CrossValidation(ShownAsTable):
    """What cross-validation found; `str()` is a table.

    Attributes
    ----------
    scores
        One score a fold; a single one where it is that of all predictions together.
    test_rows
        The rows that each fold was tested on.
    fold_predictions
        What was predicted for them.
    route
        How the predictions were found, in words.
    seconds
        Time that it took.
    """

    name: str
    scores: Vector
    test_rows: Sequence[RowIndex] = field(repr=False)
    fold_predictions: Sequence[Labels] = field(repr=False)
    n_rows: int
    route: str
    seconds: float

    @property
    def mean(self) -> float:
        """Mean score over the folds."""
        return float(np.mean(self.scores))

    @property
    def standard_error(self) -> float:
        """Standard error of the mean as if folds were independent, which is too small; not a number for one score."""
        return float(standard_error(self.scores))

    @property
    def predictions(self) -> Labels:
        """The prediction of every row by the machine that never saw it; where every row was tested exactly once."""
        rows = np.concatenate(self.test_rows)
        if len(rows) != self.n_rows or len(np.unique(rows)) != self.n_rows:
            raise DataError(
                f"{len(rows)} predictions for {self.n_rows} rows: not every row was tested exactly once. "
                "See test_rows and fold_predictions, fold by fold."
            )
        return np.asarray(np.concatenate(self.fold_predictions)[np.argsort(rows)])

    def table(self) -> Table:
        """The scores as a table."""
        n_folds = len(self.test_rows)
        folds = "1 split" if n_folds == 1 else f"{n_folds} folds"
        title = f"{self.name}: mean score {number(self.mean)}, standard error {number(self.standard_error)}, {folds}"
        rows = []
        if len(self.scores) == n_folds <= _MOST_LINES:
            sizes = [len(rows) for rows in self.test_rows]
            rows = [(str(k + 1), str(sizes[k]), number(self.scores[k])) for k in range(n_folds)]
        notes = [f"{self.route}, {self.seconds:.2g} s."]
        if len(self.scores) > 1:
            notes.append(CORRELATED)
        elif n_folds > 1:
            notes.append("One score of all predictions together; it has no standard error.")
        return Table(title, ("fold", "rows", "score"), rows, notes)


def cross_validate(
    estimator: Any,
    X: Rows,
    y: Labels,
    *,
    cv: Any = 5,
    scoring: Any = None,
    groups: Any = None,
    sample_weight: Vector | None = None,
    n_jobs: int | None = None,
    verbose: bool | int = 0,
) -> CrossValidation:
    """Score an estimator, of this library or of scikit-learn, on rows that it was not trained on.

    The standard error treats folds as independent. They share training rows, so it is too small.

    Parameters
    ----------
    estimator
        It is cloned, not changed.
    X, y
        As for `fit`; tables and lists of strings, too, where the estimator takes them.
    cv
        Number of folds, a splitter (`k_fold`, `holdout`, `leave_one_out`, ..., or one of scikit-learn), or a list of
        pairs of training and test rows. With `stratify="auto"` folds are stratified for classifiers.
    scoring
        Name of a score as in scikit-learn, or a function of (model, X, y); None for the estimator's own `score`.
    groups
        One entry a row; rows of a group stay on one side.
    sample_weight
        Weights of rows, for fits and for scores. A scoring function of your own is called with `sample_weight=`, too.
    n_jobs
        Threads; None means all cores.
    verbose
        1 shows how many folds are done; 0 is silent.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.evaluate import cross_validate, k_fold
    >>> X, y = load_iris(return_X_y=True)
    >>> found = cross_validate(SVC(), X, y, cv=k_fold(10))
    >>> len(found.scores), len(found.predictions)
    (10, 150)
    """
    check_estimator(estimator)
    sample = sample_of(X, y, sample_weight)
    folds = folds_of(cv, sample, groups, classifies=is_classifier(estimator))
    return validated(estimator, sample, folds, scoring, n_jobs, verbose)


def validated(
    estimator: Any,
    sample: Sample,
    folds: Folds,
    scoring: Any = None,
    n_jobs: int | None = None,
    verbose: bool | int = 0,
) -> CrossValidation:
    """`cross_validate` on given folds."""
    begun = time.perf_counter()
    folds = check_folds(folds, sample.weight, len(sample.y))
    model = clone_with_threads(estimator, n_jobs)
    has_kernel_route = scoring is None and routes.suits_kernel_routes(model, sample.X)
    if has_kernel_route and isinstance(folds, EachRowOut):
        found = routes.by_leaving_out(model, sample, verbose)
    elif has_kernel_route and routes.shares_kernel(model):
        found = routes.by_stored_kernel(model, sample, folds, verbose)
    else:
        found = routes.by_fits(model, sample, folds, scoring, n_jobs, verbose)
    name, n_rows, seconds = type(estimator).__name__, len(sample.y), time.perf_counter() - begun
    return CrossValidation(name, found.scores, found.test_rows, found.predictions, n_rows, found.words, seconds)
