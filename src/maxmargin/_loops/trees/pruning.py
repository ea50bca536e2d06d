"""Weakest links: the inner nodes of a tree in the order in which a growing price of a leaf cuts below them.

    R_alpha(T) = R(T) + alpha |leaves of T|          R the summed impurity of the leaves, by weight

The branch T_t below node t is worth less than its leaves cost when alpha exceeds

    alpha(t) = (R(t) - R(T_t)) / (|leaves of T_t| - 1)

so the node with the smallest alpha(t) is cut first; then the values of its ancestors change. A heap holds the values;
an entry whose node has changed since is skipped. Breiman et al., Classification and Regression Trees, 1984, chapter 3.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop

LEAF = -1


@loop
def weakest_links(left: Any, right: Any, risks: Any, limit: float, cut: Any, alphas: Any, totals: Any) -> int:
    """Cut below weakest nodes as long as their alpha is at most `limit`; returns how many cuts there were.

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
