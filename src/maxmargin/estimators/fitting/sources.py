"""What a machine does with a source in the place of arrays.

Predictions and scores are made block by block, so that nothing has to fit into memory but one block and the answer. A
machine that must hold all rows to be trained refuses a source, and says what to do with it. A path is no source yet.

Scores are summed up while the blocks go by:

    accuracy    sum_i c_i [p_i = y_i] / sum_i c_i                                   c_i the weight of row i
    R^2         1 - sum_i c_i (p_i - y_i)^2 / sum_i c_i (y_i - m)^2                 m the weighted mean of y

The mean is known only at the end. So the sum of squares around the mean of the rows so far is kept, and moved to the
new mean with every block: nothing large is subtracted from something large.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import Block
from maxmargin.data.source import blocks
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.features.carried import CarriedMap
from maxmargin.problems import is_source

Method = TypeVar("Method", bound=Callable[..., Any])
_NUMBERS = "fiub"


class AcceptsSources:
    """Base of machines that may be given a source."""

    _trains_on_sources: ClassVar[bool] = False
    _instead: ClassVar[str] = ""
    """What else there is for somebody who wants to train this machine from a source."""
    feature_map_: CarriedMap | None = None
    """What expanded the rows of the training; see the machines that are trained from sources."""


class Classifier(ClassifierMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """Scikit-learn's mixin; a source may be scored as well."""

    def score(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> float:
        """Accuracy on rows X with labels y, or on a source alone, which brings its own labels and weights."""
        if is_source(X):
            return _score_on_source(self, X, RunningAccuracy(), y, sample_weight)
        return float(super().score(X, _given(y), sample_weight))


class Regressor(RegressorMixin):  # type: ignore[misc]  # scikit-learn is untyped
    """Scikit-learn's mixin; a source may be scored as well."""

    def score(self, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> float:
        """R^2 on rows X with targets y, or on a source alone, which brings its own targets and weights."""
        if is_source(X):
            return _score_on_source(self, X, RunningRSquared(), y, sample_weight)
        return float(super().score(X, _given(y), sample_weight))


def block_by_block(method: Method) -> Method:
    """A method from rows to one answer a row, which takes a source as well and goes over it once."""

    @functools.wraps(method)
    def wrapped(self: Any, X: Rows, *args: Any, **kwargs: Any) -> Any:
        if not is_source(X):
            return method(self, X, *args, **kwargs)
        check_is_fitted(self)
        check_source_columns(self, X)
        answers: Any = None
        for block in pass_over(X):
            found = method(self, block.X, *args, **kwargs)
            if answers is None:
                answers = np.empty((X.n_rows, *found.shape[1:]), dtype=found.dtype)
            answers[block.span] = found
        return answers

    return cast(Method, wrapped)


def pass_over(source: Any) -> Iterator[Block]:
    """The blocks in order, each valid until the next; through the same memory where the source can do that."""
    return source.scan() if hasattr(source, "scan") else blocks(source)


def check_source_columns(machine: Any, source: Any) -> None:
    """Refuse a source whose rows are not those of the model, before they are read."""
    known, found = machine.n_features_in_, source.n_features
    if known == found or machine.__sklearn_tags__().input_tags.pairwise:
        return
    if machine.feature_map_ is not None:
        hint = " Its rows were expanded while they were read: give it source.map(model.feature_map_)."
    else:
        end = f" LIBSVM text ends at its last column that is not zero: open it with n_features={known}."
        hint = f"{end if found < known else ''} Where it was trained on source.map(feature_map), give it the same map."
    name = type(machine).__name__
    raise DataError(f"the source has {found:,} columns, but the {name} was trained on {known:,}.{hint}")


def _given(y: Labels | None) -> Labels:
    if y is None:
        raise DataError("score compares predictions with labels: give score(X, y), or a source that has labels.")
    return y


def _score_on_source(machine: Any, source: Any, judge: RunningScore, y: Any, sample_weight: Any) -> float:
    if y is not None or sample_weight is not None:
        raise ParameterError("a source brings its own labels and weights; give score nothing but the source.")
    check_is_fitted(machine)
    if hasattr(source, "require_labels"):  # rows in memory have labels, files may have none
        source.require_labels()
    check_source_columns(machine, source)
    for block in pass_over(source):
        labels = np.asarray(block.y)
        if isinstance(judge, RunningAccuracy):
            check_comparable(machine.classes_, labels)
        judge.add(machine.predict(block.X), labels, block.weight)
    return judge.value


class RunningScore(Protocol):
    """A score of all rows that were added."""

    name: str

    def add(self, found: Labels, y: Labels, weight: Vector) -> None:
        """Some more rows: predictions, labels and weights."""

    @property
    def value(self) -> float:
        """The score; NaN where no row counts."""


class RunningAccuracy:
    """Share of the rows whose label was predicted."""

    name = "accuracy"

    def __init__(self) -> None:
        self._right, self._mass = 0.0, 0.0

    def add(self, found: Labels, y: Labels, weight: Vector) -> None:
        """Some more rows; a label of another kind than the predictions is never right."""
        self._mass += float(np.sum(weight))
        if (found.dtype.kind in _NUMBERS) == (y.dtype.kind in _NUMBERS):
            self._right += float(np.sum(weight[found == y]))

    @property
    def value(self) -> float:
        """Weight of the right ones among all."""
        return self._right / self._mass if self._mass > 0.0 else math.nan

    @property
    def is_zero(self) -> bool:
        """Whether rows were added, and not one was right."""
        return self._mass > 0.0 and self._right == 0.0


class RunningRSquared:
    """1 less the squared errors of the predictions among those of the mean."""

    name = "r2"

    def __init__(self) -> None:
        self._mass, self._mean, self._spread, self._errors = 0.0, 0.0, 0.0, 0.0

    def add(self, found: Labels, y: Labels, weight: Vector) -> None:
        """Some more rows, whose labels must be numbers."""
        if y.dtype.kind not in _NUMBERS:
            raise DataTypeError(f"the labels are words, such as {str(y[0])!r}, but the model predicts numbers.")
        target = y.astype(np.float64)
        self._errors += float(weight @ np.square(found - target))
        mass = float(np.sum(weight))
        if mass == 0.0:
            return
        mean = float(weight @ target) / mass
        between = self._mass * mass / (self._mass + mass)
        self._spread += float(weight @ np.square(target - mean)) + between * (mean - self._mean) ** 2
        self._mass += mass
        self._mean += (mean - self._mean) * mass / self._mass

    @property
    def value(self) -> float:
        """R^2; where all labels are equal it is 1 for predictions without an error, else 0, as in scikit-learn."""
        if self._mass == 0.0:
            return math.nan
        if self._spread == 0.0:
            return 1.0 if self._errors == 0.0 else 0.0
        return 1.0 - self._errors / self._spread


def check_comparable(classes: Labels, y: Labels) -> None:
    """Refuse labels that no prediction can equal: words where the model knows numbers, or the other way round."""
    if len(y) and (classes.dtype.kind in _NUMBERS) != (y.dtype.kind in _NUMBERS):
        raise DataError(
            f"the labels of the source are such as {y.tolist()[0]!r}, but the model knows {classes.tolist()[:5]}. Open "
            "the source with the labels that the model was trained on."
        )
