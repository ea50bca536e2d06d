"""What a machine does with a source in the place of arrays.

Predictions and scores are made block by block, so that nothing has to fit into memory but one block and the answer. A
machine that must hold all rows to be trained refuses a source, and says what to do with it. A path is no source yet.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import Block
from maxmargin.data.source import blocks
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.estimators.fitting.running_scores import (
    RunningAccuracy,
    RunningRSquared,
    RunningScore,
    check_comparable,
)
from maxmargin.features.carried import CarriedMap
from maxmargin.problems import is_source

Method = TypeVar("Method", bound=Callable[..., Any])


class AcceptsSources:
    """Base of machines that may be given a source."""

    _trains_on_sources: ClassVar[bool] = False
    _instead: ClassVar[str] = ""
    """What else there is for somebody who wants to train this machine from a source."""
    feature_map_: CarriedMap | None = None
    """What expanded the rows of the training; see the machines that are trained from sources."""

    def _carry(self, carried: CarriedMap | None) -> None:
        """Keep what expanded the rows of this fit, and forget that of an earlier one."""
        vars(self).pop("feature_map_", None)
        if carried is not None:
            self.feature_map_ = carried


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


def refuse_path(estimator: Any, X: Any) -> None:
    """Say what to do with a path in the place of rows."""
    if not isinstance(X, (str, os.PathLike)):
        return
    name, kind = os.fspath(X), type(estimator).__name__
    if getattr(estimator, "_trains_on_sources", False):
        raise DataTypeError(
            f"{kind} takes arrays or a source, got the path {name!r}. Open it: maxmargin.open({name!r}) is a source."
        )
    raise DataTypeError(
        f"{kind} takes arrays, got the path {name!r}. Open it with source = maxmargin.open({name!r}); then "
        "X, y = source.head(source.n_rows) has all its rows."
    )


def refuse_source(estimator: Any, X: Any) -> None:
    """Say what to do with a source where a machine is trained on arrays."""
    if is_source(X) and not getattr(estimator, "_trains_on_sources", False):
        raise DataTypeError(
            f"{type(estimator).__name__} is trained on arrays and not from a source. Where all rows fit in memory, "
            "X, y = source.head(source.n_rows) loads them for fit(X, y). LinearSVC, LinearSVR, LogisticRegression "
            f"and naive Bayes are trained from a source of any size.{getattr(estimator, '_instead', '')}"
        )


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
