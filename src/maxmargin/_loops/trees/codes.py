"""Codes of a column, the ranks of its values among its distinct values: made, sorted, divided and turned back.

Columns of whole numbers within a small range, as counts and flags are, need no sort to be coded: a table of the numbers
that occur gives the ranks in two passes. The rows of a node are sorted by their codes, by counting digits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.trees.records import ANY_CUT, COLUMN, ROW_BITS, THRESHOLD, Columns, NodeFacts, Rules, mixed

_DIGIT_BITS = 11
_DIGITS = 1 << _DIGIT_BITS


@loop
def code_whole_numbers(column: Any, low: float, table: Any, codes: Any, values: Any) -> int:
    """Ranks of whole numbers from `low` on; the distinct ones go to `values`, their number is returned.

    `table` has a zero for every number of the range, and one more for the missing ones. A number that is not whole ends
    the attempt: -1 is returned.
    """
    missing = len(table) - 1
    for value in column:
        if value == value:
            place = np.int64(value - low)
            if low + place != value:
                return -1
            table[place] = 1
    size = 0
    for position in range(missing):
        if table[position]:
            values[size] = low + position
            table[position] = size
            size += 1
    table[missing] = size
    for i in range(len(column)):
        value = column[i]
        codes[i] = table[np.uint64(value - low) if value == value else np.uint64(missing)]
    return size


@loop
def code_sorted_numbers(column: Any, order: Any, codes: Any, values: Any) -> int:
    """Ranks of any numbers, given the order that sorts them; the distinct ones go to `values`."""
    size = 0
    for row in order:
        value = column[row]
        if value == value and (size == 0 or value != values[size - 1]):
            values[size] = value
            size += 1
        codes[row] = size - 1 if value == value else size
    return size


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
def allowed_cut(columns: Columns, column: int, lowest: Any, highest: Any, node: NodeFacts) -> tuple[Any, float]:
    """The last code on the left, and the threshold: drawn between two values of a column, or ANY_CUT where none is."""
    if not node.rules.random:
        return np.int64(ANY_CUT), 0.0
    offset = columns.offsets[column]
    low, high = columns.values[offset + lowest], columns.values[offset + highest]
    share = float(mixed(node.seed, column) >> np.uint64(11)) / 9007199254740992.0
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
def threshold_between(columns: Columns, low: int, high: int, rules: Rules, best: Any) -> float:
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
