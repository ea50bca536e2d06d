"""From the keys of what occurs in a row to the columns and values of a sparse row.

A key is 2 * column, plus 1 where the occurrence counts -1 instead of +1. The value of a column is the sum of the signs
of its keys; a column whose signs cancel is left out. Columns come out in increasing order, in one of two ways:

    few columns     a tally of all columns is kept, and read from the first to the last
    many columns    the keys are sorted, so that those of a column stand together
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._types import RowIndex

MOST_DIGITS = 1 << 11
"""Length of the room in which digits are counted."""

COLUMNS_A_KEY = 4
"""Up to so many it is quicker to look at all columns than to sort the keys."""

ZERO: Any = np.int64(0)
"""Where a place begins: for the plain number 0, whose value is part of its type, a loop is compiled once more."""

_UNEVEN = 32  # keys that every key meets in its bucket, above which insertion takes longer than more passes


class Counter(NamedTuple):
    """Room for the keys of one row, used for one row after the other."""

    keys: NDArray[np.uint32]
    other: NDArray[np.uint32]
    """One longer than `keys`, which are moved here and back."""
    digits: NDArray[np.int64]
    tally: NDArray[np.int64]
    """Zero between rows; one number a column, or none where there are too many columns."""


class Entries(NamedTuple):
    """Room for the columns and values of all rows, and how many each row has."""

    columns: NDArray[np.uint32]
    values: Any
    sizes: RowIndex


@loop
def sort_keys(keys: NDArray[np.uint32], n: int, n_bits: int, other: NDArray[np.uint32], digits: Any) -> None:
    """Sort keys[:n], numbers of `n_bits` bits; `other` holds as many keys, `digits` MOST_DIGITS counts.

    One pass puts the keys into about as many buckets as there are keys, by their leading bits; what is left is done by
    insertion, which takes a step or two where keys are spread evenly. Where they are not, all bits are gone through.
    """
    in_order = 1
    while in_order < n and keys[in_order - 1] <= keys[in_order]:
        in_order += 1
    if in_order >= n:
        return
    leading = 3
    while leading < n_bits and 1 << leading < min(n, MOST_DIGITS):
        leading += 1
    shift = np.uint32(max(0, n_bits - leading))
    for digit in range(1 << leading):
        digits[digit] = 0
    for k in range(n):
        digits[np.uintp(keys[np.uintp(k)] >> shift)] += 1
    place, meetings = 0, 0
    for digit in range(1 << leading):
        count = digits[np.uintp(digit)]
        digits[np.uintp(digit)] = place
        place += count
        meetings += count * count
    if meetings > _UNEVEN * n:
        _sort_by_all_bits(keys, n, n_bits, other, digits)
        return
    for k in range(n):
        key = keys[np.uintp(k)]
        bucket = np.uintp(key >> shift)
        other[np.uintp(digits[bucket])] = key
        digits[bucket] += 1
    for k in range(n):
        key = other[np.uintp(k)]
        j = k
        while j > 0 and keys[np.uintp(j - 1)] > key:
            keys[np.uintp(j)] = keys[np.uintp(j - 1)]
            j -= 1
        keys[np.uintp(j)] = key


@loop
def _sort_by_all_bits(keys: NDArray[np.uint32], n: int, n_bits: int, other: NDArray[np.uint32], digits: Any) -> None:
    """Eight bits at a time, lowest first: a pass counts the digits and puts every key after those with smaller ones."""
    for shift in range(0, n_bits, 8):
        for digit in range(256):
            digits[digit] = 0
        for k in range(n):
            digits[(keys[k] >> shift) & 255] += 1
        place = 0
        for digit in range(256):
            place, digits[digit] = place + digits[digit], place
        for k in range(n):
            digit = (keys[k] >> shift) & 255
            other[digits[digit]] = keys[k]
            digits[digit] += 1
        for k in range(n):
            keys[k] = other[k]


@loop
def _tally_keys(
    keys: NDArray[np.uint32],
    n: int,
    tally: NDArray[np.int64],
    other: NDArray[np.uint32],
    columns: NDArray[np.uint32],
    values: Any,
    place: int,
) -> int:
    """As `write_counts`, by a tally of all columns."""
    for k in range(n):
        key = keys[np.uintp(k)]
        tally[np.uintp(key >> np.uint32(1))] += 1 - 2 * np.int64(key & np.uint32(1))
    found = 0
    for column in range(len(tally)):  # without a branch, which nobody could foresee
        other[np.uintp(found)] = column
        found += tally[np.uintp(column)] != 0
    for j in range(found):
        column = other[np.uintp(j)]
        columns[np.uintp(place)] = column
        values[np.uintp(place)] = tally[np.uintp(column)]
        tally[np.uintp(column)] = 0
        place += 1
    return place


@loop
def _add_up_keys(keys: NDArray[np.uint32], n: int, columns: NDArray[np.uint32], values: Any, place: int) -> int:
    """As `write_counts`, of sorted keys."""
    k = 0
    while k < n:
        column = keys[np.uintp(k)] >> np.uint32(1)
        value = np.int64(0)
        while k < n and keys[np.uintp(k)] >> np.uint32(1) == column:
            value += 1 - 2 * np.int64(keys[np.uintp(k)] & np.uint32(1))
            k += 1
        if value != 0:
            columns[np.uintp(place)] = column
            values[np.uintp(place)] = value
            place += 1
    return place


@loop
def write_counts(
    keys: NDArray[np.uint32],
    n: int,
    n_bits: int,
    other: NDArray[np.uint32],
    digits: NDArray[np.int64],
    tally: NDArray[np.int64],
    unit_length: bool,
    columns: NDArray[np.uint32],
    values: Any,
    place: int,
) -> int:
    """Columns and values of the row with keys[:n], from `place` on; returns where they end. The keys are used up."""
    if 0 < len(tally) <= COLUMNS_A_KEY * n:
        last = _tally_keys(keys, n, tally, other, columns, values, place)
    else:
        sort_keys(keys, n, n_bits, other, digits)
        last = _add_up_keys(keys, n, columns, values, place)
    if unit_length:
        square = 0.0
        for j in range(place, last):
            square += float(values[np.uintp(j)]) * float(values[np.uintp(j)])
        scale = 1.0 / np.sqrt(square) if square > 0.0 else 1.0
        for j in range(place, last):
            values[np.uintp(j)] *= scale
    return last
