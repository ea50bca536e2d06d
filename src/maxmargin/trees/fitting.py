"""From rows and targets to a tree: code the columns, grow, measure.

Trees look for splits among codes, the ranks of the values of a column. They take 2 bytes an entry, or 4 where a column
has more than 65,535 distinct values; the rows themselves are never copied whole.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._loops.trees.codes import code_sorted_numbers, code_whole_numbers
from maxmargin._loops.trees.nodes import measure_classes, measure_numbers
from maxmargin._loops.trees.records import ENTROPY, GINI, LEAF, SQUARED_ERROR, Columns, Nodes, Rules, Targets
from maxmargin._types import Labels, Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import DataError
from maxmargin.trees.growth import TreeGrowth
from maxmargin.trees.tree import UNDEFINED, Tree

CRITERIA = {"gini": GINI, "entropy": ENTROPY, "log_loss": ENTROPY, "squared_error": SQUARED_ERROR}
_EXACT = 2.0**53
"""Whole numbers up to here are doubles."""
_COLUMNS_AT_ONCE = 8
"""A cache line of doubles: rows that lie one after the other are read once for so many columns."""
_MOST_SPARSE_ENTRIES = 1 << 31
_MOST_SHORT_CODES = 2**16 - 1


def as_targets(y: Labels, n_classes: int, weights: Vector | None) -> Targets:
    """Targets from labels 0 to n_classes - 1, or from numbers where `n_classes` is 0; weights of one are left out."""
    weighted = weights is not None and bool(np.any(weights != 1.0))
    kept = np.ascontiguousarray(weights) if weighted else np.empty(0)
    total = float(np.sum(kept)) if weighted else float(len(y))
    labels, numbers = (y.astype(np.int32), np.empty(0)) if n_classes else (np.empty(0, np.int32), y)
    # Then sums of squares of sums of them are exact.
    whole = bool(np.all(kept == np.rint(kept))) and total**2 < _EXACT
    return Targets(labels, np.ascontiguousarray(numbers), kept, n_classes, whole)


def fit_tree(
    X: Rows, targets: Targets, rules: Rules, *, max_leaf_nodes: int | None, seed: int, n_jobs: int | None
) -> Tree:
    """Grow the tree of rows X; a row of weight 0 is absent.

    The rules count the least weight and the least gain as shares of the weight and of the impurity; here they become
    sums over the rows.
    """
    n = X.shape[0]
    weighted = len(targets.weights) > 0
    rows = np.flatnonzero(targets.weights).astype(np.uint32) if weighted else np.arange(n, dtype=np.uint32)
    weight = float(np.sum(targets.weights)) if weighted else float(n)
    # A power of two that brings the numbers to about one, so that their squares neither overflow nor vanish.
    largest = float(np.max(np.abs(targets.numbers), initial=0.0))
    scale = math.ldexp(1.0, -math.frexp(largest)[1]) if largest > 0.0 else 1.0
    unit = weight * scale * scale * (math.log(2.0) if rules.criterion == ENTROPY else 1.0)  # sweeps use natural logs
    # Rounding may make a gain of nothing slightly negative; such a split is allowed all the same.
    least_gain = (rules.least_gain - np.finfo(float).eps) * unit if rules.least_gain > 0.0 else -np.inf
    scaled = targets._replace(numbers=targets.numbers * scale)
    summed = rules._replace(min_weight_leaf=rules.min_weight_leaf * weight, least_gain=least_gain)
    growth = TreeGrowth(_coded_columns(X, n_jobs), rows, scaled, summed, n_jobs)
    nodes = growth.depth_first(seed) if max_leaf_nodes is None else growth.best_first(seed, max_leaf_nodes)
    return _measured(nodes, growth.rows, targets, rules.criterion, int(X.shape[1]))


def _measured(nodes: Nodes, rows: NDArray[np.uint32], targets: Targets, criterion: int, n_features: int) -> Tree:
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


def _coded_columns(X: Rows, n_jobs: int | None) -> Columns:
    """Code the columns of X, dense or sparse; NaN is a missing value."""
    n, d = X.shape
    if sparse.issparse(X) and n * d > _MOST_SPARSE_ENTRIES:
        raise DataError(
            f"a tree codes every entry of a column, also those that are not stored: {n:,} x {d:,} of them would take "
            f"{2 * n * d / 1e9:.0f} GB. Select columns before, or train on fewer rows."
        )
    codes = np.empty((d, n), dtype=np.uint16)
    wide: dict[int, NDArray[np.uint32]] = {}
    values: list[Any] = [None] * d
    columns = X.tocsc() if sparse.issparse(X) else X

    def code_groups(first: int, last: int, stop: StopFlag) -> None:
        room = np.empty((_COLUMNS_AT_ONCE, n))  # for columns as doubles that lie one after the other
        for top in range(first * _COLUMNS_AT_ONCE, min(d, last * _COLUMNS_AT_ONCE), _COLUMNS_AT_ONCE):
            group = columns[:, top : top + _COLUMNS_AT_ONCE]
            filled = room[: group.shape[1]]
            filled[:] = (group.toarray() if sparse.issparse(group) else group).T
            for j, column in enumerate(filled, start=top):
                if stop[0]:
                    return
                values[j], found = _code(column, codes[j])
                if found is not None:
                    wide[j] = found

    over_ranges(code_groups, -(-d // _COLUMNS_AT_ONCE), n_jobs, brief=n * d < 1 << 16)
    if wide:
        codes = codes.astype(np.uint32)
        for j, found in wide.items():
            codes[j] = found
    sizes = np.array([len(known) for known in values], dtype=np.int64)
    return Columns(codes, sizes, np.concatenate(values), np.cumsum(sizes) - sizes)


def _code(column: Vector, codes: NDArray[np.uint16]) -> tuple[Vector, NDArray[np.uint32] | None]:
    """Distinct values of a column; its codes go to `codes`, or are returned where they do not fit."""
    n = len(column)
    low, high = float(np.fmin.reduce(column)), float(np.fmax.reduce(column))  # NaN only where nothing is known
    if low == np.floor(low) and high - low < min(4 * n + 64, _MOST_SHORT_CODES):
        span = int(high - low) + 1
        table, values = np.zeros(span + 1, dtype=np.int32), np.empty(span)
        size = code_whole_numbers(column, low, table, codes, values)
        if size >= 0:
            return values[:size].copy(), None
    order, values = np.argsort(column), np.empty(n)
    found = np.empty(n, dtype=np.uint32)
    size = code_sorted_numbers(column, order, found, values)
    if size > _MOST_SHORT_CODES:
        return values[:size].copy(), found
    codes[:] = found
    return values[:size].copy(), None
