"""What the loops of decision trees pass to each other.

Every column is coded: `codes[j, i]` is the rank of x_ij among the distinct values of column j, and the number of these,
`sizes[j]`, stands for a missing value. Splits of ranks are splits of values, so nothing is lost, whatever the numbers.
The value behind a rank is `values[offsets[j] + rank]`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import loop

GINI, ENTROPY, SQUARED_ERROR = 0, 1, 2

LEAF = -1
"""In place of the child of a node that has none."""
ANY_CUT = -1
"""In place of the code after which the only allowed split lies: every split is allowed."""

ROW_BITS = np.uint64(32)
ROW_MASK = np.uint64(0xFFFFFFFF)
"""A key is a code and a row in one number, `code << ROW_BITS | row`: sorting the keys sorts the codes."""


class Columns(NamedTuple):
    """Coded columns, and the values that the codes stand for."""

    codes: Any
    sizes: Any
    values: Any
    offsets: Any


class Targets(NamedTuple):
    """Labels from 0 to n_classes - 1, or numbers where `n_classes` is 0; no weights at all mean weights of one."""

    labels: Any
    numbers: Any
    weights: Any
    n_classes: int
    whole: bool
    """Whether all weights are whole numbers so small that sums of their squares are exact."""


class Rules(NamedTuple):
    """What is a good split, and what is an allowed one."""

    criterion: int
    max_depth: int
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    least_gain: float
    """Least decrease of the summed impurity."""
    max_features: int
    random: bool
    """One threshold a column, drawn between its least and its largest value, in place of the best one."""


class NodeFacts(NamedTuple):
    """What a sweep must know of the node whose rows it divides."""

    targets: Targets
    totals: Any
    """Classes: the weight of each, then of all. Numbers: the mean, then the weight of all."""
    rules: Rules
    seed: Any


class Nodes(NamedTuple):
    """Nodes in the order in which a walk meets them, parents before children and left before right.

    Node t has rows `start[t]` to `stop[t] - 1` of the rows in their final order; a leaf has `left[t]` = LEAF.
    """

    left: Any
    right: Any
    feature: Any
    threshold: Any
    missing_left: Any
    start: Any
    stop: Any
    gain: Any


SCORE, COLUMN, LOW, THRESHOLD, MISSING_LEFT, ROWS_LEFT, N_FIELDS = range(7)
"""Places of the numbers that describe the best split so far; LOW is the largest code on the left."""


@loop
def no_candidate(best: Any) -> None:
    """Forget the best split: every split is better than this one."""
    best[:] = 0.0
    best[SCORE] = -np.inf
    best[COLUMN] = np.inf


@loop
def offer(best: Any, score: float, column: int, low: Any, missing_left: bool, rows_left: int) -> None:
    """Take the split if it scores more, or as much in an earlier column."""
    if score > best[SCORE] or (score == best[SCORE] and column < best[COLUMN]):
        best[SCORE], best[COLUMN], best[LOW] = score, column, low
        best[MISSING_LEFT], best[ROWS_LEFT] = 1.0 if missing_left else 0.0, rows_left


@loop
def mixed(seed: Any, step: Any) -> Any:
    """A number drawn from a seed and a step: the same on every machine and in every thread (splitmix64)."""
    z = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * (np.uint64(step) + np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
