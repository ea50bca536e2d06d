"""Class weights, and gamma from the spread of the data."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.data import as_double
from maxmargin.errors import ParameterError

_BLOCK_ROWS = 4096


def class_factors(
    class_weight: Any, classes: Labels, y: Labels, sample_weight: Vector | None
) -> tuple[tuple[Any, float], ...]:
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


def classes_with_weight(
    classes: Labels, y: Labels, sample_weight: Vector | None, factors: tuple[tuple[Any, float], ...]
) -> list[Any]:
    """Labels that have at least one row with a positive weight."""
    factor = dict(factors)
    return [
        label
        for label in classes.tolist()
        if factor.get(label, 1.0) > 0.0 and (sample_weight is None or np.any(sample_weight[y == label]))
    ]


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
