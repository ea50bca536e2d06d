"""Growing a decision tree: every split is the best one of its node, over all columns and all thresholds.

    split of a node   minimises W_L c(L) + W_R c(R) over columns and thresholds; see `_loops/tree_scans.py`
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
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.trees.blocks import LEAF, Nodes, grow_block, may_split
from maxmargin._loops.trees.columns import (
    divide_rows,
    draw_columns,
    node_totals,
    sweep_columns,
    threshold_between,
)
from maxmargin._loops.trees.records import (
    COLUMN,
    LOW,
    MISSING_LEFT,
    N_FIELDS,
    SCORE,
    Columns,
    Rules,
    Targets,
    mixed,
    no_candidate,
)
from maxmargin._loops.trees.scans import unsplit_score
from maxmargin.backends.threads import StopFlag, raise_if_interrupted, run_together, thread_count

_LEAST_BLOCK, _LARGEST_BLOCK = 2048, 16384
_BLOCK_KEYS = 1 << 24
"""Most keys of a block, which take 8 bytes each."""
_FEW_LEAVES = 1024
"""Up to so many leaves only the nodes that are needed are looked at; otherwise the whole tree is grown and cut."""
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
        self.n_jobs = n_jobs
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
        made, heap = [root], [(-root.gain, 0)] if root.split is not None else []
        n_leaves = 1
        links: dict[int, tuple[int, int]] = {}
        while heap and n_leaves < max_leaf_nodes:
            _, position = heapq.heappop(heap)
            self._split(made[position])
            links[position] = (len(made), len(made) + 1)
            n_leaves += 1
            for child in made[position].children:
                if n_leaves < max_leaf_nodes:
                    self._sweep(child)
                if child.split is not None:
                    heapq.heappush(heap, (-child.gain, len(made)))
                made.append(child)
        nodes = _room(len(made))
        for position, node in enumerate(made):
            _store(nodes, position, node, *links.get(position, (LEAF, LEAF)))
        return nodes

    def _sweep(self, node: _Node) -> None:
        """Find the best split of a node, if it may be split."""
        rules, rows = self.rules, self.rows[node.start : node.stop]
        totals = np.empty(self.targets.n_classes + 2)
        varied = node_totals(rows, self.targets, totals)
        weight = totals[self.targets.n_classes or 1]
        if not varied or not may_split(len(rows), weight, node.depth, rules):
            return
        targets = targets_of(self.targets, rows)
        best = np.empty(N_FIELDS)
        no_candidate(best)
        n_columns = len(self.columns.sizes)
        if rules.max_features >= n_columns:
            self._sweep_columns(self._by_cost, rows, targets, totals, node.seed, best)
        else:
            order = np.empty(n_columns, dtype=np.int64)
            draw_columns(order, node.seed)
            first, rest = order[: rules.max_features], order[rules.max_features :]
            if not self._sweep_columns(first, rows, targets, totals, node.seed, best):
                for column in rest:  # until one has more than a single value
                    if self._sweep_columns(np.array([column]), rows, targets, totals, node.seed, best):
                        break
        gain = best[SCORE] - unsplit_score(totals, targets.n_classes, rules.criterion)
        if best[SCORE] > -np.inf and gain >= rules.least_gain:
            node.split, node.gain = best, gain

    def _sweep_columns(self, chosen: Any, rows: Any, targets: Targets, totals: Any, seed: Any, best: Any) -> int:
        """Sweep columns with all threads; returns how many of them have more than one value."""
        threads = 1 if len(rows) * len(chosen) < _ALONE else min(self._threads, len(chosen))
        bests = [best.copy() for _ in range(threads)]
        hands = [np.ascontiguousarray(chosen[k::threads]) for k in range(threads)]  # neighbours cost about the same

        def task(k: int) -> Callable[[StopFlag], int]:
            room = (np.empty(len(rows), dtype=np.uint64), np.empty(len(rows), dtype=np.uint64))
            given = (self.columns, hands[k], rows, targets, totals, self.rules, seed, room, bests[k])
            return lambda stop: int(sweep_columns(*given, stop))

        if len(rows) * len(chosen) < _ALONE:
            raise_if_interrupted()
            varied = [task(0)(np.zeros(1, dtype=np.uint8))]
        else:
            varied = run_together([task(k) for k in range(threads)], brief=len(rows) * len(chosen) < _BRIEF)
        best[:] = min(bests, key=lambda found: (-found[SCORE], found[COLUMN]))
        return sum(varied)

    def _split(self, node: _Node) -> None:
        """Divide the rows of a node between two children."""
        best = node.split
        node.feature, low, missing_left = int(best[COLUMN]), int(best[LOW]), bool(best[MISSING_LEFT])
        size = int(self.columns.sizes[node.feature])
        rows = self.rows[node.start : node.stop]
        n_left, high, n_missing = divide_rows(
            self.columns.codes[node.feature], rows, low, size, missing_left, self._spare
        )
        node.threshold = threshold_between(self.columns, low, high, self.rules, best)
        node.missing_left = missing_left if n_missing else n_left > len(rows) - n_left
        middle, n_columns = node.start + n_left, len(self.columns.sizes)
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
                nodes = _room(2 * len(rows) - 1)
                targets = targets_of(self.targets, rows)
                n_nodes = grow_block(self.columns, rows, targets, self.rules, node.depth, node.seed, nodes, stop)
                node.block = Nodes(*(part[:n_nodes].copy() for part in nodes))

        threads = min(self._threads, len(blocks))
        run_together([work] * threads, brief=threads == 1 and len(self.rows) * len(self.columns.sizes) < _ALONE)


def targets_of(targets: Targets, rows: NDArray[np.uint32]) -> Targets:
    """Targets of some of the rows."""
    labels, numbers, weights = (part[rows] if len(part) else part for part in targets[:3])
    return targets._replace(labels=labels, numbers=numbers, weights=weights)


def _room(n_nodes: int) -> Nodes:
    """Nodes that are yet to be filled in."""
    left, right, feature, start, stop = (np.full(n_nodes, LEAF, dtype=np.int64) for _ in range(5))
    threshold, gain, missing_left = np.zeros(n_nodes), np.zeros(n_nodes), np.zeros(n_nodes, dtype=np.uint8)
    return Nodes(left, right, feature, threshold, missing_left, start, stop, gain)


def _store(nodes: Nodes, position: int, node: _Node, left: int, right: int) -> None:
    nodes.left[position], nodes.right[position] = left, right
    nodes.start[position], nodes.stop[position] = node.start, node.stop
    if left != LEAF:
        nodes.feature[position], nodes.threshold[position] = node.feature, node.threshold
        nodes.missing_left[position], nodes.gain[position] = node.missing_left, node.gain


def _in_order(root: _Node) -> Nodes:
    """All nodes, those of the blocks too, as a walk meets them: parents first, left before right."""
    parts: list[Nodes] = []
    n_nodes = 0
    waiting: list[tuple[_Node, Any]] = [(root, None)]
    while waiting:
        node, link = waiting.pop()
        if link is not None:
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
            part = _room(1)
            _store(part, 0, node, *((0, 0) if node.children else (LEAF, LEAF)))
            waiting += [(child, side) for child, side in zip(node.children, (part.left, part.right), strict=False)][
                ::-1
            ]
        parts.append(part)
        n_nodes += len(part.left)
    return Nodes(*(np.concatenate(field) for field in zip(*parts, strict=True)))


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
