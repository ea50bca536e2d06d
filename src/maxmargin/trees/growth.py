"""Growing a decision tree: every split is the best one of its node, over all columns and all thresholds.

    split of a node   minimises W_L c(L) + W_R c(R) over columns and thresholds; see `_loops/trees/scans.py`
    depth first       every node is split until it is pure or a rule forbids it
    best first        with at most `max_leaf_nodes` leaves, the leaf whose split gains most is split next

A large node is swept by all threads, each with some of its columns. A node of moderate size becomes a block, whose
whole subtree is grown by one thread. Where blocks begin depends on the data alone, and a node's split depends on its
rows alone, drawn numbers included; so the tree is the same for every number of threads, and a tree that is grown best
first is part of the one that is grown depth first.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.trees.blocks import grow_block
from maxmargin._loops.trees.codes import divide_rows, threshold_between
from maxmargin._loops.trees.columns import draw_columns, may_split, sweep_columns
from maxmargin._loops.trees.records import (
    COLUMN,
    LEAF,
    LOW,
    MISSING_LEFT,
    N_FIELDS,
    SCORE,
    Columns,
    NodeFacts,
    Nodes,
    Rules,
    Targets,
    mixed,
    no_candidate,
)
from maxmargin._loops.trees.scans import split_gain
from maxmargin.backends.threads import StopFlag, run_together, thread_count

_LEAST_BLOCK, _LARGEST_BLOCK = 2048, 16384
_BLOCK_KEYS = 1 << 24
"""Most keys of a block, which take 8 bytes each."""
_FEW_LEAVES = 1024
"""Up to so many leaves only the nodes that are needed are swept; otherwise the whole tree is grown and cut."""
_ALONE = 1 << 17
"""A node with fewer entries is swept faster by one thread than by many."""
_BRIEF = 1 << 24
"""A sweep of fewer entries is over within a fraction of a second."""


@dataclass
class _Node:
    """A node outside of the blocks; `split` is the best one where there is one."""

    start: int
    stop: int
    depth: int
    seed: Any
    split: Any = None
    gain: float = 0.0
    feature: int = LEAF
    threshold: float = 0.0
    missing_left: bool = False
    children: list[_Node] = field(default_factory=list)
    block: Nodes | None = None


class TreeGrowth:
    """The rows of a fit, and the ways to split them."""

    def __init__(self, columns: Columns, rows: NDArray[np.uint32], targets: Targets, rules: Rules, n_jobs: int | None):
        self.columns, self.rows, self.targets, self.rules = columns, rows, targets, rules
        self._threads = thread_count(n_jobs)
        self._spare = np.empty_like(rows)
        self._by_cost = np.argsort(-columns.sizes, kind="stable")

    def depth_first(self, seed: int) -> Nodes:
        """The whole tree."""
        root = _Node(0, len(self.rows), 0, np.uint64(seed))
        most = max(_LEAST_BLOCK, min(_LARGEST_BLOCK, len(self.rows) // 16))
        most = max(1, min(most, _BLOCK_KEYS // len(self.columns.sizes)))
        waiting, blocks = [root], []
        while waiting:
            node = waiting.pop()
            if node.stop - node.start <= most:
                blocks.append(node)
                continue
            self._sweep(node)
            if node.split is not None:
                self._split(node)
                waiting += reversed(node.children)
        self._grow_blocks(blocks)
        return _in_order(root)

    def best_first(self, seed: int, max_leaf_nodes: int) -> Nodes:
        """The tree with at most so many leaves; of equal gains the node that was made first is split first."""
        if max_leaf_nodes > _FEW_LEAVES:
            return _best_part(self.depth_first(seed), max_leaf_nodes)
        root = _Node(0, len(self.rows), 0, np.uint64(seed))
        self._sweep(root)
        heap = [(-root.gain, 0, root)] if root.split is not None else []
        n_leaves = 1
        while heap and n_leaves < max_leaf_nodes:
            _, _, node = heapq.heappop(heap)
            self._split(node)
            n_leaves += 1
            for number, child in enumerate(node.children, start=2 * n_leaves - 3):  # the root was made as number 0
                if n_leaves < max_leaf_nodes:
                    self._sweep(child)
                if child.split is not None:
                    heapq.heappush(heap, (-child.gain, number, child))
        return _best_part(_in_order(root), max_leaf_nodes)

    def _sweep(self, node: _Node) -> None:
        """Find the best split of a node, if it may be split."""
        rules, rows = self.rules, self.rows[node.start : node.stop]
        n_columns = len(self.columns.sizes)
        totals, best = np.empty(self.targets.n_classes + 2), np.empty(N_FIELDS)
        if not may_split(rows, self.targets, totals, node.depth, rules):
            return
        facts = NodeFacts(targets_of(self.targets, rows), totals, rules, node.seed)
        no_candidate(best)
        if rules.max_features >= n_columns:
            self._sweep_columns(self._by_cost, rows, facts, best)
        else:
            order = np.empty(n_columns, dtype=np.int64)
            draw_columns(order, node.seed)
            first, rest = order[: rules.max_features], order[rules.max_features :]
            if not self._sweep_columns(first, rows, facts, best):
                for column in rest:  # until one has more than a single value
                    if self._sweep_columns(np.array([column]), rows, facts, best):
                        break
        gain = split_gain(best, facts)
        if gain > -np.inf:
            node.split, node.gain = best, gain

    def _sweep_columns(self, chosen: Any, rows: Any, facts: NodeFacts, best: Any) -> int:
        """Sweep columns with all threads; returns how many of them have more than one value."""
        entries = len(rows) * len(chosen)
        threads = 1 if entries < _ALONE else min(self._threads, len(chosen))
        bests = [best.copy() for _ in range(threads)]
        shares = [np.ascontiguousarray(chosen[k::threads]) for k in range(threads)]  # neighbours cost about the same

        def sweep(k: int, stop: StopFlag) -> int:
            return int(sweep_columns(self.columns, shares[k], rows, facts, bests[k], stop))

        varied = run_together([partial(sweep, k) for k in range(threads)], brief=entries < _BRIEF)
        best[:] = min(bests, key=lambda found: (-found[SCORE], found[COLUMN]))
        return sum(varied)

    def _split(self, node: _Node) -> None:
        """Divide the rows of a node between two children."""
        best = node.split
        node.feature, low, missing_left = int(best[COLUMN]), int(best[LOW]), bool(best[MISSING_LEFT])
        size, n_columns = int(self.columns.sizes[node.feature]), len(self.columns.sizes)
        rows, codes = self.rows[node.start : node.stop], self.columns.codes[node.feature]
        n_left, high, n_missing = divide_rows(codes, rows, low, size, missing_left, self._spare)
        node.threshold = threshold_between(self.columns, low, high, self.rules, best)
        node.missing_left = missing_left if n_missing else n_left > len(rows) - n_left
        middle = node.start + n_left
        node.children = [
            _Node(node.start, middle, node.depth + 1, np.uint64(mixed(node.seed, n_columns))),
            _Node(middle, node.stop, node.depth + 1, np.uint64(mixed(node.seed, n_columns + 1))),
        ]

    def _grow_blocks(self, blocks: list[_Node]) -> None:
        """Grow the subtrees of nodes of moderate size, the largest first, each in one thread."""
        waiting = deque(sorted(blocks, key=lambda node: node.start - node.stop))

        def work(stop: StopFlag) -> None:
            while waiting and not stop[0]:
                try:
                    node = waiting.popleft()
                except IndexError:  # another thread was quicker
                    return
                rows = self.rows[node.start : node.stop]
                nodes, targets = _empty_nodes(2 * len(rows) - 1), targets_of(self.targets, rows)
                n_nodes = grow_block(self.columns, rows, targets, self.rules, node.depth, node.seed, nodes, stop)
                node.block = Nodes(*(part[:n_nodes].copy() for part in nodes))

        threads = min(self._threads, len(blocks))
        run_together([work] * threads, brief=threads == 1 and len(self.rows) * len(self.columns.sizes) < _ALONE)


def targets_of(targets: Targets, rows: NDArray[np.uint32]) -> Targets:
    """Targets of some of the rows."""
    labels, numbers, weights = (part[rows] if len(part) else part for part in targets[:3])
    return targets._replace(labels=labels, numbers=numbers, weights=weights)


def _empty_nodes(n_nodes: int) -> Nodes:
    """Nodes that are yet to be filled in."""
    left, right, feature, start, stop = (np.full(n_nodes, LEAF, dtype=np.int64) for _ in range(5))
    threshold, gain, missing_left = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes, dtype=np.uint8)
    return Nodes(left, right, feature, threshold, missing_left, start, stop, gain)


def _in_order(root: _Node) -> Nodes:
    """All nodes, those of the blocks too, as a walk meets them: parents first, left before right."""
    parts: list[Nodes] = []
    n_nodes = 0
    waiting: list[tuple[_Node, Any]] = [(root, [LEAF])]
    while waiting:
        node, link = waiting.pop()
        link[0] = n_nodes
        if node.block is not None:
            inner = node.block.left != LEAF
            part = node.block._replace(
                left=np.where(inner, node.block.left + n_nodes, LEAF),
                right=np.where(inner, node.block.right + n_nodes, LEAF),
                start=node.block.start + node.start,
                stop=node.block.stop + node.start,
            )
        else:
            numbers = node.feature, node.threshold, np.uint8(node.missing_left), node.start, node.stop, node.gain
            part = Nodes([LEAF], [LEAF], *([number] for number in numbers))
            waiting += list(zip(node.children, (part.left, part.right), strict=False))[::-1]  # left is on top
        parts.append(part)
        n_nodes += len(part.left)
    return Nodes(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def _best_part(nodes: Nodes, max_leaf_nodes: int) -> Nodes:
    """The nodes that growing best first would have made, in that order."""
    made, links = [0], [(LEAF, LEAF)]
    heap = [(-nodes.gain[0], 0)] if nodes.left[0] != LEAF else []
    n_leaves = 1
    while heap and n_leaves < max_leaf_nodes:
        _, position = heapq.heappop(heap)
        links[position] = (len(made), len(made) + 1)
        n_leaves += 1
        for child in (nodes.left[made[position]], nodes.right[made[position]]):
            if nodes.left[child] != LEAF:
                heapq.heappush(heap, (-nodes.gain[child], len(made)))
            made.append(int(child))
            links.append((LEAF, LEAF))
    part = Nodes(*(field[made] for field in nodes))
    left, right = np.array(links, dtype=np.int64).T.copy()
    leaf = left == LEAF
    part.feature[leaf], part.threshold[leaf], part.missing_left[leaf] = LEAF, 0.0, 0
    return part._replace(left=left, right=right)
