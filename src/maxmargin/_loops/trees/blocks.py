"""A whole subtree in one loop, for nodes that fit into the cache.

Every column is sorted once. When a node is split, the keys of every column are divided between its children in their
old order, so they stay sorted. A column that has one value in a node has one value in all nodes below it: it is neither
swept nor divided there any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.codes import sort_column, threshold_between
from maxmargin._loops.trees.columns import draw_columns, may_split, sweep_keys
from maxmargin._loops.trees.records import (
    COLUMN,
    LEAF,
    LOW,
    MISSING_LEFT,
    N_FIELDS,
    ROW_BITS,
    ROW_MASK,
    ROWS_LEFT,
    Columns,
    NodeFacts,
    Nodes,
    Rules,
    Targets,
    mixed,
    no_candidate,
)
from maxmargin._loops.trees.scans import split_gain

START, STOP, DEPTH, N_COLUMNS, PARENT, IS_RIGHT, N_PLACES = range(7)
"""Places of the numbers that describe a node that waits; only the first N_COLUMNS columns of the list vary in it."""


@loop
def grow_block(
    columns: Columns, rows: Any, targets: Targets, rules: Rules, depth: int, seed: int, nodes: Nodes, stop: Any
) -> int:
    """Grow the subtree of a node with these rows, depth and seed into `nodes`; returns the number of nodes.

    `targets` are those of the rows, in their order; the rows are brought into the order of the leaves.
    """
    n, n_columns = len(rows), len(columns.sizes)
    keys = np.empty((n_columns, n), np.uint64)
    spare = np.empty(n, np.uint64)
    chosen = np.arange(n_columns)
    for column in range(n_columns):
        sort_column(columns.codes[column], rows, columns.sizes[column], keys[column], spare)
    places = np.arange(n)
    spare_places, goes_right = np.empty(n, np.int64), np.zeros(n, np.uint8)
    totals, left, best = np.empty(targets.n_classes + 2), np.empty(max(targets.n_classes, 1)), np.empty(N_FIELDS)
    order = np.empty(n_columns, np.int64)
    stack, seeds = np.empty((n + 1, N_PLACES), np.int64), np.empty(n + 1, np.uint64)
    _push(stack, 0, 0, n, depth, n_columns, LEAF, 0)
    seeds[0] = seed
    n_waiting, n_nodes = 1, 0
    while n_waiting > 0 and stop[0] == 0:
        n_waiting -= 1
        seed = seeds[n_waiting]
        begin, end, depth = stack[n_waiting, START], stack[n_waiting, STOP], stack[n_waiting, DEPTH]
        n_chosen, parent = stack[n_waiting, N_COLUMNS], stack[n_waiting, PARENT]
        node = n_nodes
        n_nodes += 1
        if parent != LEAF:
            if stack[n_waiting, IS_RIGHT]:
                nodes.right[parent] = node
            else:
                nodes.left[parent] = node
        nodes.left[node], nodes.right[node], nodes.feature[node] = LEAF, LEAF, LEAF
        nodes.start[node], nodes.stop[node] = begin, end
        span = slice(begin, end)
        if not may_split(places[span], targets, totals, depth, rules):
            continue
        no_candidate(best)
        facts = NodeFacts(targets, totals, rules, seed)
        n_chosen = _sweep_node(columns, keys, span, facts, chosen, n_chosen, order, left, best)
        gain = split_gain(best, facts)
        if gain == -np.inf:
            continue
        column, low, missing_left = int(best[COLUMN]), int(best[LOW]), best[MISSING_LEFT] > 0.0
        middle = begin + int(best[ROWS_LEFT])
        nodes.feature[node], nodes.gain[node] = column, gain
        size = columns.sizes[column]
        has_missing = np.int64(keys[column, end - 1] >> ROW_BITS) == size
        nodes.missing_left[node] = missing_left if has_missing else middle - begin > end - middle
        high = size
        for i in range(begin, end):
            code = np.int64(keys[column, i] >> ROW_BITS)
            goes_right[keys[column, i] & ROW_MASK] = not missing_left if code == size else code > low
            if code > low:
                high = min(high, code)
        nodes.threshold[node] = threshold_between(columns, low, high, rules, best)
        _divide(places[span], goes_right, spare_places)
        for j in chosen[:n_chosen]:
            _divide(keys[j, span], goes_right, spare)
        _push(stack, n_waiting, middle, end, depth + 1, n_chosen, node, 1)
        seeds[n_waiting] = mixed(seed, n_columns + 1)
        _push(stack, n_waiting + 1, begin, middle, depth + 1, n_chosen, node, 0)
        seeds[n_waiting + 1] = mixed(seed, n_columns)
        n_waiting += 2
    old_rows = rows.copy()
    for i in range(n):
        rows[i] = old_rows[places[i]]
    return n_nodes


@loop
def _push(stack: Any, top: int, start: int, stop: int, depth: int, n_columns: int, parent: int, is_right: int) -> None:
    stack[top, START], stack[top, STOP], stack[top, DEPTH] = start, stop, depth
    stack[top, N_COLUMNS], stack[top, PARENT], stack[top, IS_RIGHT] = n_columns, parent, is_right


@loop
def _sweep_node(
    columns: Columns,
    keys: Any,
    span: slice,
    node: NodeFacts,
    chosen: Any,
    n_chosen: int,
    order: Any,
    left: Any,
    best: Any,
) -> int:
    """Offer the splits of a node; returns how many columns of the list may vary below it, the others moved behind."""
    drawing = node.rules.max_features < len(columns.sizes)
    if drawing:
        draw_columns(order, node.seed)
    position, varied = 0, 0
    while position < (len(order) if drawing else n_chosen):
        if drawing and position >= node.rules.max_features and varied > 0:
            break
        column = order[position] if drawing else chosen[position]
        if sweep_keys(keys[column, span], columns, node, column, left, best):
            varied += 1
            position += 1
        elif drawing:
            position += 1
        else:
            n_chosen -= 1
            chosen[position], chosen[n_chosen] = chosen[n_chosen], column
    return n_chosen


@loop
def _divide(items: Any, goes_right: Any, spare: Any) -> None:
    """Bring the items of the left side to the front, both sides in their old order."""
    n_left, n_right = 0, 0
    for i in range(len(items)):
        item = items[i]
        right = goes_right[np.uint64(item) & ROW_MASK]
        items[n_left] = item
        spare[n_right] = item
        n_left += 1 - right
        n_right += right
    for i in range(n_right):
        items[n_left + i] = spare[i]
