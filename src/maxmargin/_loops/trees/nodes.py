"""Loops over the nodes of a grown tree, whose parents come before their children: measure, prune, walk.

A node holds rows, weight, value and impurity, found from the leaves upwards:

    value       share of each class, or the weighted mean
    Gini        1 - sum_k p_k^2
    entropy     - sum_k p_k log2 p_k
    squared     sum_i w_i (y_i - mean)^2 / W

Two children that hold (W, mean, M), with M the sum of weighted squares about the mean, make a parent with
M = M_L + M_R + (mean_L - mean_R)^2 W_L W_R / W, which loses no digits where the mean is large.
"""

from __future__ import annotations

import math
from heapq import heappop, heappush
from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.records import GINI, LEAF


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


@loop
def weakest_links(left: Any, right: Any, risks: Any, limit: float, cut: Any, alphas: Any, totals: Any) -> int:
    """Cut below weakest links as long as their alpha is at most `limit`; returns how many cuts there were.

        R_alpha(T) = R(T) + alpha |leaves of T|          R the summed impurity of the leaves, by weight

    The branch T_t below node t is worth less than its leaves cost when alpha exceeds

        alpha(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1)

    so the node with the smallest alpha(t) is cut first; then the values of its ancestors change. A heap holds the
    values; an entry whose node has changed since is skipped. Breiman et al., Classification and Regression Trees, 1984,
    chapter 3.

    `risks` are R(t). `cut[t]` becomes 1 for the nodes that become leaves, and 2 for those that disappear with them.
    `alphas` and `totals` receive, for each cut, the price and the summed risk of the leaves that are left.
    """
    n = len(left)
    parent = np.full(n, LEAF, np.int64)
    leaves, branch = np.ones(n, np.int64), risks.copy()
    for top in range(n - 1, -1, -1):
        if left[top] != LEAF:
            parent[left[top]] = parent[right[top]] = top
            leaves[top] = leaves[left[top]] + leaves[right[top]]
            branch[top] = branch[left[top]] + branch[right[top]]
    heap: Any = [(np.inf, np.int64(n), np.int64(0))]
    for inner in np.flatnonzero(left != LEAF):
        heappush(heap, ((risks[inner] - branch[inner]) / (leaves[inner] - 1), inner, leaves[inner]))
    n_cuts = 0
    stack = np.empty(n, np.int64)
    while True:
        alpha, node, n_leaves = heappop(heap)
        if node == n or alpha > limit:
            return n_cuts
        if cut[node] != 0 or leaves[node] != n_leaves:
            continue
        cut[node] = 1
        stack[0], stack[1], waiting = left[node], right[node], 2
        while waiting > 0:
            waiting -= 1
            below = stack[waiting]
            if left[below] != LEAF and cut[below] == 0:
                stack[waiting], stack[waiting + 1] = left[below], right[below]
                waiting += 2
            cut[below] = 2
        fewer, more = leaves[node] - 1, risks[node] - branch[node]
        above = node
        while above != LEAF:
            leaves[above] -= fewer
            branch[above] += more
            if above != node:
                entry = ((risks[above] - branch[above]) / (leaves[above] - 1), np.int64(above), leaves[above])
                heappush(heap, entry)
            above = parent[above]
        alphas[n_cuts], totals[n_cuts] = alpha, branch[0]
        n_cuts += 1


@loop
def find_leaves(X: Any, left: Any, right: Any, feature: Any, threshold: Any, missing_left: Any, leaves: Any) -> None:
    """The leaf in which each row of X ends: left where the value is at most the threshold, or missing and sent left."""
    for i in range(len(X)):
        node = 0
        while left[node] >= 0:
            value = X[i, feature[node]]
            goes_left = missing_left[node] != 0 if value != value else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node


@loop
def depths_of_nodes(left: Any, right: Any, depths: Any) -> None:
    """Edges from the root to each node."""
    depths[0] = 0
    for node in range(len(left)):
        if left[node] >= 0:
            depths[left[node]] = depths[right[node]] = depths[node] + 1


@loop
def paths_to_nodes(parent: Any, ends: Any, starts: Any, path: Any) -> None:
    """The nodes from the root to `ends[i]`, in `path[starts[i]:starts[i + 1]]`."""
    for i in range(len(ends)):
        node = ends[i]
        for position in range(starts[i + 1] - 1, starts[i] - 1, -1):
            path[position] = node
            node = parent[node]
