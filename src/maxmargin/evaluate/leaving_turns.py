"""Which rows are left out of the same machine, and what else changes with them.

A machine without a row differs from the one of all rows by that row alone, as long as the weights of classes stay. They
do not where they are balanced: n / (K n_c) counts the row. But all rows of a class, and of a sample weight, change the
counts alike. So there is one turn for each, whose machine of all rows has the class weights that are right without one.

The only row of a class takes its class with it. The pairs that are left decide.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import Labels, RowIndex, Vector
from maxmargin.errors import DataError
from maxmargin.estimators.fitting.weights import Factors, present_classes
from maxmargin.problems import Pair


@dataclass(frozen=True)
class Turn:
    """Rows to leave out, one at a time."""

    rows: RowIndex
    factors: Factors
    """On C, of the labels that have one."""
    gone: Any = None
    """The class that has no other row."""

    def is_without(self, task: Any) -> bool:
        """Whether a pair of classes is none when the row is gone."""
        return self.gone is not None and isinstance(task, Pair) and self.gone in (task.negative, task.positive)


def turns_of(class_weight: Any, y: Labels, weight: Vector | None, classes: Labels) -> list[Turn]:
    """The turns in which rows of `classes`, and others, are left out."""
    is_used = np.isin(y, classes) if weight is None else np.isin(y, classes) & (weight > 0.0)
    counts = {label: int(np.sum(is_used & (y == label))) for label in classes.tolist()}
    alone = {label: int(np.flatnonzero(is_used & (y == label))[0]) for label, n in counts.items() if n == 1}
    if alone and len(classes) == 2:
        raise DataError(
            f"the class {next(iter(alone))!r} has one row; without it there is one class, and nothing to learn. "
            "left_out of two classes needs two rows of each."
        )
    turns = [Turn(np.array([row]), _factors(class_weight, y, weight, row), label) for label, row in alone.items()]
    others = np.setdiff1d(np.arange(len(y)), list(alone.values()))
    if not (isinstance(class_weight, str) and class_weight == "balanced"):
        turns.append(Turn(others, _factors(class_weight, y, weight, None)))
        return turns
    mass = np.ones(len(y)) if weight is None else weight
    for label in np.unique(y[others]).tolist():
        of_class = others[y[others] == label]
        for one in np.unique(mass[of_class]):
            rows = of_class[mass[of_class] == one]
            turns.append(Turn(rows, _factors(class_weight, y, weight, int(rows[0]))))
    return turns


def _factors(class_weight: Any, y: Labels, weight: Vector | None, row: int | None) -> Factors:
    """Factors on C of the classes, without a row."""
    if row is not None:
        y, weight = np.delete(y, row), None if weight is None else np.delete(weight, row)
    known = class_weight
    if isinstance(class_weight, dict):
        here = set(np.unique(y).tolist())
        known = {label: factor for label, factor in class_weight.items() if label in here}
    return present_classes(known, np.unique(y), y, weight)[1]
