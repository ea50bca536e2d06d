"""Checks of rows, labels, row weights and class weights: scikit-learn's, with our exceptions, and some of our own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any, TypeAlias

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
from maxmargin.problems import is_source

_FEW_CLASSES = 4

Factors: TypeAlias = tuple[tuple[Any, float], ...]
"""Labels, each with its factor on C."""


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


def check_targets(X: Rows, y: Any, sample_weight: Any) -> tuple[Vector, Vector | None]:
    """Numbers and weights of as many rows as X has."""
    numbers = check_numbers(y)
    check_same_length(X, numbers)
    return numbers, check_weights(sample_weight, len(numbers))


def present_classes(
    class_weight: Any, labels: Labels, y: Labels, sample_weight: Vector | None
) -> tuple[Labels, Factors]:
    """The classes that have rows of positive weight, at least two of them, and the factors on C of the labels.

    Weight zero is absence, so a class of which every row has weight zero is as if its rows were not there. Kept, its
    free intercept would run to minus infinity, or the machine that tells it from others would have nothing to go by.
    """
    here = [True if sample_weight is None else bool(np.any(sample_weight[y == label])) for label in labels]
    # A dictionary may name a class that is absent by its weights: that is no mistake.
    factors = _class_factors(class_weight, labels if isinstance(class_weight, dict) else labels[here], y, sample_weight)
    factor = dict(factors)
    here = [some and factor.get(label, 1.0) > 0.0 for some, label in zip(here, labels.tolist(), strict=True)]
    if sum(here) < 2:
        raise DataError(
            f"at least two classes need rows with positive weights; of {labels.tolist()} only {labels[here].tolist()} "
            "have such rows."
        )
    return labels[here], factors


def _class_factors(class_weight: Any, classes: Labels, y: Labels, sample_weight: Vector | None) -> Factors:
    """Factor on C of each label: given by a dictionary, or "balanced" so that every class weighs the same in sum.

    Balanced weights count rows by their sample weight, so that a row of weight 2 is the row twice.
    """
    if class_weight is None:
        return ()
    if isinstance(class_weight, str) and class_weight == "balanced":
        weight = np.ones(len(y)) if sample_weight is None else sample_weight
        mass = [float(np.sum(weight[y == label])) for label in classes]
        return tuple(
            (label.item() if hasattr(label, "item") else label, sum(mass) / (len(classes) * m) if m > 0.0 else 0.0)
            for label, m in zip(classes, mass, strict=True)
        )
    if not isinstance(class_weight, dict):
        raise ParameterError(
            f'class_weight must be None, "balanced" or a dictionary from label to factor, got {class_weight!r}.'
        )
    known = set(classes.tolist())
    for label, factor in class_weight.items():
        if label not in known:
            raise ParameterError(f"class_weight names the label {label!r}; the classes are {sorted(known)}.")
        if not isinstance(factor, Real) or not 0 <= float(factor) < np.inf:
            raise ParameterError(f"class_weight[{label!r}] must be zero or a positive number, got {factor!r}.")
    return tuple((label, float(factor)) for label, factor in class_weight.items())
