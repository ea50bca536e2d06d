"""The way of rows down a tree: left where the value is at most the threshold, or where a missing value goes left."""

from __future__ import annotations

from typing import Any

from maxmargin._loops.compiling import loop


@loop
def find_leaves(X: Any, left: Any, right: Any, feature: Any, threshold: Any, missing_left: Any, leaves: Any) -> None:
    """The leaf in which each row of X ends."""
    for i in range(len(X)):
        node = 0
        while left[node] >= 0:
            value = X[i, feature[node]]
            goes_left = missing_left[node] != 0 if value != value else value <= threshold[node]
            node = left[node] if goes_left else right[node]
        leaves[i] = node


@loop
def depths_of_nodes(left: Any, right: Any, depths: Any) -> None:
    """Edges from the root to each node; parents come before their children."""
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
