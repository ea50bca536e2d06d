"""Cross-validation of one estimator: a score for every fold, and predictions by machines that never saw the row.

    R = 1/K sum_k r_k        standard error  s / sqrt(K),   s^2 = 1/(K-1) sum_k (r_k - R)^2

The r_k share training rows, so they are correlated and the standard error is too small: no unbiased estimate of the
variance of K-fold cross-validation exists (Bengio and Grandvalet, 2004). It is a yardstick, not a test; to compare two
methods use `compare_five_by_two`.

R^2 of a single row is not defined. Where test parts have one row, a regressor's score is R^2 of all predictions
together, and so are other scores that are no means over rows (`evaluate.scoring`); there is one score then and no
standard error.

Three routes lead to the predictions:

    by fits             a fresh clone for every fold; for any estimator
    by stored kernel    SVC and SVR whose kernel is the same for all folds: one matrix, of which each takes its part
    by leaving out      SVC and SVR, leaving one row out: only support rows are solved again (`evaluate.left_out`)

The second and third search with kernel values in single precision: a row on the boundary may fall either way. Where
that is too coarse for the data, sub-problems are solved by plain fits (`evaluate.stored_kernels`). With
gamma="scale" every fold has a width of its own. A matrix for each fold would cost more than the fits, so fits it is;
leaving a row out changes the width by a hair, and there it is that of all rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import _num_samples

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.backends.threads import raise_if_interrupted, run_apart, thread_count
from maxmargin.errors import DataError
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.evaluate import kernel_search
from maxmargin.evaluate.folds import check_folds, folds_of
from maxmargin.evaluate.left_out import left_out
from maxmargin.evaluate.progress import Tick, counting
from maxmargin.evaluate.sample import Sample, check_estimator, clone_with_threads, sample_of, training_on
from maxmargin.evaluate.scoring import is_of_all_together, own_score, score_of_all, scorer_of, standard_error
from maxmargin.evaluate.splitters import EachRowOut, Folds
from maxmargin.evaluate.tables import CORRELATED, ShownAsTable, Table, number

Judged = TypeVar("Judged")

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
    estimator: Any, sample: Sample, folds: Folds, scoring: Any, n_jobs: int | None, verbose: bool | int
) -> CrossValidation:
    """`cross_validate` on given folds."""
    begun = time.perf_counter()
    folds = check_folds(folds, sample.weight, len(sample.y))
    model = clone_with_threads(estimator, n_jobs)
    # Tables and lists have no rows to look at yet, but their number decides.
    shape, scores = np.empty((_num_samples(sample.X), 0)), None
    has_kernel_route = scoring is None and kernel_search.suits(model, shape, ()) and np.isfinite(model.C)
    if has_kernel_route and isinstance(folds, EachRowOut):
        tests = list(np.arange(len(sample.y)).reshape(-1, 1))
        predictions, route = _by_leaving_out(model, sample, verbose)
    else:
        tests = [test for _, test in folds]
        if has_kernel_route and _shares_kernel(model):
            X, y = clone(model)._check_all(*sample)[:2]
            sample = Sample(X, y, sample.weight)
            predictions, route = _by_stored_kernel(model, sample, folds, verbose)
        else:
            predictions, scores = _by_fits(model, sample, folds, tests, scoring, n_jobs, verbose)
            route = "A fit for each fold"
    if scores is None:
        scores = _own_scores(model, sample, tests, predictions)
    seconds = time.perf_counter() - begun
    return CrossValidation(type(estimator).__name__, scores, tests, predictions, len(sample.y), route, seconds)


def _shares_kernel(model: Any) -> bool:
    """Whether all folds have the same kernel: gamma="scale" depends on the rows trained on."""
    return not isinstance(model.kernel, str) or model.kernel in ("linear", "precomputed") or model.gamma != "scale"


def _by_leaving_out(model: Any, sample: Sample, verbose: bool | int) -> tuple[list[Labels], str]:
    """One fit, and a short solve for each support row; and that in words."""
    found = left_out(model, *sample, verbose=verbose)
    is_balanced = isinstance(model, SVC) and model.class_weight == "balanced"
    words = f"{'A fit for each class' if is_balanced else 'One fit'} and {found.n_solved} short solves"
    if found.n_plain > 0:
        words += f", {found.n_plain} of them plain fits, because single precision is too coarse"
    if not _shares_kernel(model):
        words += ", gamma='scale' of all rows"
    return list(found.predictions.reshape(-1, 1)), words


def _by_stored_kernel(model: Any, sample: Sample, folds: Folds, verbose: bool | int) -> tuple[list[Labels], str]:
    """One kernel matrix for all folds and pairs of classes; and that in words."""
    with counting("cross_validate", "folds", len(folds), verbose) as tick:
        predictions, n_plain = kernel_search.predictions(model, sample, list(folds), tick)
    words = "From stored kernel values"
    if n_plain > 0:
        words += f", {n_plain} sub-problems by plain fits, because single precision is too coarse"
    return predictions, words


def _by_fits(
    model: Any,
    sample: Sample,
    folds: Folds,
    tests: Sequence[RowIndex],
    scoring: Any,
    n_jobs: int | None,
    verbose: bool | int,
) -> tuple[list[Labels], Vector | None]:
    """A fresh clone for every fold; and the scores, but for those of the model's own that are of all together."""
    scorer = scorer_of(model, scoring)
    is_pooled = is_of_all_together(model, scoring, sample.weight, tests)

    def judge(trained: Any, part: Sample) -> tuple[Labels, float]:
        predicted = np.asarray(trained.predict(part.X))
        return predicted, np.nan if is_pooled else float(scorer(trained, part.X, part.y, **part.weights))

    with counting("cross_validate", "folds", len(folds), verbose) as tick:
        done = judged_on_folds([model], sample, folds, judge, n_jobs, tick)
    predictions = [predicted for predicted, _ in done]
    if not is_pooled:
        return predictions, np.array([score for _, score in done])
    if scoring is None:
        return predictions, None
    rows = np.concatenate(tests)
    weights = {} if sample.weight is None else {"sample_weight": sample.weight[rows]}
    return predictions, np.array([score_of_all(scorer, sample.y[rows], np.concatenate(predictions), weights)])


def judged_on_folds(
    models: Sequence[Any],
    sample: Sample,
    folds: Folds,
    judge: Callable[[Any, Sample], Judged],
    n_jobs: int | None,
    tick: Tick,
) -> list[Judged]:
    """What `judge` says of a clone of each model, trained on each fold, and the rows held out; several at a time."""
    settings = get_config()  # scikit-learn keeps them by thread, and jobs run in others

    def job(model: Any, k: int) -> Judged:
        raise_if_interrupted()
        train, test = folds[k]
        trained = clone(model)
        with config_context(**settings):
            part = sample.part(model, train)
            with training_on(part.y, k, len(folds)):
                part.train(trained)
            verdict = judge(trained, sample.part(model, test, train))
        tick(1)
        return verdict

    jobs = [partial(job, model, k) for model in models for k in range(len(folds))]
    with sample.naming_rows():
        return run_apart(jobs, min(thread_count(n_jobs), len(jobs)))


def _own_scores(model: Any, sample: Sample, tests: Sequence[RowIndex], predictions: Sequence[Labels]) -> Vector:
    """Accuracy or R^2 of every fold, or that of all predictions together."""
    y, weight = sample.y, sample.weight
    if is_of_all_together(model, None, weight, tests):
        tests, predictions = [np.concatenate(tests)], [np.concatenate(predictions)]
    elif is_classifier(model) and max(len(test) for test in tests) == 1:  # scikit-learn's checks take longer than fits
        return np.array([float(predicted[0] == y[test[0]]) for test, predicted in zip(tests, predictions, strict=True)])
    return np.array(
        [
            own_score(model, y[test], predicted, None if weight is None else weight[test])
            for test, predicted in zip(tests, predictions, strict=True)
        ]
    )
