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
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import Block
from maxmargin.data.source import blocks
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.running_scores import RunningAccuracy, RunningRSquared, RunningScore, check_comparable
from maxmargin.features.carried import CarriedMap, carried_by
from maxmargin.problems import is_source

Method = TypeVar("Method", bound=Callable[..., Any])


class MeetsSources:
    """Base of machines whose `fit` and `score` may be given a source alone.

    Both are wrapped in every subclass: a fit has its labels in a place of its own and a score is scikit-learn's, so
    that neither could be called without labels.
    """

    _trains_on_sources: ClassVar[bool] = False
    _instead: ClassVar[str] = ""
    """What else there is for somebody who wants to train this machine from a source."""
    feature_map_: CarriedMap | None = None
    """What expanded the rows of the training; see the machines that are trained from sources."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "fit" in vars(cls):
            cls._replace("fit", _fit_of_arrays_or_source)
        theirs = getattr(cls, "score", None)
        if theirs is not None and theirs.__module__ != __name__:
            cls._replace("score", _score_of_arrays_or_source)

    @classmethod
    def _replace(cls, name: str, change: Callable[[Any], Any]) -> None:
        setattr(cls, name, change(getattr(cls, name)))


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


def _fit_of_arrays_or_source(fit: Callable[..., Any]) -> Callable[..., Any]:
    """A fit that answers what is no array before it asks for labels, and keeps the map of a source."""

    @functools.wraps(fit)
    @all_or_nothing
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get("X")
        refuse_path(self, X)
        if is_source(X) and not self._trains_on_sources:
            raise DataTypeError(
                f"{type(self).__name__} is trained on arrays and not from a source. Where all rows fit in memory, "
                f"X, y = source.head(source.n_rows) loads them for fit(X, y). LinearSVC, LinearSVR, LogisticRegression "
                f"and naive Bayes are trained from a source of any size.{self._instead}"
            )
        carried = carried_by(X)
        try:
            return fit(self, *args, **kwargs)
        finally:  # after a fit of arrays within this one, too, and after Ctrl-C, which leaves what there is
            vars(self).pop("feature_map_", None)
            if carried is not None:
                self.feature_map_ = carried

    return wrapped


def _score_of_arrays_or_source(theirs: Callable[..., Any]) -> Callable[..., float]:
    """scikit-learn's score, and the same number from a source."""

    def score(self: Any, X: Rows, y: Labels | None = None, sample_weight: Vector | None = None) -> float:
        """Accuracy of a classifier, R^2 of a regressor, on rows X with labels y.

        Parameters
        ----------
        X
            Dense or CSR rows; or a source alone, which brings its own labels and weights.
        y
            Labels of the rows.
        sample_weight
            Weight of each row.
        """
        if is_source(X):
            if y is not None or sample_weight is not None:
                raise ParameterError("a source brings its own labels and weights; give score nothing but the source.")
            return _score_on_source(self, X)
        if y is None:
            raise DataError("score compares predictions with labels: give score(X, y), or a source that has labels.")
        return float(theirs(self, X, y, sample_weight))

    return score


def _score_on_source(machine: Any, source: Any) -> float:
    check_is_fitted(machine)
    if hasattr(source, "require_labels"):  # rows in memory have labels, files may have none
        source.require_labels()
    check_source_columns(machine, source)
    classifies = is_classifier(machine)
    judge: RunningScore = RunningAccuracy() if classifies else RunningRSquared()
    for block in pass_over(source):
        y = np.asarray(block.y)
        if classifies:
            check_comparable(machine.classes_, y)
        judge.add(machine.predict(block.X), y, block.weight)
    return judge.value
