"""Three routes to predictions of rows by machines that never saw them.

    by_fits             a fresh clone for every fold; for any estimator
    by_stored_kernel    SVC and SVR whose kernel is the same for all folds: one matrix, of which each takes its part
    by_leaving_out      SVC and SVR, leaving one row out: only support rows are solved again (`evaluate.left_out`)

The second and third search with kernel values in single precision: a row on the boundary may fall either way. Where
that is too coarse for the data, sub-problems are solved by plain fits (`evaluate.stored_kernels`). With
gamma="scale" every fold has a width of its own. A matrix for each fold would cost more than the fits, so fits it is;
leaving a row out changes the width by a hair, and there it is that of all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.backends.threads import raise_if_interrupted, run_apart, thread_count
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.evaluate import kernel_search
from maxmargin.evaluate.fold_checks import naming_rows_of, training_on
from maxmargin.evaluate.left_out import left_out
from maxmargin.evaluate.progress import Tick, counting
from maxmargin.evaluate.scoring import is_of_all_together, score_of_all, scorer_of
from maxmargin.evaluate.splitters import Folds


class Found(NamedTuple):
    """Test rows and predictions of every fold, the scores, and the route in words."""

    test_rows: Sequence[RowIndex]
    predictions: Sequence[Labels]
    scores: Vector
    words: str


def suits_kernel_routes(model: Any, X: Rows) -> bool:
    """Whether the kernel matrix of all rows may be formed once: an SVC or SVR with a finite cost, rows not too many."""
    shape = np.empty((_num_samples(X), 0))  # tables and lists have no rows to look at yet, but their number decides
    return kernel_search.suits(model, shape, ()) and np.isfinite(model.C)


def shares_kernel(model: Any) -> bool:
    """Whether all folds have the same kernel: gamma="scale" depends on the rows trained on."""
    return not isinstance(model.kernel, str) or model.kernel in ("linear", "precomputed") or model.gamma != "scale"


def by_leaving_out(model: Any, X: Rows, y: Labels, weight: Vector | None, verbose: bool | int) -> Found:
    """One fit, and a short solve for each support row."""
    found = left_out(model, X, y, weight, verbose=verbose)
    tests = list(np.arange(len(y)).reshape(-1, 1))
    predictions = list(found.predictions.reshape(-1, 1))
    is_balanced = isinstance(model, SVC) and model.class_weight == "balanced"
    words = f"{'A fit for each class' if is_balanced else 'One fit'} and {found.n_solved} short solves"
    if found.n_plain > 0:
        words += f", {found.n_plain} of them plain fits, because single precision is too coarse"
    if not shares_kernel(model):
        words += ", gamma='scale' of all rows"
    return Found(tests, predictions, _scores(model, y, weight, tests, predictions), words)


def by_stored_kernel(model: Any, X: Rows, y: Labels, weight: Vector | None, folds: Folds, verbose: bool | int) -> Found:
    """One kernel matrix for all folds and pairs of classes."""
    X, y = clone(model)._check_all(X, y, weight)[:2]
    with counting("cross_validate", "folds", len(folds), verbose) as tick:
        predictions, n_plain = kernel_search.predictions(model, X, y, weight, list(folds), tick)
    tests = [test for _, test in folds]
    words = "From stored kernel values"
    if n_plain > 0:
        words += f", {n_plain} sub-problems by plain fits, because single precision is too coarse"
    return Found(tests, predictions, _scores(model, y, weight, tests, predictions), words)


def by_fits(
    model: Any,
    X: Rows,
    y: Labels,
    weight: Vector | None,
    folds: Folds,
    scoring: Any,
    n_jobs: int | None,
    verbose: bool | int,
) -> Found:
    """A fresh clone for every fold, several at a time."""
    scorer = scorer_of(model, scoring)
    tests = [test for _, test in folds]
    is_pooled = is_of_all_together(model, scoring, weight, tests)

    settings = get_config()  # scikit-learn keeps them by thread, and jobs run in others

    def job(k: int, tick: Tick) -> tuple[Labels, float]:
        raise_if_interrupted()
        train, test = folds[k]
        trained = clone(model)
        with config_context(**settings):
            X_train, y_train = _safe_split(model, X, y, train)
            with training_on(y_train, k, len(folds)):
                trained.fit(X_train, y_train, **_weights(weight, train))
            X_test, y_test = _safe_split(model, X, y, test, train)
            predicted = np.asarray(trained.predict(X_test))
            score = np.nan if is_pooled else float(scorer(trained, X_test, y_test, **_weights(weight, test)))
        tick(1)
        return predicted, score

    with naming_rows_of(X), counting("cross_validate", "folds", len(folds), verbose) as tick:
        jobs = [partial(job, k, tick) for k in range(len(folds))]
        done = run_apart(jobs, min(thread_count(n_jobs), len(jobs)))
    predictions = [predicted for predicted, _ in done]
    scores = np.array([score for _, score in done])
    if is_pooled and scoring is None:
        scores = _scores(model, y, weight, tests, predictions)
    elif is_pooled:
        rows = np.concatenate(tests)
        scores = np.array([score_of_all(scorer, y[rows], predictions, _weights(weight, rows))])
    return Found(tests, predictions, scores, "A fit for each fold")


def _weights(weight: Vector | None, rows: RowIndex) -> dict[str, Vector]:
    return {} if weight is None else {"sample_weight": weight[rows]}


def _scores(
    model: Any, y: Labels, weight: Vector | None, tests: Sequence[RowIndex], predictions: Sequence[Labels]
) -> Vector:
    """Accuracy or R^2 of every fold, or that of all predictions together."""
    score = accuracy_score if is_classifier(model) else r2_score
    if is_of_all_together(model, None, weight, tests):
        tests, predictions = [np.concatenate(tests)], [np.concatenate(predictions)]
    elif is_classifier(model) and max(len(test) for test in tests) == 1:  # scikit-learn's checks take longer than fits
        return np.array([float(predicted[0] == y[test[0]]) for test, predicted in zip(tests, predictions, strict=True)])
    return np.array(
        [
            float(score(y[test], predicted, **_weights(weight, test)))
            for test, predicted in zip(tests, predictions, strict=True)
        ]
    )
