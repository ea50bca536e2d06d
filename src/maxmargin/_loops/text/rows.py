"""Rows of LIBSVM text out of bytes.

    label [qid:number] index:value index:value ... [# comment]

One line is one row; indices increase; spaces and tabs separate. The loop reads what is right and stops at the first
line that is not. What is wrong with that line is for the caller to find out, who has the time.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import loop
from maxmargin._loops.text.bytes import (
    COLON,
    HASH,
    LINE_FEED,
    MINUS,
    NINE,
    PLUS,
    RETURN,
    SPACE,
    TAB,
    ZERO,
)
from maxmargin._loops.text.numbers import NUMBER, SLOW_NUMBER, scan_number

_NAN, _INFINITY, _GROUP = (np.frombuffer(word, dtype=np.uint8) for word in (b"nan", b"infinity", b"qid:"))
_SMALL = 32  # the bit that makes a capital a small letter


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

    The line feed at the end of the text is in no word, and so keeps the look within the text.
    """
    k = 0
    while k < len(word) and text[np.uintp(at + k)] | bits == word[k]:
        k += 1
    return k == len(word)
