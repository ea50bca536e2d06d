"""Rows of text out of bytes, and their labels: loops read what is right and stop at the first row that is not.

What is wrong with that row is for the caller to find out, who has the time.

LIBSVM text has the label first, and one line is one row; indices increase; spaces and tabs separate:

    label [qid:number] index:value index:value ... [# comment]

Comma-separated text has numbers in all columns but the one with the label, if there is one. A cell may stand in double
quotes, and the label's may then hold separators, line breaks and doubled quotes, so that a row may have several lines.

Every different label has a number, in the order of their first use. Known labels stand in a table with open addressing:
slot h, h + 1, ... holds the number of the label with hash h, or -1. Their bytes lie one after the other in a pool.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.text.numbers import (
    MINUS,
    NOT_A_NUMBER,
    NUMBER,
    PLUS,
    SLOW_NUMBER,
    scan_number,
    wrapping_loop,
)

SPACE, TAB, LINE_FEED, RETURN = b" \t\n\r"
HASH, COLON, QUOTE, ZERO, NINE = b'#:"09'
_NAN, _INFINITY, _GROUP = (np.frombuffer(word, dtype=np.uint8) for word in (b"nan", b"infinity", b"qid:"))
_SMALL = 32  # the bit that makes a capital a small letter
_BASIS, _PRIME = np.uint64(14695981039346656037), np.uint64(1099511628211)  # of the FNV-1a hash
_32 = np.uint64(32)

COMPLETE, MALFORMED, UNFINISHED = 0, 1, 2
"""Why a loop stopped: at the end, at a line that is not right, or at one that goes on beyond the text."""


class RowSpace(NamedTuple):
    """Memory that rows are written to; entries starts[i] to starts[i + 1] - 1 belong to row i.

    Bytes label_begin[i] to label_end[i] - 1 of the text are the label of row i. Value slow[k, 0] stands in bytes
    slow[k, 1] to slow[k, 2] - 1, on the line that begins at byte slow[k, 3], and is for the caller to read. Rows that
    have a value for every column leave `columns` alone.
    """

    values: Any
    columns: Any
    starts: Any
    label_begin: Any
    label_end: Any
    slow: Any


class TextProgress(NamedTuple):
    """How far the text was read: the next byte, line breaks passed, and rows, entries and slow values written."""

    at: int
    lines: int
    rows: int
    entries: int
    slow: int


@loop
def read_rows(
    text: Any, end: int, base: int, least: int, n_columns: int, done: TextProgress, space: RowSpace
) -> tuple[TextProgress, int]:
    """Read rows from byte `done.at` on, up to byte `end`; return how far and why it stopped there.

    Byte end - 1 must be a line feed. Column j is written in the text as j + base; columns below `least` or from
    `n_columns` on are malformed. The progress of a malformed line stops at its first byte.
    """
    at, lines, row, entry, slow = done
    while at < end:
        begin = at
        byte = text[np.uintp(at)]
        while (byte == SPACE) | (byte == TAB):
            at += 1
            byte = text[np.uintp(at)]
        label = at
        while byte > SPACE and byte != HASH and byte != COLON:
            at += 1
            byte = text[np.uintp(at)]
        label_end = at
        previous, first_entry = least - 1, entry
        fine = byte != COLON and not _is_not_finite(text, label, label_end)
        asks = True  # whether a group number may follow
        while fine:
            while (byte == SPACE) | (byte == TAB):
                at += 1
                byte = text[np.uintp(at)]
            token = at
            index = 0
            while ZERO <= byte <= NINE:
                index = index * 10 + (int(byte) - 48)
                at += 1
                byte = text[np.uintp(at)]
            if at == token or byte != COLON or at - token > 10:
                if asks and at == token and _is_word(text, at, _GROUP, 0):
                    asks = False
                    at += 4
                    at += 1 if text[np.uintp(at)] == MINUS else 0
                    first = at
                    byte = text[np.uintp(at)]
                    while ZERO <= byte <= NINE:
                        at += 1
                        byte = text[np.uintp(at)]
                    fine = at > first and (byte <= SPACE or byte == HASH)
                    continue
                fine = at == token
                break
            asks = False
            column = index - base
            number = at + 1
            byte = text[np.uintp(number)]
            if ZERO <= byte <= NINE and text[np.uintp(number + 1)] <= SPACE:  # a single digit: most often all ones
                value, at, kind = float(byte) - 48.0, number + 1, NUMBER
            else:
                value, at, kind = scan_number(text, number)
            byte = text[np.uintp(at)]
            if column <= previous or column >= n_columns or (byte > SPACE and byte != HASH):
                fine = False
            elif kind == NUMBER:
                space.values[np.uintp(entry)] = value
                fine = np.isfinite(space.values[np.uintp(entry)])
            elif kind == SLOW_NUMBER:
                space.slow[slow, 0], space.slow[slow, 1], space.slow[slow, 2] = entry, number, at
                space.slow[slow, 3] = begin
                slow += 1
            else:
                fine = False
            space.columns[np.uintp(entry)] = column
            previous = column
            entry += 1
        if fine and byte == HASH:
            while byte != LINE_FEED:
                at += 1
                byte = text[np.uintp(at)]
        if fine and byte == RETURN:
            at += 1
            byte = text[np.uintp(at)]
        if not fine or byte != LINE_FEED or (label_end == label and entry > first_entry):
            while slow > 0 and space.slow[slow - 1, 0] >= first_entry:
                slow -= 1
            return TextProgress(begin, lines, row, first_entry, slow), MALFORMED
        at += 1
        lines += 1
        if label_end > label:
            space.label_begin[np.uintp(row)] = label
            space.label_end[np.uintp(row)] = label_end
            row += 1
            space.starts[np.uintp(row)] = entry
    return TextProgress(at, lines, row, entry, slow), COMPLETE


@loop
def _is_not_finite(text: Any, begin: int, end: int) -> bool:
    """Whether the word is nan, inf or infinity, with a sign or without, in capitals or not."""
    if text[np.uintp(begin)] == PLUS or text[np.uintp(begin)] == MINUS:
        begin += 1
    length = end - begin
    if length == 8:
        return _is_word(text, begin, _INFINITY, _SMALL)
    return length == 3 and (_is_word(text, begin, _NAN, _SMALL) or _is_word(text, begin, _INFINITY[:3], _SMALL))


@loop
def _is_word(text: Any, at: int, word: Any, bits: int) -> bool:
    """Whether the word stands here, with the given bits set in every byte.

    The line feed at the end of the text is in no word, and so no byte behind the text is read.
    """
    k = 0
    while k < len(word) and text[np.uintp(at + k)] | bits == word[k]:
        k += 1
    return k == len(word)


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
