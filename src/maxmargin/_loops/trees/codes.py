"""Ranks of the values of a column among its distinct values; the missing ones come last.

Columns of whole numbers within a small range, as counts and flags are, need no sort: a table of the numbers that occur
gives the ranks in two passes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop


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
