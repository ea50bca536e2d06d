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

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from sklearn import config_context, get_config
from sklearn.base import clone, is_classifier
from sklearn.utils.validation import _num_samples

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.backends.threads import raise_if_interrupted, run_apart, thread_count
from maxmargin.estimators.kernel.svc import SVC
from maxmargin.evaluate import kernel_search
from maxmargin.evaluate.left_out import left_out
from maxmargin.evaluate.progress import Tick, counting
from maxmargin.evaluate.sample import Sample, training_on
from maxmargin.evaluate.scoring import is_of_all_together, own_score, score_of_all, scorer_of
from maxmargin.evaluate.splitters import Folds

Judged = TypeVar("Judged")


class FoldResults(NamedTuple):
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


def by_leaving_out(model: Any, sample: Sample, verbose: bool | int) -> FoldResults:
    """One fit, and a short solve for each support row."""
    found = left_out(model, *sample, verbose=verbose)
    tests = list(np.arange(len(sample.y)).reshape(-1, 1))
    predictions = list(found.predictions.reshape(-1, 1))
    is_balanced = isinstance(model, SVC) and model.class_weight == "balanced"
    words = f"{'A fit for each class' if is_balanced else 'One fit'} and {found.n_solved} short solves"
    if found.n_plain > 0:
        words += f", {found.n_plain} of them plain fits, because single precision is too coarse"
    if not shares_kernel(model):
        words += ", gamma='scale' of all rows"
    return FoldResults(tests, predictions, _scores(model, sample, tests, predictions), words)


def by_stored_kernel(model: Any, sample: Sample, folds: Folds, verbose: bool | int) -> FoldResults:
    """One kernel matrix for all folds and pairs of classes."""
    X, y = clone(model)._check_all(*sample)[:2]
    sample = Sample(X, y, sample.weight)
    with counting("cross_validate", "folds", len(folds), verbose) as tick:
        predictions, n_plain = kernel_search.predictions(model, sample, list(folds), tick)
    tests = [test for _, test in folds]
    words = "From stored kernel values"
    if n_plain > 0:
        words += f", {n_plain} sub-problems by plain fits, because single precision is too coarse"
    return FoldResults(tests, predictions, _scores(model, sample, tests, predictions), words)


def by_fits(
    model: Any, sample: Sample, folds: Folds, scoring: Any, n_jobs: int | None, verbose: bool | int
) -> FoldResults:
    """A fresh clone for every fold."""
    scorer, tests = scorer_of(model, scoring), [test for _, test in folds]
    is_pooled = is_of_all_together(model, scoring, sample.weight, tests)

    def judge(trained: Any, part: Sample) -> tuple[Labels, float]:
        predicted = np.asarray(trained.predict(part.X))
        return predicted, np.nan if is_pooled else float(scorer(trained, part.X, part.y, **part.weights))

    with counting("cross_validate", "folds", len(folds), verbose) as tick:
        done = judged_on_folds([model], sample, folds, judge, n_jobs, tick)
    predictions, scores = [predicted for predicted, _ in done], np.array([score for _, score in done])
    if is_pooled and scoring is None:
        scores = _scores(model, sample, tests, predictions)
    elif is_pooled:
        rows = np.concatenate(tests)
        weights = {} if sample.weight is None else {"sample_weight": sample.weight[rows]}
        scores = np.array([score_of_all(scorer, sample.y[rows], np.concatenate(predictions), weights)])
    return FoldResults(tests, predictions, scores, "A fit for each fold")


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


def _scores(model: Any, sample: Sample, tests: Sequence[RowIndex], predictions: Sequence[Labels]) -> Vector:
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
