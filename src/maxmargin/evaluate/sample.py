"""What an evaluation is about: an estimator, and a sample of rows with labels and weights, of which folds are parts.

What is wrong with a row is said with its number in the data that were given, not with that within a fold, which nobody
has seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.validation import check_finite, check_weights, our_errors

_NOT_FINITE = re.compile(r"\b(nan|infinity|inf|finite|non-finite)\b", re.IGNORECASE)


class Sample(NamedTuple):
    """Rows with their labels or numbers, and their weights where they have any."""

    X: Rows
    y: Labels
    weight: Vector | None

    def part(self, model: Any, rows: RowIndex, trained_on: RowIndex | None = None) -> Sample:
        """Some rows as a model takes them: of a kernel matrix also the columns, of the rows that it is trained on."""
        X, y = _safe_split(model, self.X, self.y, rows, trained_on)
        return Sample(X, y, None if self.weight is None else self.weight[rows])

    @property
    def weights(self) -> dict[str, Vector]:
        """The weights as an argument of a fit or of a score, where there are any."""
        return {} if self.weight is None else {"sample_weight": self.weight}

    def train(self, model: Any) -> Any:
        """Fit a model to all rows."""
        return model.fit(self.X, self.y, **self.weights)

    @contextmanager
    def naming_rows(self) -> Iterator[None]:
        """Around work on parts: NaN that is refused in a part is reported with its row and column in the whole.

        It is not looked for before: trees and imputers take NaN.
        """
        try:
            yield
        except ValueError as error:
            if _NOT_FINITE.search(str(error)):
                _check_all_finite(self.X, error)
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


def clone_with_threads(estimator: Any, n_jobs: int | None) -> Any:
    """A clone that is fitted with so many threads, where it has a say in them."""
    model = clone(estimator)
    if n_jobs is not None and "n_jobs" in model.get_params(deep=False):
        model.set_params(n_jobs=n_jobs)
    return model


def check_estimator(estimator: Any) -> None:
    """Refuse classes, names and whatever cannot be cloned, fitted and asked for predictions."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise ParameterError(f"{name} is a class; give one of its objects, with its settings, such as {name}().")
    if not all(hasattr(estimator, method) for method in ("fit", "predict", "get_params")):
        raise ParameterError(
            f"{estimator!r} is no estimator with fit, predict and get_params; give one, such as SVC(C=10)."
        )


def sample_of(X: Rows, y: Any, sample_weight: Any) -> Sample:
    """What a person gives, checked."""
    X, y = check_rows_and_labels(X, y)
    return Sample(X, y, check_weights(sample_weight, len(y)))


def check_rows_and_labels(X: Rows, y: Any) -> tuple[Rows, Labels]:
    """Rows of which parts can be taken, and one label or number for each."""
    if y is None:
        raise DataError("y is None; a score needs the labels, or for regression the numbers, of all rows.")
    return check_pairs(X, y, "label or number")


def check_pairs(X: Rows, y: Any, what: str) -> tuple[Rows, Labels]:
    """The same, `what` being the word for an entry of y."""
    if sparse.issparse(X) and X.format not in ("csr", "csc"):
        X = X.tocsr()  # of the other layouts no rows can be taken
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise DataError(f"y must have one {what} a row, got y={y!r}.")
    with our_errors():
        n_rows = _num_samples(X)
    if n_rows != len(labels):
        raise DataError(f"X has {n_rows} rows and y has {len(labels)}; there must be one label a row.")
    return X, labels
