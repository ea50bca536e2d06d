"""Search over a grid of parameters by cross-validation, with its standard errors, and a rule that prefers the simple.

The score of a setting is a mean over folds, and so uncertain. The best mean is one choice; the one-standard-error rule
takes the simplest setting whose mean is within one standard error of the best: the smallest C, then the smallest gamma.

A small C, gamma, degree or depth makes a simple model; a large alpha does, a large nu, a wide tube, large leaves. The
parameter that weighs the penalty, C or alpha, counts before the others. A step of a pipeline has its name before that
of the parameter: svc__C is C. Values that are not all numbers, such as names of kernels, are simple in the order in
which they are given.

Folds share training rows, so their scores are correlated, and the standard error computed as if they were independent
is a little too small. It is a yardstick, not a test.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from numbers import Real
from typing import Any, Literal

import numpy as np
from sklearn.base import clone, is_classifier

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.evaluate import kernel_search
from maxmargin.evaluate.cross_validation import judged_on_folds
from maxmargin.evaluate.folds import check_folds, folds_of
from maxmargin.evaluate.progress import counting
from maxmargin.evaluate.sample import Sample, check_estimator, clone_with_threads, sample_of
from maxmargin.evaluate.scoring import is_of_all_together, scorer_of, standard_error
from maxmargin.evaluate.splitters import Folds
from maxmargin.evaluate.tables import CORRELATED, ShownAsTable, Table, number

_MOST_LINES = 20  # settings that the table shows
_ROUNDING = 1e-12  # of a mean: the same scores in another order may differ by less

_WEIGHS_THE_PENALTY = ("C", "alpha")
_LARGE_IS_SIMPLE = frozenset(
    {
        "alpha",
        "ccp_alpha",
        "epsilon",
        "min_impurity_decrease",
        "min_samples_leaf",
        "min_samples_split",
        "n_neighbors",
        "nu",
        "var_smoothing",
    }
)


@dataclass(frozen=True)
class Grid(ShownAsTable):
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
    _sample: Sample = field(repr=False)

    @property
    def mean(self) -> Matrix:
        """Mean score over the folds; not a number where a score is none."""
        return np.asarray(self.scores.mean(axis=-1))

    @property
    def standard_error(self) -> Matrix:
        """Standard error of the mean, as if folds were independent; not a number where there is one fold."""
        return standard_error(self.scores)

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
        return self._setting(_simplest(good.tolist(), self.parameters))

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
        return self._sample.train(clone(self._estimator).set_params(**self.choose(rule)))

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
    sample = sample_of(X, y, sample_weight)
    sample = sample if hasattr(sample.X, "shape") else sample._replace(X=np.asarray(sample.X))
    folds = check_folds(folds_of(cv, sample, groups, classifies=is_classifier(estimator)), sample.weight, len(sample.y))
    tests = [test for _, test in folds]
    is_pooled = is_of_all_together(estimator, scoring, sample.weight, tests)
    if is_pooled or (sample.weight is not None and min(map(len, tests)) < 2):
        raise DataError(
            "a fold has a single test row, of which R^2 and such scores are not defined, and whose weight would not "
            "count. Take folds of more rows, or, without weights, a score that is a mean over rows, such as "
            "scoring='accuracy' or 'neg_mean_squared_error'."
        )
    given = clone_with_threads(estimator, n_jobs)
    has_costs = "C" in values and math.inf not in values["C"]  # a hard margin has no place in the box of the others
    if scoring is None and has_costs and kernel_search.suits(given, sample.X, list(values)):
        scores = _by_stored_kernels(given, sample, folds, values, verbose)
    else:
        scores = _by_fits(given, sample, folds, values, scoring, n_jobs, verbose)
    return Grid(values, scores, given, sample)


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
    estimator: Any, sample: Sample, folds: Folds, values: dict[str, list[Any]], verbose: bool | int
) -> Matrix:
    others = _settings({name: given for name, given in values.items() if name != "C"})
    checked = sample._replace(X=clone(estimator)._check_kernel_input(sample.X, reset=True))
    with counting("grid", "folds", len(others) * len(folds), verbose) as tick:
        found = kernel_search.search(estimator, checked, list(folds), values["C"], others, tick)
    shape = [len(given) for name, given in values.items() if name != "C"]
    scores = found.reshape(*shape, len(values["C"]), len(folds))
    return np.moveaxis(scores, len(shape), list(values).index("C"))


def _by_fits(
    estimator: Any,
    sample: Sample,
    folds: Folds,
    values: dict[str, list[Any]],
    scoring: Any,
    n_jobs: int | None,
    verbose: bool | int,
) -> Matrix:
    score = scorer_of(estimator, scoring)

    def judge(trained: Any, part: Sample) -> float:
        return float(score(trained, part.X, part.y, **part.weights))

    models = [clone(estimator).set_params(**setting) for setting in _settings(values)]
    with counting("grid", "fits", len(models) * len(folds), verbose) as tick:
        found = judged_on_folds(models, sample, folds, judge, n_jobs, tick)
    return np.array(found).reshape(*map(len, values.values()), len(folds))


def _settings(values: dict[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(values, chosen, strict=True)) for chosen in product(*values.values())]


def _in_short(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _simplest(places: Sequence[Sequence[int]], parameters: Mapping[str, Sequence[Any]]) -> Sequence[int]:
    """The place in the grid, of those given, whose values are the simplest."""
    ranks = {name: _ranks(_parameter(name), values) for name, values in parameters.items()}
    axes = list(enumerate(parameters))
    axes.sort(key=lambda axis: _parameter(axis[1]) not in _WEIGHS_THE_PENALTY)  # the others stay in their order
    return min(places, key=lambda place: [int(ranks[name][place[axis]]) for axis, name in axes])


def _parameter(name: str) -> str:
    """Name of the parameter without that of the step."""
    return name.rpartition("__")[2]


def _ranks(name: str, values: Sequence[Any]) -> RowIndex:
    """Place of each value among them, from the simplest on."""
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        return np.arange(len(values))
    numbers = np.array([float(value) for value in values])
    return np.unique(-numbers if name in _LARGE_IS_SIMPLE else numbers, return_inverse=True)[1]
