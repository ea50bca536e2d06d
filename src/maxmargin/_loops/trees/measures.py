"""What the nodes of a grown tree hold: rows, weight, value and impurity; from the leaves upwards.

    value       share of each class, or the weighted mean
    Gini        1 - sum_k p_k^2
    entropy     - sum_k p_k log2 p_k
    squared     sum_i w_i (y_i - mean)^2 / W

Two children that hold (W, mean, M), with M the sum of weighted squares about the mean, make a parent with
M = M_L + M_R + (mean_L - mean_R)^2 W_L W_R / W, which loses no digits where the mean is large.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.records import GINI

LEAF = -1


@loop
def measure_classes(
    nodes: Any, rows: Any, targets: Any, criterion: int, values: Any, weights: Any, impurities: Any
) -> None:
    """Fill in the class shares, weight and impurity of every node."""
    weighted, n_classes = len(targets.weights) > 0, targets.n_classes
    for node in range(len(weights) - 1, -1, -1):
        value = values[node]
        if nodes.left[node] == LEAF:
            for i in range(nodes.start[node], nodes.stop[node]):
                value[targets.labels[rows[i]]] += targets.weights[rows[i]] if weighted else 1.0
        else:
            for k in range(n_classes):
                value[k] = values[nodes.left[node], k] + values[nodes.right[node], k]
        for k in range(n_classes):
            weights[node] += value[k]
    for node in range(len(weights)):
        for k in range(n_classes):
            share = values[node, k] / weights[node]
            values[node, k] = share
            if criterion == GINI:
                impurities[node] += share * (1.0 - share)
            elif share > 0.0:
                impurities[node] -= share * math.log2(share)


@loop
def measure_numbers(nodes: Any, rows: Any, targets: Any, values: Any, weights: Any, impurities: Any) -> None:
    """Fill in the mean, weight and mean squared error of every node."""
    weighted = len(targets.weights) > 0
    for node in range(len(weights) - 1, -1, -1):
        if nodes.left[node] == LEAF:
            first, shift = targets.numbers[rows[nodes.start[node]]], 0.0
            for i in range(nodes.start[node], nodes.stop[node]):
                weight = targets.weights[rows[i]] if weighted else 1.0
                weights[node] += weight
                shift += weight * (targets.numbers[rows[i]] - first)
            mean = first + shift / weights[node]
            for i in range(nodes.start[node], nodes.stop[node]):
                weight = targets.weights[rows[i]] if weighted else 1.0
                impurities[node] += weight * (targets.numbers[rows[i]] - mean) ** 2
        else:
            left, right = nodes.left[node], nodes.right[node]
            weights[node] = weights[left] + weights[right]
            apart = values[right, 0] - values[left, 0]
            mean = values[left, 0] + apart * (weights[right] / weights[node])
            between = apart * apart * weights[left] * (weights[right] / weights[node])
            impurities[node] = impurities[left] + impurities[right] + between
        values[node, 0] = mean
    for node in range(len(weights)):
        impurities[node] /= weights[node]
