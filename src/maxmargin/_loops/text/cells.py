"""Rows of comma-separated text out of bytes: numbers in all columns but the one with the label, if there is one.

A cell may stand in double quotes, and the label's may then hold separators, line breaks and doubled quotes. The loop
reads what is right and stops at the first record that is not, or that goes on beyond the text.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.text.bytes import LINE_FEED, QUOTE, RETURN, SPACE, TAB
from maxmargin._loops.text.numbers import NOT_A_NUMBER, SLOW_NUMBER, scan_number, wrapping_loop
from maxmargin._loops.text.rows import COMPLETE, MALFORMED, UNFINISHED, RowSpace, TextProgress


@wrapping_loop
def read_cells(
    text: Any, end: int, separator: int, cells: int, label_cell: int, done: TextProgress, space: RowSpace
) -> tuple[TextProgress, int]:
    """Read records from byte `done.at` on, up to byte `end`; return how far and why it stopped there.

    Byte end - 1 must be a line feed. No cell is a label where `label_cell` is -1.
    """
    at, lines, row, entry, slow = done
    while at < end:
        begin, first_entry, first_slow, breaks = at, entry, slow, 0
        at = _after_blanks(text, at, separator)
        if text[np.uintp(at)] == RETURN and text[np.uintp(at + 1)] == LINE_FEED:
            at += 1
        if text[np.uintp(at)] == LINE_FEED:
            at += 1
            lines += 1
            continue
        reason = COMPLETE
        for cell in range(cells):
            at = _after_blanks(text, at, separator)
            quoted = text[np.uintp(at)] == QUOTE
            if quoted:
                at += 1
            if cell == label_cell:
                space.label_begin[row] = at
                if quoted:
                    while at < end and (text[np.uintp(at)] != QUOTE or text[np.uintp(at + 1)] == QUOTE):
                        breaks += text[np.uintp(at)] == LINE_FEED
                        at += 2 if text[np.uintp(at)] == QUOTE else 1
                    if at >= end:
                        reason = UNFINISHED
                        break
                    space.label_end[row] = at
                else:
                    byte = text[np.uintp(at)]
                    while byte != separator and byte != LINE_FEED and byte != QUOTE and byte != 0:
                        at += 1
                        byte = text[np.uintp(at)]
                    last = at
                    while last > space.label_begin[row] and _is_blank(text[np.uintp(last - 1)]):
                        last -= 1
                    space.label_end[row] = last
                if space.label_end[row] == space.label_begin[row]:
                    reason = MALFORMED
            else:
                number = at
                value, at, kind = scan_number(text, number)
                space.values[np.uintp(entry)] = value
                if kind == NOT_A_NUMBER or not np.isfinite(space.values[np.uintp(entry)]):
                    reason = MALFORMED
                elif kind == SLOW_NUMBER:
                    space.slow[slow, 0], space.slow[slow, 1] = entry, number
                    space.slow[slow, 2], space.slow[slow, 3] = at, begin
                    slow += 1
                entry += 1
            if quoted and reason == COMPLETE:
                if text[np.uintp(at)] != QUOTE:
                    reason = MALFORMED
                at += 1
            at = _after_blanks(text, at, separator)
            if text[np.uintp(at)] == RETURN and text[np.uintp(at + 1)] == LINE_FEED:
                at += 1
            if reason != COMPLETE or text[np.uintp(at)] != (LINE_FEED if cell == cells - 1 else separator):
                reason = max(reason, MALFORMED)
                break
            at += 1
        if reason != COMPLETE:
            return TextProgress(begin, lines, row, first_entry, first_slow), reason
        lines += 1 + breaks
        row += 1
        space.starts[row] = entry
    return TextProgress(at, lines, row, entry, slow), COMPLETE


@loop
def _is_blank(byte: int) -> bool:
    """Whether the byte is a space, a tab or a carriage return."""
    return (byte == SPACE) | (byte == TAB) | (byte == RETURN)


@loop
def _after_blanks(text: Any, at: int, separator: int) -> int:
    """The first byte from `at` on that is no space, nor a tab unless tabs separate."""
    byte = text[np.uintp(at)]
    while byte == SPACE or (byte == TAB and byte != separator):
        at += 1
        byte = text[np.uintp(at)]
    return at
