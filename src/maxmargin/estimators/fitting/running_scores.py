"""How well predictions agree with the labels, summed up while blocks of rows go by.

    accuracy    sum_i c_i [p_i = y_i] / sum_i c_i                                   c_i the weight of row i
    R^2         1 - sum_i c_i (p_i - y_i)^2 / sum_i c_i (y_i - m)^2                 m the weighted mean of y

The mean is known only at the end. So the sum of squares around the mean of the rows so far is kept, and moved to the
new mean with every block: nothing large is subtracted from something large.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from maxmargin._types import Labels, Vector
from maxmargin.errors import DataError, DataTypeError

_NUMBERS = "fiub"


class RunningScore(Protocol):
    """A score of all rows that were added."""

    name: str

    def add(self, found: Labels, y: Labels, weight: Vector) -> None:
        """Some more rows: predictions, labels and weights."""

    @property
    def value(self) -> float:
        """The score; NaN where no row counts."""


class RunningAccuracy:
    """Share of the rows whose label was predicted."""

    name = "accuracy"

    def __init__(self) -> None:
        self._right, self._mass = 0.0, 0.0

    def add(self, found: Labels, y: Labels, weight: Vector) -> None:
        """Some more rows; a label of another kind than the predictions is never right."""
        self._mass += float(np.sum(weight))
        if (found.dtype.kind in _NUMBERS) == (y.dtype.kind in _NUMBERS):
            self._right += float(np.sum(weight[found == y]))

    @property
    def value(self) -> float:
        """Weight of the right ones among all."""
        return self._right / self._mass if self._mass > 0.0 else math.nan

    @property
    def is_zero(self) -> bool:
        """Whether rows were added, and not one was right."""
        return self._mass > 0.0 and self._right == 0.0


class RunningRSquared:
    """1 less the squared errors of the predictions among those of the mean."""

    name = "r2"

    def __init__(self) -> None:
        self._mass, self._mean, self._spread, self._errors = 0.0, 0.0, 0.0, 0.0

    def add(self, found: Labels, y: Labels, weight: Vector) -> None:
        """Some more rows, whose labels must be numbers."""
        if y.dtype.kind not in _NUMBERS:
            raise DataTypeError(f"the labels are words, such as {str(y[0])!r}, but the model predicts numbers.")
        target = y.astype(np.float64)
        self._errors += float(weight @ np.square(found - target))
        mass = float(np.sum(weight))
        if mass == 0.0:
            return
        mean = float(weight @ target) / mass
        between = self._mass * mass / (self._mass + mass)
        self._spread += float(weight @ np.square(target - mean)) + between * (mean - self._mean) ** 2
        self._mass += mass
        self._mean += (mean - self._mean) * mass / self._mass

    @property
    def value(self) -> float:
        """R^2; where all labels are equal it is 1 for predictions without an error, else 0, as in scikit-learn."""
        if self._mass == 0.0:
            return math.nan
        if self._spread == 0.0:
            return 1.0 if self._errors == 0.0 else 0.0
        return 1.0 - self._errors / self._spread


def check_comparable(classes: Labels, y: Labels) -> None:
    """Refuse labels that no prediction can equal: words where the model knows numbers, or the other way round."""
    if len(y) and (classes.dtype.kind in _NUMBERS) != (y.dtype.kind in _NUMBERS):
        raise DataError(
            f"the labels of the source are such as {y.tolist()[0]!r}, but the model knows {classes.tolist()[:5]}. Open "
            "the source with the labels that the model was trained on."
        )
