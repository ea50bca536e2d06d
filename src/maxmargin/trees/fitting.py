"""From rows and targets to a tree: code the columns, grow, measure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.trees.blocks import Nodes
from maxmargin._loops.trees.measures import measure_classes, measure_numbers
from maxmargin._loops.trees.records import ENTROPY, GINI, SQUARED_ERROR, Rules, Targets
from maxmargin._types import Rows, Vector
from maxmargin.trees.codes import coded_columns
from maxmargin.trees.growth import TreeGrowth
from maxmargin.trees.tree import LEAF, UNDEFINED, Tree

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY, "squared_error": SQUARED_ERROR}
_EXACT = 2.0**53
"""Whole numbers up to here are doubles."""


@dataclass(frozen=True)
class GrowthSettings:
    """How far a tree grows; numbers of rows and columns, and weights, are those of the data at hand."""

    criterion: str
    random: bool
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    min_weight_leaf: float
    max_features: int
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    seed: int
    n_jobs: int | None


def class_targets(labels: NDArray[np.int32], n_classes: int, weights: Vector | None) -> Targets:
    """Targets from labels 0 to n_classes - 1."""
    kept, whole = _kept_weights(weights, len(labels))
    return Targets(labels, np.empty(0), kept, n_classes, whole)


def number_targets(numbers: Vector, weights: Vector | None) -> Targets:
    """Targets from numbers."""
    kept, whole = _kept_weights(weights, len(numbers))
    return Targets(np.empty(0, dtype=np.int32), np.ascontiguousarray(numbers), kept, 0, whole)


def _kept_weights(weights: Vector | None, n_rows: int) -> tuple[Vector, bool]:
    """Weights, none where all are one; and whether sums of squares of sums of them are exact."""
    if weights is None or np.all(weights == 1.0):
        return np.empty(0), float(n_rows) ** 2 < _EXACT
    whole = bool(np.all(weights == np.rint(weights))) and float(np.sum(weights)) ** 2 < _EXACT
    return np.ascontiguousarray(weights), whole


def fit_tree(X: Rows, targets: Targets, settings: GrowthSettings) -> Tree:
    """Grow the tree of rows X; a row of weight 0 is absent."""
    n = X.shape[0]
    weighted = len(targets.weights) > 0
    rows = np.flatnonzero(targets.weights).astype(np.uint32) if weighted else np.arange(n, dtype=np.uint32)
    weight = float(np.sum(targets.weights)) if weighted else float(n)
    scale = _scale(targets)
    scaled = targets._replace(numbers=targets.numbers * scale)
    rules = _rules(settings, weight * scale * scale)
    growth = TreeGrowth(coded_columns(X, settings.n_jobs), rows, scaled, rules, settings.n_jobs)
    if settings.max_leaf_nodes is None:
        nodes = growth.depth_first(settings.seed)
    else:
        nodes = growth.best_first(settings.seed, settings.max_leaf_nodes)
    return _measured(nodes, growth.rows, targets, CRITERIA[settings.criterion], int(X.shape[1]))


def _scale(targets: Targets) -> float:
    """A power of two that brings the numbers to about one, so that their squares neither overflow nor vanish."""
    largest = float(np.max(np.abs(targets.numbers), initial=0.0))
    return math.ldexp(1.0, -math.frexp(largest)[1]) if largest > 0.0 else 1.0


def _rules(settings: GrowthSettings, unit: float) -> Rules:
    """The settings as the loops take them; `unit` is the summed impurity of which they count shares."""
    criterion = CRITERIA[settings.criterion]
    bits = math.log(2.0) if criterion == ENTROPY else 1.0  # the sweeps use natural logarithms
    least = settings.min_impurity_decrease
    return Rules(
        criterion=criterion,
        max_depth=2**31 if settings.max_depth is None else settings.max_depth,
        min_samples_split=settings.min_samples_split,
        min_samples_leaf=settings.min_samples_leaf,
        min_weight_leaf=settings.min_weight_leaf,
        # Rounding may make a gain of nothing slightly negative; such a split is allowed all the same.
        least_gain=(least - np.finfo(float).eps) * unit * bits if least > 0.0 else -np.inf,
        max_features=settings.max_features,
        random=settings.random,
    )


def _measured(nodes: Nodes, rows: Any, targets: Targets, criterion: int, n_features: int) -> Tree:
    """The grown nodes with what they hold."""
    n_nodes = len(nodes.left)
    values = np.zeros((n_nodes, max(1, targets.n_classes)))
    weights, impurities = np.zeros(n_nodes), np.zeros(n_nodes)
    if targets.n_classes > 0:
        measure_classes(nodes, rows, targets, criterion, values, weights, impurities)
    else:
        measure_numbers(nodes, rows, targets, values, weights, impurities)
    is_leaf = nodes.left == LEAF
    return Tree(
        children_left=nodes.left,
        children_right=nodes.right,
        feature=np.where(is_leaf, UNDEFINED, nodes.feature),
        threshold=np.where(is_leaf, float(UNDEFINED), nodes.threshold),
        missing_go_to_left=nodes.missing_left,
        impurity=impurities,
        n_node_samples=nodes.stop - nodes.start,
        weighted_n_node_samples=weights,
        value=values[:, np.newaxis, :],
        n_features=n_features,
    )
