"""Class weights, and gamma from the spread of the data."""

from __future__ import annotations

from numbers import Real
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import as_double
from maxmargin.errors import DataError, ParameterError

_BLOCK_ROWS = 4096


Factors: TypeAlias = tuple[tuple[Any, float], ...]
"""Labels, each with its factor on C."""


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


def kernel_width(gamma: Any, X: Rows, sample_weight: Vector | None) -> float:
    """Gamma of a kernel: a number, "scale" for 1 / (d var(X)), "auto" for 1 / d.

    The variance of "scale" is weighted, so that a row of weight 2 is the row twice.
    """
    if isinstance(gamma, str):
        if getattr(X, "ndim", 1) != 2 or gamma not in ("scale", "auto"):
            raise ParameterError(f"gamma must be 'scale', 'auto' or a number, got gamma={gamma!r}.")
        if gamma == "auto":
            return 1.0 / int(X.shape[1])
        spread = _variance(X, sample_weight)
        return 1.0 / (int(X.shape[1]) * spread) if spread > 0.0 else 1.0
    if not isinstance(gamma, Real) or isinstance(gamma, bool) or not 0 <= float(gamma) < np.inf:
        raise ParameterError(f"gamma must be 'scale', 'auto' or a number that is not negative, got gamma={gamma!r}.")
    return float(gamma)


def _variance(X: Rows, sample_weight: Vector | None) -> float:
    """Variance over all entries of X in double precision, block by block: X is never copied whole."""
    n, d = X.shape
    weight = np.ones(n) if sample_weight is None else sample_weight
    mass = float(np.sum(weight)) * d
    blocks = [slice(start, start + _BLOCK_ROWS) for start in range(0, n, _BLOCK_ROWS)]
    mean = sum(float(weight[b] @ np.asarray(as_double(X[b]).sum(axis=1)).ravel()) for b in blocks) / mass
    square = 0.0
    for b in blocks:
        part = as_double(X[b])
        if sparse.issparse(part):  # entries that are not stored are zero
            stored = part.copy()
            stored.data = np.square(stored.data - mean) - mean**2
            square += float(weight[b] @ (np.asarray(stored.sum(axis=1)).ravel() + d * mean**2))
        else:
            square += float(weight[b] @ np.square(part - mean).sum(axis=1))
    return float(square / mass)
