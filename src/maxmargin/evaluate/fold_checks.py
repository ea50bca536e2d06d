"""Folds and rows that cannot be trained or scored on, refused with what to do about them.

A score counts only where no row was trained on and tested on. And what is wrong with a row is said with its number in
the data that were given, not with that within a fold, which nobody has seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.estimators.fitting.validation import check_finite
from maxmargin.evaluate.splitters import EachRowOut, Folds

_NOT_FINITE = re.compile(r"\b(nan|infinity|inf|finite|non-finite)\b", re.IGNORECASE)


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
        _check_apart(train, test, n_rows, where)
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
    if given.min() < -n_rows or given.max() >= n_rows:
        strange = given[(given < -n_rows) | (given >= n_rows)].tolist()[0]
        raise DataError(f"{where} names row {strange}; there are {n_rows} rows, counted from 0.")
    return np.asarray(given % n_rows)  # -1 is the last row


def _check_apart(train: RowIndex, test: RowIndex, n_rows: int, where: str) -> None:
    is_trained_on = np.zeros(n_rows, dtype=np.bool_)
    is_trained_on[train] = True
    both = test[is_trained_on[test]]
    if len(both):
        raise DataError(
            f"{where} trains and tests on the same rows, {len(both)} of them, such as row {both.tolist()[0]}; a score "
            "on rows that a model was trained on says nothing about new ones. Take them out of one side."
        )


def check_spread(folds: Folds) -> None:
    """Refuse test parts of one row, of which neither R^2 is defined nor other scores that are no means over rows."""
    if any(len(test) < 2 for _, test in folds):
        raise DataError(
            "a fold has a single test row, of which R^2 and such scores are not defined, and whose weight would not "
            "count. Take folds of more rows, or, without weights, a score that is a mean over rows, such as "
            "scoring='accuracy' or 'neg_mean_squared_error'."
        )


@contextmanager
def training_on(y: Labels, k: int, n_folds: int) -> Iterator[None]:
    """Around a fit on the labels of fold k: where it is refused because they are all the same, say what to do."""
    try:
        yield
    except ValueError as error:
        classes = np.unique(y)
        if len(classes) != 1:
            raise
        raise DataError(
            f"fold {k + 1} of {n_folds} trains on rows of the class {classes.tolist()[0]!r} alone: {error} Stratify "
            "the folds (k_fold and holdout do, for classifiers), take fewer, or see that no group holds a class whole."
        ) from error


@contextmanager
def naming_rows_of(X: Rows) -> Iterator[None]:
    """Around work on parts of X: NaN that is refused in a part is reported with its row and column in X.

    It is not looked for before: trees and imputers take NaN.
    """
    try:
        yield
    except ValueError as error:
        if _NOT_FINITE.search(str(error)):
            _check_all_finite(X, error)
        raise


def _check_all_finite(X: Rows, cause: ValueError) -> None:
    """Refuse rows of numbers that are not all finite; of other kinds of rows nothing is said."""
    try:
        rows = X.tocsr() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):  # words among the numbers
        return
    if rows.ndim != 2:
        return
    try:
        check_finite(rows, getattr(X, "columns", None))
    except DataError as error:
        raise error from cause
