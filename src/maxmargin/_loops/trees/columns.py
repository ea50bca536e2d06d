"""The best split of a node, column by column, from the codes of its rows.

A column with few codes for the size of the node becomes a histogram of its codes; another one is sorted, by counting
digits. Rows are counted from 0 inside the node: `targets` are those of the node.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.records import COLUMN, ROW_BITS, THRESHOLD, mixed
from maxmargin._loops.trees.scans import (
    ANY_CUT,
    sweep_class_histogram,
    sweep_number_histogram,
    sweep_sorted_classes,
    sweep_sorted_numbers,
)

_DIGIT_BITS = 11
_DIGITS = 1 << _DIGIT_BITS
_FEW_CELLS = 256
_CELLS_PER_ROW = 4
"""Cells of a histogram that may be cleared and swept for each row that is counted."""


@loop
def sort_column(codes: Any, rows: Any, size: int, keys: Any, spare: Any) -> None:
    """Fill `keys` with the codes of the rows and their places, sorted by code and then by place."""
    n = len(rows)
    for i in range(n):
        keys[i] = np.uint64(codes[rows[i]]) << ROW_BITS | np.uint64(i)
    counts = np.empty(_DIGITS, np.int64)
    source, target = keys, spare
    shift, passes = ROW_BITS, 0
    while True:
        counts[:] = 0
        for i in range(n):
            counts[source[i] >> shift & np.uint64(_DIGITS - 1)] += 1
        place = 0
        for digit in range(_DIGITS):
            counts[digit], place = place, place + counts[digit]
        for i in range(n):
            digit = source[i] >> shift & np.uint64(_DIGITS - 1)
            target[counts[digit]] = source[i]
            counts[digit] += 1
        source, target = target, source
        passes += 1
        if size >> (passes * _DIGIT_BITS) == 0:
            break
        shift += np.uint64(_DIGIT_BITS)
    if passes % 2 == 1:
        for i in range(n):
            keys[i] = spare[i]


@loop
def sweep_keys(
    keys: Any, columns: Any, targets: Any, totals: Any, rules: Any, column: int, seed: int, left: Any, best: Any
) -> bool:
    """Offer the splits of a column whose keys are sorted; False where all rows have one code."""
    size = columns.sizes[column]
    known = len(keys)
    while known > 0 and np.int64(keys[known - 1] >> ROW_BITS) == size:
        known -= 1
    if known == 0 or (known == len(keys) and keys[0] >> ROW_BITS == keys[known - 1] >> ROW_BITS):
        return False
    cut, threshold = ANY_CUT, 0.0
    if rules.random:
        lowest, highest = np.int64(keys[0] >> ROW_BITS), np.int64(keys[known - 1] >> ROW_BITS)
        cut, threshold = random_cut(columns, column, lowest, highest, seed)
    for missing_left in range(1 if known == len(keys) else 2):
        if targets.n_classes > 0:
            sweep_sorted_classes(keys, known, targets, totals, rules, column, cut, missing_left == 1, left, best)
        else:
            sweep_sorted_numbers(keys, known, targets, totals, rules, column, cut, missing_left == 1, best)
    if rules.random and best[COLUMN] == column:
        best[THRESHOLD] = threshold
    return True


@loop
def sweep_columns(
    columns: Any,
    chosen: Any,
    rows: Any,
    targets: Any,
    totals: Any,
    rules: Any,
    seed: int,
    room: Any,
    best: Any,
    stop: Any,
) -> int:
    """Offer the splits of the chosen columns; returns how many of them have more than one code in the node.

    `room` is a pair of arrays to sort in, with a number for every row.
    """
    keys, spare = room
    n = len(rows)
    width = max(targets.n_classes, 2)
    sums, counts = np.empty(_CELLS_PER_ROW * n + 4 * width), np.empty(_CELLS_PER_ROW * n + 4, np.int64)
    left = np.empty(width)
    varied = 0
    for column in chosen:
        if stop[0] != 0:
            break
        size = columns.sizes[column]
        if (size + 1) * width <= _CELLS_PER_ROW * n:
            varied += _sweep_histogram(columns, column, rows, targets, totals, rules, seed, sums, counts, left, best)
        else:
            sort_column(columns.codes[column], rows, size, keys, spare)
            varied += sweep_keys(keys[:n], columns, targets, totals, rules, column, seed, left, best)
    return varied


@loop
def _sweep_histogram(
    columns: Any,
    column: int,
    rows: Any,
    targets: Any,
    totals: Any,
    rules: Any,
    seed: int,
    sums: Any,
    counts: Any,
    left: Any,
    best: Any,
) -> bool:
    """Count the codes of one column and offer its splits; False where all rows have one code."""
    size, n_classes, n = columns.sizes[column], targets.n_classes, len(rows)
    if n_classes > 0:
        _count_classes(columns.codes[column], rows, size, targets, sums, counts)
    else:
        _count_numbers(columns.codes[column], rows, size, targets, totals[0], sums, counts)
    lowest, highest = 0, size - 1
    while lowest < size and counts[lowest] == 0:
        lowest += 1
    while highest > lowest and counts[highest] == 0:
        highest -= 1
    if lowest == size or counts[lowest] == n:
        return False
    cut, threshold = ANY_CUT, 0.0
    if rules.random:
        cut, threshold = random_cut(columns, column, lowest, highest, seed)
    for missing_left in range(1 if counts[size] == 0 else 2):
        if n_classes > 0:
            sweep_class_histogram(
                sums, counts, size, n, targets, totals, rules, column, cut, missing_left == 1, left, best
            )
        else:
            sweep_number_histogram(sums, counts, size, n, totals, rules, column, cut, missing_left == 1, best)
    if rules.random and best[COLUMN] == column:
        best[THRESHOLD] = threshold
    return True


@loop
def _count_classes(codes: Any, rows: Any, size: int, targets: Any, sums: Any, counts: Any) -> None:
    """Rows of each code, and the weight of each class among them."""
    n_classes, labels = targets.n_classes, targets.labels
    sums[: (size + 1) * n_classes] = 0.0
    counts[: size + 1] = 0
    if len(targets.weights) > 0:
        for i in range(len(rows)):
            code = codes[rows[i]]
            sums[code * np.uint64(n_classes) + np.uint64(labels[i])] += targets.weights[i]
            counts[code] += 1
        return
    if (size + 1) * n_classes <= _FEW_CELLS:
        _count_few_cells(codes, rows, labels, n_classes, sums)
    else:
        for i in range(len(rows)):
            sums[codes[rows[i]] * np.uint64(n_classes) + np.uint64(labels[i])] += 1.0
    for code in range(size + 1):
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
def _count_numbers(codes: Any, rows: Any, size: int, targets: Any, mean: float, sums: Any, counts: Any) -> None:
    """Rows of each code, their weight, and their weighted distance from the mean."""
    weighted = len(targets.weights) > 0
    sums[: 2 * (size + 1)] = 0.0
    counts[: size + 1] = 0
    for i in range(len(rows)):
        code = np.uint64(codes[rows[i]])
        weight = targets.weights[i] if weighted else 1.0
        sums[np.uint64(2) * code] += weight * (targets.numbers[i] - mean)
        sums[np.uint64(2) * code + np.uint64(1)] += weight
        counts[code] += 1


@loop
def random_cut(columns: Any, column: int, lowest: Any, highest: Any, seed: Any) -> tuple[Any, float]:
    """A threshold drawn between two values of a column, and the last code that is not above it."""
    offset = columns.offsets[column]
    low, high = columns.values[offset + lowest], columns.values[offset + highest]
    share = float(mixed(seed, column) >> np.uint64(11)) / 9007199254740992.0
    threshold = low + share * (high - low)
    if not low <= threshold < high:  # rounding, or a range beyond the largest number
        threshold = low
    first, last = lowest, highest
    while last - first > 1:
        middle = (first + last) // 2
        if columns.values[offset + middle] <= threshold:
            first = middle
        else:
            last = middle
    return first, threshold


@loop
def threshold_between(columns: Any, low: int, high: int, rules: Any, best: Any) -> float:
    """Threshold of the best split, whose sides end with code `low` and begin with code `high`.

    It is the midpoint, or the number that was drawn; infinity where only missing rows are on the right.
    """
    column = int(best[COLUMN])
    if high == columns.sizes[column]:
        return np.inf
    if rules.random:
        return float(best[THRESHOLD])
    below, above = columns.values[columns.offsets[column] + low], columns.values[columns.offsets[column] + high]
    middle = below / 2.0 + above / 2.0
    # The midpoint of two neighbouring numbers is rounded to one of them; the upper one would go left with the lower.
    return float(middle if below <= middle < above else below)


@loop
def node_totals(rows: Any, targets: Any, totals: Any) -> bool:
    """Sums over the given rows of the targets; whether they differ at all.

    Classes: the weight of each, then of all. Numbers: the mean, then the weight of all.
    """
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
def divide_rows(codes: Any, rows: Any, low: int, size: int, missing_left: bool, spare: Any) -> tuple[int, int, int]:
    """Bring the rows of the left side to the front, both sides in their old order.

    Returns how many go left, the least known code on the right (`size` where there is none), and how many are missing.
    """
    n_left, n_right, n_missing = 0, 0, 0
    high: Any = size
    for row in rows:
        code = np.int64(codes[row])
        goes_left: Any = missing_left if code == size else code <= low
        rows[n_left] = row
        spare[n_right] = row
        n_left += goes_left
        n_right += not goes_left
        n_missing += code == size
        if code > low:
            high = min(high, code)
    for i in range(n_right):
        rows[n_left + i] = spare[i]
    return n_left, high, n_missing


@loop
def draw_columns(order: Any, seed: int) -> None:
    """All columns in an order drawn from the seed."""
    n = len(order)
    for j in range(n):
        order[j] = j
    for j in range(n - 1):
        other = j + int(mixed(seed, j) % np.uint64(n - j))
        order[j], order[other] = order[other], order[j]
