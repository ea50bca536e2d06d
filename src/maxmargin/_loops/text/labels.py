"""Labels out of bytes: a number for every different one, in the order of their first use.

Known labels stand in a table with open addressing: slot h, h + 1, ... holds the number of the label with hash h, or -1.
Their bytes lie one after the other in a pool.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.text.numbers import NUMBER, scan_number

_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # of the FNV-1a hash
_32 = np.uint64(32)


class LabelSpace(NamedTuple):
    """Slots, a power of two of them and more than there may be labels; and label k in pool[ends[k] : ends[k + 1]]."""

    slots: Any
    ends: Any
    pool: Any


@loop
def code_labels(
    text: Any, begins: Any, ends: Any, first: int, last: int, known: int, space: LabelSpace, out: Any
) -> Any:
    """Write the number of each label of rows first to last - 1; return the row stopped at and how many are known.

    It stops early where the table or the pool has no room for a new label.
    """
    mask = np.uint64(len(space.slots) - 1)
    for row in range(first, last):
        begin, end = begins[row], ends[row]
        mixed = _BASIS
        for at in range(begin, end):
            mixed = (mixed ^ np.uint64(text[np.uintp(at)])) * _PRIME
        slot = (mixed ^ (mixed >> _32)) & mask
        code = space.slots[slot]
        while code >= 0 and not _same(text, begin, end, space, code):
            slot = (slot + np.uint64(1)) & mask
            code = space.slots[slot]
        if code < 0:
            used = space.ends[known]
            if known + 1 == len(space.ends) or used + end - begin > len(space.pool):
                return row, known
            for at in range(begin, end):
                space.pool[used + at - begin] = text[at]
            code = known
            space.slots[slot] = code
            known += 1
            space.ends[known] = used + end - begin
        out[row] = code
    return last, known


@loop
def _same(text: Any, begin: int, end: int, space: LabelSpace, code: int) -> bool:
    """Whether the label in the text is label `code`."""
    start = space.ends[code]
    if space.ends[code + 1] - start != end - begin:
        return False
    same = True
    for offset in range(end - begin):
        same &= text[np.uintp(begin + offset)] == space.pool[np.uintp(start + offset)]
    return same


@loop
def label_numbers(text: Any, begins: Any, ends: Any, first: int, last: int, out: Any) -> int:
    """Write the value of each label of rows first to last - 1; return the first row whose label is no plain number."""
    for row in range(first, last):
        value, at, kind = scan_number(text, begins[row])
        if kind != NUMBER or at != ends[row]:
            return row
        out[row] = value
    return last
