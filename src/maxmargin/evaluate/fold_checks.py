"""Folds that cannot be trained or scored on, refused with what to do about them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from maxmargin._types import Labels, Vector
from maxmargin.errors import DataError
from maxmargin.evaluate.splitters import EachRowOut, Folds


def check_folds(folds: Folds, weight: Vector | None) -> None:
    """Refuse folds without rows, or whose test rows do not count."""
    if isinstance(folds, EachRowOut):  # n folds of n - 1 rows each, and none of them empty
        return
    for k, (train, test) in enumerate(folds):
        for name, rows in (("train", train), ("test", test)):
            if len(rows) == 0:
                raise DataError(f"fold {k + 1} of {len(folds)} has no rows to {name} on; leave it out of cv=.")
        if weight is not None and len(test) > 1 and not np.any(weight[test]):
            raise DataError(
                f"every test row of fold {k + 1} of {len(folds)} has weight zero, and no score is left. Take fewer "
                "folds, or leave rows of weight zero out of the data."
            )


def check_spread(folds: Folds) -> None:
    """Refuse test parts of one row, of which neither R^2 is defined nor a score that counts weights."""
    if any(len(test) < 2 for _, test in folds):
        raise DataError(
            "a fold has a single test row, of which R^2 is not defined and whose weight would not count. Take folds of "
            "more rows, or, without weights, another score, such as scoring='neg_mean_squared_error'."
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
