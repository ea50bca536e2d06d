"""The best split of a node, column by column, from the codes of its rows.

A column with few codes for the size of the node becomes a histogram of its codes; another one is sorted, by counting
digits. Rows are counted from 0 inside the node: `targets` are those of the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.codes import allowed_cut, sort_column
from maxmargin._loops.trees.records import COLUMN, ROW_BITS, THRESHOLD, Columns, NodeFacts, Rules, Targets, mixed
from maxmargin._loops.trees.scans import (
    sweep_class_histogram,
    sweep_number_histogram,
    sweep_sorted_classes,
    sweep_sorted_numbers,
)

_FEW_CELLS = 256
_CELLS_PER_ROW = 4
"""Cells of a histogram that may be cleared and swept for each row that is counted."""


@loop
def sweep_keys(keys: Any, columns: Columns, node: NodeFacts, column: int, left: Any, best: Any) -> bool:
    """Offer the splits of a column whose keys are sorted; False where all rows have one code."""
    size = columns.sizes[column]
    known = len(keys)
    while known > 0 and np.int64(keys[known - 1] >> ROW_BITS) == size:
        known -= 1
    if known == 0 or (known == len(keys) and keys[0] >> ROW_BITS == keys[known - 1] >> ROW_BITS):
        return False
    lowest, highest = np.int64(keys[0] >> ROW_BITS), np.int64(keys[known - 1] >> ROW_BITS)
    cut, threshold = allowed_cut(columns, column, lowest, highest, node)
    for missing_left in range(1 if known == len(keys) else 2):
        if node.targets.n_classes > 0:
            sweep_sorted_classes(keys, known, node, column, cut, missing_left == 1, left, best)
        else:
            sweep_sorted_numbers(keys, known, node, column, cut, missing_left == 1, best)
    if node.rules.random and best[COLUMN] == column:
        best[THRESHOLD] = threshold
    return True


@loop
def sweep_columns(columns: Columns, chosen: Any, rows: Any, node: NodeFacts, best: Any, stop: Any) -> int:
    """Offer the splits of the chosen columns; returns how many of them have more than one code in the node."""
    n = len(rows)
    keys, spare = np.empty(n, np.uint64), np.empty(n, np.uint64)
    width = max(node.targets.n_classes, 2)
    sums, counts = np.empty(_CELLS_PER_ROW * n + 4 * width), np.empty(_CELLS_PER_ROW * n + 4, np.int64)
    left = np.empty(width)
    varied = 0
    for column in chosen:
        if stop[0] != 0:
            break
        size = columns.sizes[column]
        if (size + 1) * width <= _CELLS_PER_ROW * n:
            varied += _sweep_histogram(columns, column, rows, node, sums, counts[: size + 1], left, best)
        else:
            sort_column(columns.codes[column], rows, size, keys, spare)
            varied += sweep_keys(keys, columns, node, column, left, best)
    return varied


@loop
def _sweep_histogram(
    columns: Columns, column: int, rows: Any, node: NodeFacts, sums: Any, counts: Any, left: Any, best: Any
) -> bool:
    """Count the codes of one column and offer its splits; False where all rows have one code."""
    size, targets = len(counts) - 1, node.targets
    counts[:] = 0
    if targets.n_classes > 0:
        _count_classes(columns.codes[column], rows, targets, sums, counts)
    else:
        _count_numbers(columns.codes[column], rows, targets, node.totals[0], sums, counts)
    lowest, highest = 0, size - 1
    while lowest < size and counts[lowest] == 0:
        lowest += 1
    while highest > lowest and counts[highest] == 0:
        highest -= 1
    if lowest == size or counts[lowest] == len(rows):
        return False
    cut, threshold = allowed_cut(columns, column, lowest, highest, node)
    for missing_left in range(1 if counts[size] == 0 else 2):
        if targets.n_classes > 0:
            sweep_class_histogram(sums, counts, node, column, cut, missing_left == 1, left, best)
        else:
            sweep_number_histogram(sums, counts, node, column, cut, missing_left == 1, best)
    if node.rules.random and best[COLUMN] == column:
        best[THRESHOLD] = threshold
    return True


@loop
def _count_classes(codes: Any, rows: Any, targets: Targets, sums: Any, counts: Any) -> None:
    """Rows of each code, and the weight of each class among them."""
    n_classes, labels = targets.n_classes, targets.labels
    sums[: len(counts) * n_classes] = 0.0
    if len(targets.weights) > 0:
        for i in range(len(rows)):
            code = codes[rows[i]]
            sums[code * np.uint64(n_classes) + np.uint64(labels[i])] += targets.weights[i]
            counts[code] += 1
        return
    if len(counts) * n_classes <= _FEW_CELLS:
        _count_few_cells(codes, rows, labels, n_classes, sums)
    else:
        for i in range(len(rows)):
            sums[codes[rows[i]] * np.uint64(n_classes) + np.uint64(labels[i])] += 1.0
    for code in range(len(counts)):
        for k in range(n_classes):
            counts[code] += int(sums[code * n_classes + k])


@loop
def _count_few_cells(codes: Any, rows: Any, labels: Any, n_classes: int, sums: Any) -> None:
    """Add one to the cell of each row.

    Neighbouring rows often share a cell, and an addition would wait for the one before it; so four tables take turns.
    """
    classes, cells = np.uint64(n_classes), np.uint64(_FEW_CELLS)
    tables = np.zeros(4 * _FEW_CELLS, np.int64)
    whole = len(rows) - len(rows) % 4
    for i in range(0, whole, 4):
        tables[codes[rows[i]] * classes + np.uint64(labels[i])] += 1
        tables[cells + codes[rows[i + 1]] * classes + np.uint64(labels[i + 1])] += 1
        tables[np.uint64(2) * cells + codes[rows[i + 2]] * classes + np.uint64(labels[i + 2])] += 1
        tables[np.uint64(3) * cells + codes[rows[i + 3]] * classes + np.uint64(labels[i + 3])] += 1
    for i in range(whole, len(rows)):
        tables[codes[rows[i]] * classes + np.uint64(labels[i])] += 1
    for k in range(4 * _FEW_CELLS):
        if tables[k] > 0:
            sums[k % _FEW_CELLS] += tables[k]


@loop
def _count_numbers(codes: Any, rows: Any, targets: Targets, mean: float, sums: Any, counts: Any) -> None:
    """Rows of each code, their weight, and their weighted distance from the mean."""
    weighted = len(targets.weights) > 0
    sums[: 2 * len(counts)] = 0.0
    for i in range(len(rows)):
        code = np.uint64(codes[rows[i]])
        weight = targets.weights[i] if weighted else 1.0
        sums[np.uint64(2) * code] += weight * (targets.numbers[i] - mean)
        sums[np.uint64(2) * code + np.uint64(1)] += weight
        counts[code] += 1


@loop
def may_split(rows: Any, targets: Targets, totals: Any, depth: int, rules: Rules) -> Any:
    """Fill in the totals of a node; whether it is mixed, large enough and high enough in the tree to have children."""
    varied, n_rows = _sum_targets(rows, targets, totals), len(rows)
    return (
        varied
        and depth < rules.max_depth
        and n_rows >= rules.min_samples_split
        and n_rows >= 2 * rules.min_samples_leaf
        and totals[targets.n_classes if targets.n_classes > 0 else 1] >= 2.0 * rules.min_weight_leaf
    )


@loop
def _sum_targets(rows: Any, targets: Targets, totals: Any) -> bool:
    """Fill in the totals of the targets of some rows; whether they differ at all."""
    weighted, n_classes = len(targets.weights) > 0, targets.n_classes
    if n_classes == 0:
        first, weight_all, varied = targets.numbers[rows[0]], 0.0, False
        shift = 0.0
        for row in rows:
            weight = targets.weights[row] if weighted else 1.0
            weight_all += weight
            shift += weight * (targets.numbers[row] - first)
            varied |= targets.numbers[row] != first
        totals[0], totals[1] = first + shift / weight_all, weight_all
        return varied
    totals[: n_classes + 1] = 0.0
    for row in rows:
        totals[targets.labels[row]] += targets.weights[row] if weighted else 1.0
    for k in range(n_classes):
        totals[n_classes] += totals[k]
    n_present = 0
    for k in range(n_classes):
        n_present += totals[k] > 0.0
    return n_present > 1


@loop
def draw_columns(order: Any, seed: int) -> None:
    """All columns in an order drawn from the seed."""
    n = len(order)
    for j in range(n):
        order[j] = j
    for j in range(n - 1):
        other = j + int(mixed(seed, j) % np.uint64(n - j))
        order[j], order[other] = order[other], order[j]
