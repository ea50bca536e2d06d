"""Which value of a parameter makes the simpler model, for the one-standard-error rule.

A small C, gamma, degree or depth makes a simple model; a large alpha does, a large nu, a wide tube, large leaves. The
parameter that weighs the penalty, C or alpha, counts before the others. A step of a pipeline has its name before that
of the parameter: svc__C is C.

Values that are not all numbers, such as names of kernels, are simple in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

from maxmargin._types import RowIndex

_WEIGHS_THE_PENALTY = ("C", "alpha")
_LARGE_IS_SIMPLE = frozenset(
    {
        "alpha",
        "ccp_alpha",
        "epsilon",
        "min_impurity_decrease",
        "min_samples_leaf",
        "min_samples_split",
        "n_neighbors",
        "nu",
        "var_smoothing",
    }
)


def simplest(places: Sequence[Sequence[int]], parameters: Mapping[str, Sequence[Any]]) -> Sequence[int]:
    """The place in the grid, of those given, whose values are the simplest."""
    ranks = {name: _ranks(_parameter(name), values) for name, values in parameters.items()}
    axes = list(enumerate(parameters))
    axes.sort(key=lambda axis: _parameter(axis[1]) not in _WEIGHS_THE_PENALTY)  # the others stay in their order
    return min(places, key=lambda place: [int(ranks[name][place[axis]]) for axis, name in axes])


def _parameter(name: str) -> str:
    """Name of the parameter without that of the step."""
    return name.rpartition("__")[2]


def _ranks(name: str, values: Sequence[Any]) -> RowIndex:
    """Place of each value among them, from the simplest on."""
    if not all(isinstance(value, Real) and not isinstance(value, bool) for value in values):
        return np.arange(len(values))
    numbers = np.array([float(value) for value in values])
    return np.unique(-numbers if name in _LARGE_IS_SIMPLE else numbers, return_inverse=True)[1]
