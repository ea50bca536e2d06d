"""Search over a grid of parameters by cross-validation, with its standard errors, and a rule that prefers the simple.

The score of a setting is a mean over folds, and so uncertain. The best mean is one choice; the one-standard-error rule
takes the simplest setting whose mean is within one standard error of the best (`evaluate.simplicity`): the smallest C,
then the smallest gamma.

Folds share training rows, so their scores are correlated, and the standard error computed as if they were independent
is a little too small. It is a yardstick, not a test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils.metaestimators import _safe_split

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import raise_if_interrupted, run_apart, thread_count
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.validation import check_weights
from maxmargin.evaluate import kernel_search
from maxmargin.evaluate.arguments import check_estimator, check_rows_and_labels
from maxmargin.evaluate.cross_validation import folds_of
from maxmargin.evaluate.fold_checks import check_folds, check_spread, naming_rows_of, training_on
from maxmargin.evaluate.progress import Tick, counting
from maxmargin.evaluate.scoring import is_of_all_together, scorer_of
from maxmargin.evaluate.simplicity import simplest
from maxmargin.evaluate.splitters import Folds
from maxmargin.evaluate.tables import CORRELATED, Table, number

_MOST_LINES = 20  # settings that the table shows
_ROUNDING = 1e-12  # of a mean: the same scores in another order may differ by less


@dataclass(frozen=True)
class Grid:
    """Scores of every setting on every fold.

    Attributes
    ----------
    parameters
        Name and values of each parameter, in the order of the axes of `scores`.
    scores
        One axis a parameter, then one for the folds.
    """

    parameters: dict[str, list[Any]]
    scores: Matrix
    _estimator: Any = field(repr=False)
    _data: tuple[Rows, Labels, Vector | None] = field(repr=False)

    @property
    def mean(self) -> Matrix:
        """Mean score over the folds; not a number where a score is none."""
        return np.asarray(self.scores.mean(axis=-1))

    @property
    def standard_error(self) -> Matrix:
        """Standard error of the mean, as if folds were independent; not a number where there is one fold."""
        n_folds = self.scores.shape[-1]
        if n_folds == 1:
            return np.full(self.scores.shape[:-1], np.nan)
        return np.asarray(self.scores.std(axis=-1, ddof=1) / np.sqrt(n_folds))

    @property
    def best_params(self) -> dict[str, Any]:
        """The setting with the best mean; of several the first."""
        return self.choose("best")

    @property
    def best_score(self) -> float:
        """The best mean."""
        return float(self.mean[self._best()])

    def choose(self, rule: Literal["best", "one-standard-error"] = "one-standard-error") -> dict[str, Any]:
        """The setting that a rule chooses: the best mean, or the simplest within one standard error of it.

        A small C and a large alpha are simple, and count first; then the other parameters in their order, of which
        small values are simple, but large ones of `epsilon`, `nu`, `ccp_alpha` and of the sizes of leaves.
        """
        if rule not in ("best", "one-standard-error"):
            raise ParameterError(f"rule must be 'best' or 'one-standard-error', got rule={rule!r}.")
        best = self._best()
        if rule == "best":
            return self._setting(best)
        if self.scores.shape[-1] == 1:
            raise ParameterError("one split has no standard error; search on several folds, or choose('best').")
        least = self.mean[best] - self.standard_error[best]
        good = np.argwhere(self.mean >= least - _ROUNDING * abs(least))
        return self._setting(simplest(good.tolist(), self.parameters))

    def _best(self) -> tuple[Any, ...]:
        """Place of the best mean; settings without one do not count."""
        mean = self.mean
        if np.all(np.isnan(mean)):
            raise DataError(
                "no setting has a mean: each has a score that is not a number, on one fold or more. A score such as "
                "roc_auc needs rows of both classes in every fold: stratify, or take fewer folds."
            )
        top = float(np.nanmax(mean))
        slack = _ROUNDING * abs(top) if math.isfinite(top) else 0.0
        return np.unravel_index(np.flatnonzero(mean >= top - slack)[0], mean.shape)

    def fit(self, rule: Literal["best", "one-standard-error"] = "best") -> Any:
        """A fresh estimator with the chosen setting, trained on all rows, with its certificate."""
        X, y, sample_weight = self._data
        model = clone(self._estimator).set_params(**self.choose(rule))
        return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)

    def _setting(self, place: Sequence[Any]) -> dict[str, Any]:
        return {name: values[int(k)] for (name, values), k in zip(self.parameters.items(), place, strict=True)}

    def _title(self) -> str:
        size = f"{self.mean.size} settings, {self.scores.shape[-1]} folds"
        if np.all(np.isnan(self.mean)):
            return f"no setting has a mean score; {size}"
        where = ", ".join(f"{name}={_in_short(value)}" for name, value in self.best_params.items())
        return f"best mean score {self.best_score:.4f} at {where}; {size}"

    def __str__(self) -> str:
        return "\n".join([self._title(), *self._notes()])

    def _notes(self) -> list[str]:
        return [] if self.scores.shape[-1] == 1 else [CORRELATED]

    def table(self) -> Table:
        """The settings with the best means, the best first."""
        order = np.argsort(-np.round(self.mean, 12), axis=None, kind="stable")[:_MOST_LINES]
        rows = []
        for place in zip(*np.unravel_index(order, self.mean.shape), strict=True):
            setting = [_in_short(value) for value in self._setting(place).values()]
            rows.append((*setting, number(self.mean[place]), number(self.standard_error[place])))
        return Table(self._title(), (*self.parameters, "mean score", "standard error"), rows, self._notes())

    def _repr_html_(self) -> str:
        return self.table().as_html()


def grid(
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
    **parameters: Sequence[Any],
) -> Grid:
    """Cross-validate an estimator over all combinations of the given parameters.

    `SVC` and `SVR` share one kernel matrix over all costs, folds and pairs of classes, and go along the costs from
    one answer to the next. Any other estimator, of this library or not, is fitted for each setting and fold.

    Parameters
    ----------
    estimator
        It is cloned, not changed.
    X, y
        As for `fit`.
    cv
        As for `cross_validate`, which deals the same folds.
    scoring
        As in scikit-learn; None for the estimator's own `score`.
    groups
        One entry a row; rows of a group stay on one side.
    sample_weight
        Weights of rows, for fits and for scores. A scoring function of your own is called with `sample_weight=`, too.
    n_jobs
        Threads; None means all cores.
    verbose
        1 shows how many fits are done; 0 is silent.
    parameters
        The values of each parameter: `C=[0.1, 1, 10], gamma=[0.01, 0.1]`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC
    >>> from maxmargin.evaluate import grid
    >>> found = grid(SVC(), *load_iris(return_X_y=True), C=[0.1, 1, 10], gamma=[0.01, 0.1, 1])
    >>> found.best_params
    {'C': 0.1, 'gamma': 1}
    >>> found.fit("one-standard-error").certificate_.status.name
    'CONVERGED'
    """
    check_estimator(estimator)
    values = _checked(estimator, parameters)
    X, y = check_rows_and_labels(X, y)
    X = X if hasattr(X, "shape") else np.asarray(X)
    sample_weight = check_weights(sample_weight, len(y))
    folds = folds_of(cv, X, y, groups, classifies=is_classifier(estimator))
    folds = check_folds(folds, sample_weight, len(y))
    if is_of_all_together(estimator, scoring, sample_weight, [test for _, test in folds]) or sample_weight is not None:
        check_spread(folds)
    given = clone(estimator)
    if n_jobs is not None and "n_jobs" in given.get_params():
        given.set_params(n_jobs=n_jobs)
    has_costs = "C" in values and math.inf not in values["C"]  # a hard margin has no place in the box of the others
    if scoring is None and has_costs and kernel_search.suits(given, X, list(values)):
        scores = _by_stored_kernels(given, X, y, sample_weight, folds, values, verbose)
    else:
        scores = _by_fits(given, X, y, sample_weight, folds, values, scoring, n_jobs, verbose)
    return Grid(values, scores, given, (X, y, sample_weight))


def _checked(estimator: Any, parameters: dict[str, Any]) -> dict[str, list[Any]]:
    if not parameters:
        raise ParameterError("grid needs the values of at least one parameter: grid(..., C=[0.1, 1, 10]).")
    known = estimator.get_params()
    values = {}
    for name, given in parameters.items():
        if name not in known:
            raise ParameterError(f"{type(estimator).__name__} has no parameter {name}; see get_params().")
        if not isinstance(given, Iterable):
            raise ParameterError(f"{name} must be a list of values, got {given!r}; for a single one give [{given!r}].")
        values[name] = list(given) if not isinstance(given, str) else [given]
        if not values[name]:
            raise ParameterError(f"{name} needs at least one value, got {given!r}.")
    return values


def _by_stored_kernels(
    estimator: Any,
    X: Rows,
    y: Labels,
    sample_weight: Vector | None,
    folds: Folds,
    values: dict[str, list[Any]],
    verbose: bool | int,
) -> Matrix:
    names = [name for name in values if name != "C"]
    others = [dict(zip(names, chosen, strict=True)) for chosen in product(*(values[name] for name in names))]
    X = clone(estimator)._check_kernel_input(X, reset=True)
    with counting("grid", "folds", len(others) * len(folds), verbose) as tick:
        found = kernel_search.search(estimator, X, y, sample_weight, list(folds), values["C"], others, tick)
    shape = [len(values[name]) for name in names]
    scores = found.reshape(*shape, len(values["C"]), len(folds))
    return np.moveaxis(scores, len(shape), list(values).index("C"))


def _by_fits(
    estimator: Any,
    X: Rows,
    y: Labels,
    sample_weight: Vector | None,
    folds: Folds,
    values: dict[str, list[Any]],
    scoring: Any,
    n_jobs: int | None,
    verbose: bool | int,
) -> Matrix:
    score = scorer_of(estimator, scoring)
    settings = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]

    def weights(rows: RowIndex) -> dict[str, Vector]:
        return {} if sample_weight is None else {"sample_weight": sample_weight[rows]}

    def job(setting: dict[str, Any], k: int, tick: Tick) -> float:
        raise_if_interrupted()
        model = clone(estimator).set_params(**setting)
        train, test = folds[k]
        X_train, y_train = _safe_split(model, X, y, train)
        with training_on(y_train, k, len(folds)):
            model.fit(X_train, y_train, **weights(train))
        value = float(score(model, *_safe_split(model, X, y, test, train), **weights(test)))
        tick(1)
        return value

    with naming_rows_of(X), counting("grid", "fits", len(settings) * len(folds), verbose) as tick:
        jobs = [partial(job, setting, k, tick) for setting in settings for k in range(len(folds))]
        found = run_apart(jobs, min(thread_count(n_jobs), len(jobs)))
    return np.array(found).reshape(*(len(v) for v in values.values()), len(folds))


def _in_short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _in_order(values: list[Any]) -> list[Any]:
    """Values as they compare; names by their place."""
    return list(values) if all(isinstance(value, (int, float)) for value in values) else list(range(len(values)))
