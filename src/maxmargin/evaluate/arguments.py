"""What people give to cross-validation, searches and paths, looked at before anything is trained."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import _num_samples

from maxmargin._types import Labels, Rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.fitting.validation import our_errors


def check_estimator(estimator: Any) -> None:
    """Refuse classes, names and whatever cannot be cloned, fitted and asked for predictions."""
    if isinstance(estimator, type):
        name = estimator.__name__
        raise ParameterError(f"{name} is a class; give one of its objects, with its settings, such as {name}().")
    if not all(hasattr(estimator, method) for method in ("fit", "predict", "get_params")):
        raise ParameterError(
            f"{estimator!r} is no estimator with fit, predict and get_params; give one, such as SVC(C=10)."
        )


def check_rows_and_labels(X: Rows, y: Any) -> tuple[Rows, Labels]:
    """Rows of which parts can be taken, and one label or number for each."""
    if y is None:
        raise DataError("y is None; a score needs the labels, or for regression the numbers, of all rows.")
    if sparse.issparse(X) and X.format not in ("csr", "csc"):
        X = X.tocsr()  # of the other layouts no rows can be taken
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise DataError(f"y must have one label or number a row, got y={y!r}.")
    with our_errors():
        n_rows = _num_samples(X)
    if n_rows != len(labels):
        raise DataError(f"X has {n_rows} rows and y has {len(labels)}; there must be one label a row.")
    return X, labels
