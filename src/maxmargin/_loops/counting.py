"""From the keys of what occurs in a row to the columns and values of a sparse row.

A key is 2 * column, plus 1 where the occurrence counts -1 instead of +1. Sorted, the keys of a column stand together;
its value is the sum of their signs, and a column whose signs cancel is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._types import RowIndex

_FEW_KEYS = 48  # which are sorted sooner by insertion than by counting digits


@loop
def sort_keys(
    keys: NDArray[np.uint32], begin: int, end: int, n_bits: int, room: NDArray[np.uint32], digits: RowIndex
) -> None:
    """Sort keys[begin:end], numbers of `n_bits` bits; `room` holds as many keys, `digits` 256 counts.

    Eight bits at a time, lowest first: a pass counts the digits and puts every key after those with smaller ones.
    """
    if end - begin < _FEW_KEYS:
        for k in range(begin + 1, end):
            key = keys[k]
            j = k
            while j > begin and keys[j - 1] > key:
                keys[j] = keys[j - 1]
                j -= 1
            keys[j] = key
        return
    in_order = 1
    while begin + in_order < end and keys[begin + in_order - 1] <= keys[begin + in_order]:
        in_order += 1
    if begin + in_order == end:  # as where every place has columns of its own
        return
    for shift in range(0, n_bits, 8):
        digits[:] = 0
        for k in range(begin, end):
            digits[(keys[k] >> shift) & 255] += 1
        place = 0
        for digit in range(256):
            place, digits[digit] = place + digits[digit], place
        for k in range(begin, end):
            digit = (keys[k] >> shift) & 255
            room[digits[digit]] = keys[k]
            digits[digit] += 1
        for k in range(begin, end):
            keys[k] = room[k - begin]


@loop
def count_columns(keys: NDArray[np.uint32], begin: int, end: int) -> int:
    """Number of columns of the sorted keys[begin:end] whose value is not zero."""
    columns = 0
    k = begin
    while k < end:
        column = keys[k] >> 1
        value = 0
        while k < end and keys[k] >> 1 == column:
            value += 1 - 2 * int(keys[k] & 1)
            k += 1
        if value != 0:
            columns += 1
    return columns


@loop
def write_counts(
    keys: NDArray[np.uint32],
    key_starts: RowIndex,
    starts: RowIndex,
    unit_length: bool,
    columns: NDArray[np.int32],
    values: Any,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Columns and values of rows start to end - 1; row i has its entries from starts[i] on."""
    for i in range(start, end):
        if stop[0] != 0:
            return
        place = starts[i]
        square = 0.0
        k = key_starts[i]
        while k < key_starts[i + 1]:
            column = keys[k] >> 1
            value = 0
            while k < key_starts[i + 1] and keys[k] >> 1 == column:
                value += 1 - 2 * int(keys[k] & 1)
                k += 1
            if value != 0:
                columns[place] = column
                values[place] = value
                square += float(value) * value
                place += 1
        if unit_length and square > 0.0:
            scale = 1.0 / np.sqrt(square)
            for j in range(starts[i], place):
                values[j] *= scale
