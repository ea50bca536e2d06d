"""Search over a grid of parameters by cross-validation, with its standard errors, and a rule that prefers the simple.

The score of a setting is a mean over folds, and so uncertain. The best mean is one choice; the one-standard-error rule
takes the simplest setting whose mean is within one standard error of the best: the smallest C, then the smallest gamma.

Folds share training rows, so their scores are correlated, and the standard error computed as if they were independent
is a little too small. It is a yardstick, not a test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.metaestimators import _safe_split

from maxmargin._types import Labels, Matrix, Rows, Vector
from maxmargin.backends.threads import raise_if_interrupted, run_apart, thread_count
from maxmargin.errors import ParameterError
from maxmargin.evaluate import kernel_search
from maxmargin.evaluate.progress import Tick, counting


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
        """Mean score over the folds."""
        return np.asarray(self.scores.mean(axis=-1))

    @property
    def standard_error(self) -> Matrix:
        """Standard error of the mean, as if folds were independent; zero where there is one fold, which tells none."""
        n_folds = self.scores.shape[-1]
        if n_folds == 1:
            return np.zeros(self.scores.shape[:-1])
        return np.asarray(self.scores.std(axis=-1, ddof=1) / np.sqrt(n_folds))

    @property
    def best_params(self) -> dict[str, Any]:
        """The setting with the best mean; of several the first."""
        return self.choose("best")

    @property
    def best_score(self) -> float:
        """The best mean."""
        return float(self.mean.max())

    def choose(self, rule: Literal["best", "one-standard-error"] = "one-standard-error") -> dict[str, Any]:
        """The setting that a rule chooses: the best mean, or the simplest within one standard error of it.

        Simple means small: the values of C count first, then those of the other parameters in their order.
        """
        if rule not in ("best", "one-standard-error"):
            raise ParameterError(f"rule must be 'best' or 'one-standard-error', got rule={rule!r}.")
        best = np.unravel_index(np.argmax(self.mean), self.mean.shape)
        if rule == "best":
            return self._setting(best)
        good = np.argwhere(self.mean >= self.mean[best] - self.standard_error[best])
        names = list(self.parameters)
        axes = sorted(range(len(names)), key=lambda axis: names[axis] != "C")
        ranks = [np.argsort(np.argsort(_in_order(self.parameters[name]))) for name in names]
        simplest = min(good.tolist(), key=lambda place: [ranks[axis][place[axis]] for axis in axes])
        return self._setting(simplest)

    def fit(self, rule: Literal["best", "one-standard-error"] = "best") -> Any:
        """A fresh estimator with the chosen setting, trained on all rows, with its certificate."""
        X, y, sample_weight = self._data
        model = clone(self._estimator).set_params(**self.choose(rule))
        return model.fit(X, y) if sample_weight is None else model.fit(X, y, sample_weight=sample_weight)

    def _setting(self, place: Sequence[Any]) -> dict[str, Any]:
        return {name: values[int(k)] for (name, values), k in zip(self.parameters.items(), place, strict=True)}

    def __str__(self) -> str:
        words = [f"{name}={value:g}" if isinstance(value, float) else f"{name}={value}" for name, value in self._best()]
        where, folds = ", ".join(words), self.scores.shape[-1]
        return f"best mean score {self.best_score:.4f} at {where}; {self.mean.size} settings, {folds} folds"

    def _best(self) -> list[tuple[str, Any]]:
        return list(self.best_params.items())


def grid(
    estimator: Any,
    X: Rows,
    y: Labels,
    *,
    cv: Any = 5,
    scoring: Any = None,
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
    X, y, sample_weight
        As for `fit`.
    cv
        Number of folds (stratified for classifiers), or a splitter.
    scoring
        As in scikit-learn; None for the estimator's own `score`.
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
    {'C': 1, 'gamma': 0.1}
    >>> found.fit("one-standard-error").certificate_.status.name
    'CONVERGED'
    """
    values = _checked(estimator, parameters)
    X, y = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
    folds = list(check_cv(cv, y, classifier=is_classifier(estimator)).split(X, y))
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
        values[name] = list(given) if not isinstance(given, str) else [given]
        if not values[name]:
            raise ParameterError(f"{name} needs at least one value, got {given!r}.")
    return values


def _by_stored_kernels(
    estimator: Any,
    X: Rows,
    y: Labels,
    sample_weight: Vector | None,
    folds: Any,
    values: dict[str, list[Any]],
    verbose: bool | int,
) -> Matrix:
    names = [name for name in values if name != "C"]
    others = [dict(zip(names, chosen, strict=True)) for chosen in product(*(values[name] for name in names))]
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    X = clone(estimator)._check_kernel_input(X, reset=True)
    with counting("grid", "folds", len(others) * len(folds), verbose) as tick:
        found = kernel_search.search(estimator, X, y, weight, folds, values["C"], others, tick)
    shape = [len(values[name]) for name in names]
    scores = found.reshape(*shape, len(values["C"]), len(folds))
    return np.moveaxis(scores, len(shape), list(values).index("C"))


def _by_fits(
    estimator: Any,
    X: Rows,
    y: Labels,
    sample_weight: Vector | None,
    folds: Any,
    values: dict[str, list[Any]],
    scoring: Any,
    n_jobs: int | None,
    verbose: bool | int,
) -> Matrix:
    score = check_scoring(estimator, scoring)
    settings = [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]

    def job(setting: dict[str, Any], train: Any, test: Any, tick: Tick) -> float:
        raise_if_interrupted()
        model = clone(estimator).set_params(**setting)
        weight = {} if sample_weight is None else {"sample_weight": np.asarray(sample_weight)[train]}
        model.fit(*_safe_split(model, X, y, train), **weight)
        value = float(score(model, *_safe_split(model, X, y, test, train)))
        tick(1)
        return value

    with counting("grid", "fits", len(settings) * len(folds), verbose) as tick:
        jobs = [partial(job, setting, train, test, tick) for setting in settings for train, test in folds]
        found = run_apart(jobs, min(thread_count(n_jobs), len(jobs)))
    return np.array(found).reshape(*(len(v) for v in values.values()), len(folds))


def _in_order(values: list[Any]) -> list[Any]:
    """Values as they compare; names by their place."""
    return list(values) if all(isinstance(value, (int, float)) for value in values) else list(range(len(values)))
