"""The folds that `cv=` means, and folds that cannot be used, refused with what to do about them.

A score counts only where no row was trained on and tested on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from sklearn import model_selection

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import DataError, MaxMarginError, ParameterError
from maxmargin.evaluate.sample import Sample
from maxmargin.evaluate.splitters import (
    EachRowOut,
    FiveByTwo,
    Fold,
    Folds,
    Holdout,
    KFold,
    LeaveOneOut,
    TrainValidationTest,
    WithoutTest,
    k_fold,
)

Splitter = TypeVar("Splitter", bound=Holdout | KFold | FiveByTwo | TrainValidationTest)


def folds_of(cv: Any, sample: Sample, groups: Any, *, classifies: bool) -> Folds:
    """The folds that `cv` means."""
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        cv = k_fold(int(cv))
    if isinstance(cv, TrainValidationTest):
        raise ParameterError("a split into three parts is no cv=; give its property without_test, which has two.")
    if isinstance(cv, WithoutTest):
        cv = replace(cv, whole=_for(cv.whole, classifies))
    elif isinstance(cv, (Holdout, KFold, FiveByTwo)):
        cv = _for(cv, classifies)
    elif isinstance(cv, (LeaveOneOut, model_selection.LeaveOneOut)) and groups is None:
        LeaveOneOut().get_n_splits(sample.X)  # refuses a single row
        return EachRowOut(len(sample.y))
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):  # strings can be split, too
        raise ParameterError(f"cv must be a number, a splitter or a list of pairs of rows, got cv={cv!r}.")
    folds = _pairs(cv, sample.X, sample.y, groups)
    if not folds:
        raise ParameterError("cv has no split at all; give at least one pair of training and test rows.")
    return folds


def _pairs(cv: Any, X: Rows, y: Labels, groups: Any) -> list[Fold]:
    """Pairs of training and test rows, from a splitter or as they are given."""
    try:
        given = list(cv.split(X, y, groups) if hasattr(cv, "split") else cv)
    except MaxMarginError:
        raise
    except (TypeError, ValueError) as error:  # of a splitter that is not ours
        raise DataError(
            f"cv={cv!r} does not split these {len(y)} rows: {error} Take fewer folds, or another splitter."
        ) from error
    for pair in given:
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise ParameterError(f"cv must give pairs of training and test rows, got {pair!r} among them.")
    return [(np.asarray(train), np.asarray(test)) for train, test in given]


def _for(splitter: Splitter, classifies: bool) -> Splitter:
    """The splitter with "auto" decided: who knows the estimator need not guess from y."""
    return replace(splitter, stratify=classifies) if splitter.stratify == "auto" else splitter


def check_folds(folds: Folds, weight: Vector | None, n_rows: int) -> Folds:
    """The folds by row numbers, or an error: for rows on both sides, for sides without rows, or whose rows are none."""
    if isinstance(folds, EachRowOut):  # n folds of n - 1 rows each, and none of them empty
        return folds
    checked = []
    for k, (train, test) in enumerate(folds):
        where = f"fold {k + 1} of {len(folds)}"
        train, test = (_row_numbers(rows, n_rows, where) for rows in (train, test))
        for name, rows in (("train", train), ("test", test)):
            if len(rows) == 0:
                raise DataError(f"{where} has no rows to {name} on; leave it out of cv=.")
        is_trained_on = np.zeros(n_rows, dtype=np.bool_)
        is_trained_on[train] = True
        both = test[is_trained_on[test]]
        if len(both):
            raise DataError(
                f"{where} trains and tests on the same rows, {len(both)} of them, such as row {both.tolist()[0]}; a "
                "score on rows that a model was trained on says nothing about new ones. Take them out of one side."
            )
        if weight is not None and len(test) > 1 and not np.any(weight[test]):
            raise DataError(
                f"every test row of {where} has weight zero, and no score is left. Take fewer folds, or leave rows of "
                "weight zero out of the data."
            )
        checked.append((train, test))
    return checked


def _row_numbers(rows: Any, n_rows: int, where: str) -> RowIndex:
    """Numbers of rows, counted from 0, from those or from a mask of truth values."""
    given = np.asarray(rows)
    if given.dtype == np.bool_ and given.shape == (n_rows,):
        return np.flatnonzero(given)
    if given.size == 0:
        return np.zeros(0, dtype=np.int64)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise DataError(
            f"{where} must be a pair of row numbers, or of masks with one truth value for each of the {n_rows} rows; "
            f"got an array of shape {given.shape} and type {given.dtype}."
        )
    strange = given[(given < -n_rows) | (given >= n_rows)]
    if len(strange):
        raise DataError(f"{where} names row {strange.tolist()[0]}; there are {n_rows} rows, counted from 0.")
    return np.asarray(given % n_rows)  # -1 is the last row
