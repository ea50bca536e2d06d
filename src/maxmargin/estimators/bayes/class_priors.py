"""Prior probabilities of classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._types import Vector
from maxmargin.errors import ParameterError


def check_prior(prior: Any, n_classes: int) -> Vector:
    """Prior probabilities that were given, one a class."""
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (n_classes,):
        raise ParameterError(f"Number of priors must match number of classes: {n_classes}, got shape {values.shape}.")
    if not np.all(values >= 0.0):
        raise ParameterError(f"Priors must be non-negative, got {values.tolist()}.")
    if not np.isclose(values.sum(), 1.0):
        raise ParameterError(f"The sum of the priors should be 1, got {values.tolist()}, whose sum is {values.sum()}.")
    return values


def log_of(probabilities: Vector) -> Vector:
    """Logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
