"""Rows on their way from a block of a source into segments of the row cache, and from segment to segment.

A segment is a stretch of preallocated memory that holds whole rows one after the other, with a few numbers beside each:
its place in the data, its target, its cost C_i and |x_i|^2. Rows order[:active] are those that are still trained on;
the others are only waiting for their memory to be used again.

Which rows of the data lie in some segment is told by one bit a row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.rows import copy_row, row_fits, row_square


class CachedRows(NamedTuple):
    """The arrays of one segment."""

    rows: Any
    number: Any
    """Place of each row in the data."""
    target: Any
    """Number to be predicted, or number of the class."""
    cost: Any
    square: Any
    order: Any
    """Rows of the segment: first those trained on, then those that are not."""


@fast_loop
def fill_segment(
    rows: Any, target: Any, cost: Any, start: int, first: int, segment: CachedRows, size: int, present: Any
) -> Any:
    """Append rows `first` and on of a block that begins at row `start` of the data, as many as fit.

    Rows that are in some segment already, and rows without a cost, are passed over. Returns the first row of the block
    that had no room, and how many rows the segment now has.
    """
    i = first
    while i < len(cost):
        number = start + i
        mask = np.uint8(1 << (number & 7))
        if cost[i] <= 0.0 or present[number >> 3] & mask:
            i += 1
            continue
        if size >= len(segment.number) or not row_fits(rows, i, segment.rows, size):
            break
        copy_row(rows, i, segment.rows, size)
        segment.number[size] = number
        segment.target[size] = target[i]
        segment.cost[size] = cost[i]
        segment.square[size] = row_square(rows, i)
        segment.order[size] = size
        present[number >> 3] |= mask
        size += 1
        i += 1
    return i, size


@fast_loop
def move_rows(segment: CachedRows, first: int, last: int, into: CachedRows, size: int) -> Any:
    """Append the rows order[first:last] of one segment to another, as many as fit.

    Returns the first place of the order that had no room, and how many rows the other segment now has.
    """
    k = first
    while k < last:
        i = segment.order[k]
        if size >= len(into.number) or not row_fits(segment.rows, i, into.rows, size):
            break
        copy_row(segment.rows, i, into.rows, size)
        into.number[size] = segment.number[i]
        into.target[size] = segment.target[i]
        into.cost[size] = segment.cost[i]
        into.square[size] = segment.square[i]
        into.order[size] = size
        size += 1
        k += 1
    return k, size


@fast_loop
def forget_rows(segment: CachedRows, first: int, last: int, present: Any) -> None:
    """Rows order[first:last] are no longer in any segment."""
    for k in range(first, last):
        number = segment.number[segment.order[k]]
        present[number >> 3] &= np.uint8(255 ^ (1 << (number & 7)))


@fast_loop
def count_entries(segment: CachedRows, active: int) -> int:
    """Entries of the sparse rows that are still trained on."""
    total = 0
    for k in range(active):
        i = segment.order[k]
        total += segment.rows.starts[i + 1] - segment.rows.starts[i]
    return total
