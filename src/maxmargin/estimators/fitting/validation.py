"""Checks of rows, labels and weights: scikit-learn's, with our exceptions, and a few of our own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _num_samples, validate_data

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import as_rows
from maxmargin.data.arrays import first_not_finite
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.estimators.fitting.sources import refuse_path, refuse_source

_FEW_CLASSES = 4


@contextmanager
def our_errors() -> Iterator[None]:
    """Errors that scikit-learn raises about data become ours, which are ValueError or TypeError all the same."""
    try:
        yield
    except (DataError, ParameterError):
        raise
    except TypeError as error:
        raise DataTypeError(str(error)) from error
    except ValueError as error:  # scikit-learn has no narrower kind for bad data
        raise DataError(str(error)) from error


def check_rows(estimator: BaseEstimator, X: Rows, *, on: str, reset: bool, count_columns: bool = True) -> Rows:
    """Rows as a solver takes them: float32 or float64, dense or CSR, finite; or an array of strings.

    `on` is what the kernel works on: "vectors", "strings", "matrix" (precomputed) or "anything". At prediction the
    number of columns must be that of the training rows, unless `count_columns` is False.
    """
    if reset:
        refuse_source(estimator, X)
    if on == "strings" or (on == "anything" and _is_strings(X)):
        return _check_strings(X)
    refuse_path(estimator, X)
    with our_errors():
        kinds: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "ensure_all_finite": False}
        if count_columns and _is_ready(estimator, X, reset):
            rows = X
            estimator.n_features_in_ = X.shape[1]
        else:
            rows = validate_data(estimator, X, reset=reset, **kinds) if count_columns else check_array(X, **kinds)
        check_finite(rows, getattr(X, "columns", None))
        return as_rows(rows) if count_columns else rows  # loops count on sparse columns that are sorted and unique


def _is_ready(estimator: BaseEstimator, X: Rows, reset: bool) -> bool:
    """Whether scikit-learn's checks would find nothing to do or to say about X; they take longer than a small fit."""
    if type(X) not in (np.ndarray, sparse.csr_matrix, sparse.csr_array) or X.ndim != 2 or 0 in X.shape:
        return False
    if X.dtype not in (np.float64, np.float32) or hasattr(estimator, "feature_names_in_"):
        return False
    return reset or getattr(estimator, "n_features_in_", None) == X.shape[1]


def check_finite(X: Rows, names: Any = None) -> None:
    """Refuse NaN and infinity in rows of numbers, with the place of the first and how many there are.

    `names` are those of the columns, where they have any.
    """
    bad = first_not_finite(X)
    if bad is None:
        return
    name = "" if names is None else f" ({str(names[bad.column])!r})"
    others = "the only such entry" if bad.n_such == 1 else f"the first of {bad.n_such} such entries"
    raise DataError(
        f"Input X contains NaN or infinity: row {bad.row}, column {bad.column}{name} is {bad.value}, {others}; rows "
        "and columns are counted from 0. Fill or drop such rows."
    )


def _is_strings(X: Rows) -> bool:
    if sparse.issparse(X) or getattr(X, "ndim", 1) != 1 or not hasattr(X, "__len__") or len(X) == 0:
        return False
    return isinstance(X[0] if not hasattr(X, "iloc") else X.iloc[0], str)


def _check_strings(X: Rows) -> Rows:
    words = np.asarray(X, dtype=object)
    if words.ndim != 1:
        raise DataError(f"a kernel on strings takes a list of strings, got an array of shape {words.shape}.")
    if len(words) == 0:
        raise DataError("found 0 strings; at least one is needed.")
    for position, word in enumerate(words):
        if not isinstance(word, str):
            raise DataTypeError(
                f"a kernel on strings takes a list of strings; item {position} is {word!r}, a {type(word).__name__}."
            )
    return words


def check_same_length(X: Rows, y: Labels) -> None:
    """Refuse X and y of different lengths."""
    if _num_samples(X) != len(y):
        raise DataError(f"X has {_num_samples(X)} rows and y has {len(y)}; inconsistent numbers of samples.")


def check_labels(given: Any) -> tuple[Labels, Labels]:
    """Class labels as a one-dimensional array, and the classes in order, at least two of them."""
    with our_errors():
        y = given if type(given) is np.ndarray and given.ndim == 1 else _column(given)
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise DataError("Input y contains NaN or infinity; labels must be known.")
        are_whole = y.dtype.kind in "iub" or (y.dtype.kind == "f" and np.array_equal(y, np.rint(y)))
        if not are_whole:
            check_classification_targets(y)
    classes = _distinct(y)
    if len(classes) < 2:
        raise DataError(f"a classifier needs rows of at least two classes; y has one class only: {classes.tolist()}.")
    return y, classes


def _distinct(y: Labels) -> Labels:
    """The different labels in order: a scan for each of the first few is faster than a sort of all."""
    found: list[Any] = []
    rest = y
    while len(rest) and len(found) < _FEW_CLASSES and y.dtype.kind in "iufb":
        found.append(rest[0])
        rest = rest[rest != rest[0]]
    return np.unique(np.concatenate([np.array(found, dtype=y.dtype), rest]))


def check_known_labels(y: Labels, classes: Labels) -> Labels:
    """Labels that the model knows."""
    y = np.asarray(y)
    unknown = np.setdiff1d(y, classes)
    if len(unknown):
        raise DataError(f"y holds the label {unknown.tolist()[0]!r}; the model knows {classes.tolist()}.")
    return y


def check_numbers(given: Any) -> Vector:
    """Regression targets as finite doubles."""
    with our_errors():
        y = _column(given)
        if y.dtype.kind == "c":
            raise DataError("Complex data not supported: y holds complex numbers.")
        numbers: Vector = y.astype(np.float64, copy=False)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise DataError(f"Input y contains NaN or infinity: y[{bad[0]}] is {numbers[bad[0]]}.")
    return numbers


def _column(y: Any) -> Labels:
    if y is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    return np.asarray(column_or_1d(y, warn=True))


def check_weights(sample_weight: Any, n_rows: int) -> Vector | None:
    """Row weights as finite doubles that are not negative; None where there are none."""
    if sample_weight is None:
        return None
    with our_errors():
        weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.ndim == 0:
        weight = np.full(n_rows, float(weight))
    if weight.shape != (n_rows,):
        raise DataError(f"Sample weights must be 1D array or scalar of {n_rows} rows, got shape {weight.shape}.")
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))
    if len(bad):
        raise DataError(f"sample_weight must be zero or positive; sample_weight[{bad[0]}] is {weight[bad[0]]}.")
    if not np.any(weight):
        raise DataError("every sample_weight is zero; at least one row must count.")
    return weight
