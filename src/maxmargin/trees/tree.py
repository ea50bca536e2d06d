"""A decision tree as plain arrays, one entry a node, under the names that scikit-learn gives them; and its pruning.

Cost-complexity pruning finds the subtree that is best when every leaf has a price:

    minimise over the subtrees T    R(T) + alpha |leaves of T|        R(T) = sum over leaves of W_t c(t) / W

As alpha grows from 0 the best subtrees are nested; `weakest_links` says how they are found.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._loops.trees.nodes import depths_of_nodes, find_leaves, paths_to_nodes, weakest_links
from maxmargin._loops.trees.records import LEAF
from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges

UNDEFINED = -2
_BLOCK_ENTRIES = 1 << 18


@dataclass(frozen=True)
class Tree:
    """Nodes of a tree: node 0 is the root, and parents come before their children.

    A row x goes from node t to `children_left[t]` where x[feature[t]] <= threshold[t], and to `children_right[t]`
    otherwise; where the value is missing, `missing_go_to_left[t]` decides. A threshold of infinity parts missing values
    from all others.
    """

    children_left: RowIndex
    """LEAF = -1 for a leaf."""
    children_right: RowIndex
    feature: RowIndex
    """UNDEFINED = -2 for a leaf, and so is the threshold."""
    threshold: Vector
    missing_go_to_left: NDArray[np.uint8]
    impurity: Vector
    n_node_samples: RowIndex
    """Training rows of positive weight."""
    weighted_n_node_samples: Vector
    value: NDArray[np.float64]
    """Shape (nodes, 1, classes): the share of each class; of a regression (nodes, 1, 1): the mean."""
    n_features: int

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(np.count_nonzero(self.is_leaf))

    @property
    def is_leaf(self) -> NDArray[np.bool_]:
        """Which nodes are leaves."""
        return np.equal(self.children_left, LEAF)

    @property
    def n_outputs(self) -> int:
        """Targets of a row: one."""
        return 1

    @property
    def n_classes(self) -> RowIndex:
        """Number of classes, as an array of one number; 1 for a regression."""
        return np.array([self.value.shape[2]])

    @property
    def max_n_classes(self) -> int:
        """Number of classes; 1 for a regression."""
        return int(self.value.shape[2])

    @cached_property
    def depth(self) -> RowIndex:
        """Edges from the root to each node."""
        depth = np.empty(self.node_count, dtype=np.int64)
        depths_of_nodes(self.children_left, self.children_right, depth)
        return depth

    @cached_property
    def parent(self) -> RowIndex:
        """The node above each node; LEAF for the root, which has none."""
        parent = np.full(self.node_count, LEAF, dtype=np.int64)
        inner = np.flatnonzero(~self.is_leaf)
        parent[self.children_left[inner]] = parent[self.children_right[inner]] = inner
        return parent

    @property
    def max_depth(self) -> int:
        """Edges from the root to the deepest leaf."""
        return int(self.depth.max())

    def apply(self, X: Rows, n_jobs: int | None = None) -> RowIndex:
        """The leaf in which each row ends."""
        n, d = X.shape
        leaves = np.empty(n, dtype=np.int64)
        step = max(1, _BLOCK_ENTRIES // d)
        way = self.children_left, self.children_right, self.feature, self.threshold, self.missing_go_to_left

        def work(start: int, end: int, stop: StopFlag) -> None:
            for top in range(start, end, step):
                if stop[0]:
                    return
                bottom = min(top + step, end)
                block = X[top:bottom].toarray() if sparse.issparse(X) else X[top:bottom]
                find_leaves(np.ascontiguousarray(block, dtype=np.float64), *way, leaves[top:bottom])

        over_ranges(work, n, 1 if n * d < _BLOCK_ENTRIES else n_jobs, brief=n * d < _BLOCK_ENTRIES)
        return leaves

    def predict(self, X: Rows, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Values of the leaves in which the rows end, one row a row."""
        values: NDArray[np.float64] = self.value[self.apply(X, n_jobs), 0]
        return values

    def decision_path(self, X: Rows, n_jobs: int | None = None) -> Any:
        """A sparse matrix with a row for each row of X and a column for each node: 1 where it passes."""
        leaves = self.apply(X, n_jobs)
        starts = np.concatenate([[0], np.cumsum(self.depth[leaves] + 1)]).astype(np.int64)
        path = np.empty(starts[-1], dtype=np.int64)
        paths_to_nodes(self.parent, leaves, starts, path)
        ones = np.ones(len(path), dtype=np.int64)
        return sparse.csr_matrix((ones, path, starts), shape=(len(leaves), self.node_count))

    def compute_feature_importances(self, normalize: bool = True) -> Vector:
        """Decrease of the summed impurity by the splits of each feature; as shares of the whole, or by weight."""
        inner = np.flatnonzero(~self.is_leaf)
        sums = self.weighted_n_node_samples * self.impurity
        decreases = sums[inner] - sums[self.children_left[inner]] - sums[self.children_right[inner]]
        gains = np.zeros(self.n_features)
        np.add.at(gains, self.feature[inner], decreases / self.weighted_n_node_samples[0])
        total = float(gains.sum())
        return gains / total if normalize and total > 0.0 else gains

    def as_arrays(self) -> dict[str, Any]:
        """The fields by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def pruned(self, alpha: float) -> Tree:
        """The smallest subtree that is best at this price of a leaf."""
        cut, _, _ = self._cuts(alpha)
        kept = np.flatnonzero(cut < 2)
        if not np.any(cut):
            return self
        place = np.full(self.node_count + 1, LEAF, dtype=np.int64)  # the last entry answers for LEAF
        place[kept] = np.arange(len(kept))
        ends = cut[kept] == 1
        arrays = {name: part[kept] for name, part in self.as_arrays().items() if name != "n_features"}
        for name in ("children_left", "children_right"):
            arrays[name] = np.where(ends, LEAF, place[arrays[name]])
        arrays["feature"] = np.where(ends, UNDEFINED, arrays["feature"])
        arrays["threshold"] = np.where(ends, float(UNDEFINED), arrays["threshold"])
        arrays["missing_go_to_left"] = np.where(ends, np.uint8(0), arrays["missing_go_to_left"])
        return replace(self, **arrays)

    def pruning_path(self) -> tuple[Vector, Vector]:
        """Prices at which the best subtree changes, and the impurity of its leaves, from the whole tree to its root."""
        _, alphas, totals = self._cuts(np.inf)
        whole = float(np.sum(self._risks[self.is_leaf]))
        return np.concatenate([[0.0], alphas]), np.concatenate([[whole], totals])

    @property
    def _risks(self) -> Vector:
        """R(t) of every node as if it were a leaf."""
        risks: Vector = self.impurity * (self.weighted_n_node_samples / self.weighted_n_node_samples[0])
        return risks

    def _cuts(self, limit: float) -> tuple[NDArray[np.uint8], Vector, Vector]:
        """What becomes of every node, and the price and the impurity at each cut."""
        cut = np.zeros(self.node_count, dtype=np.uint8)
        alphas, totals = np.empty(self.node_count), np.empty(self.node_count)
        n = weakest_links(self.children_left, self.children_right, self._risks, limit, cut, alphas, totals)
        return cut, alphas[:n], totals[:n]
