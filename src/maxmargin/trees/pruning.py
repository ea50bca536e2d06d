"""Cost-complexity pruning: the subtree that is best when every leaf has a price.

    minimise over the subtrees T    R(T) + alpha |leaves of T|        R(T) = sum over leaves of W_t c(t) / W

As alpha grows from 0 the best subtrees are nested; `_loops/tree_pruning.py` says how they are found.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.trees.pruning import weakest_links
from maxmargin._types import Vector
from maxmargin.trees.tree import LEAF, UNDEFINED, Tree


def pruned(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that is best at this price of a leaf."""
    cut, _, _ = _cuts(tree, alpha)
    kept = np.flatnonzero(cut < 2)
    if len(kept) == tree.node_count and not np.any(cut):
        return tree
    place = np.full(tree.node_count + 1, LEAF, dtype=np.int64)  # the last entry answers for LEAF
    place[kept] = np.arange(len(kept))
    ends = cut[kept] == 1
    arrays = {name: part[kept] for name, part in tree.as_arrays().items() if name != "n_features"}
    arrays["children_left"] = np.where(ends, LEAF, place[arrays["children_left"]])
    arrays["children_right"] = np.where(ends, LEAF, place[arrays["children_right"]])
    arrays["feature"] = np.where(ends, UNDEFINED, arrays["feature"])
    arrays["threshold"] = np.where(ends, float(UNDEFINED), arrays["threshold"])
    arrays["missing_go_to_left"] = np.where(ends, np.uint8(0), arrays["missing_go_to_left"])
    return replace(tree, **arrays)


def pruning_path(tree: Tree) -> tuple[Vector, Vector]:
    """Prices at which the best subtree changes, and the impurity of its leaves, from the whole tree to its root."""
    _, alphas, totals = _cuts(tree, np.inf)
    whole = float(np.sum(_risks(tree)[tree.is_leaf]))
    return np.concatenate([[0.0], alphas]), np.concatenate([[whole], totals])


def _risks(tree: Tree) -> Vector:
    """R(t) of every node as if it were a leaf."""
    risks: Vector = tree.impurity * (tree.weighted_n_node_samples / tree.weighted_n_node_samples[0])
    return risks


def _cuts(tree: Tree, limit: float) -> tuple[NDArray[np.uint8], Vector, Vector]:
    """What becomes of every node, and the price and the impurity at each cut."""
    cut = np.zeros(tree.node_count, dtype=np.uint8)
    alphas, totals = np.empty(tree.node_count), np.empty(tree.node_count)
    n = weakest_links(tree.children_left, tree.children_right, _risks(tree), limit, cut, alphas, totals)
    return cut, alphas[:n], totals[:n]
