"""K-mers of DNA sequences, with and without gaps, as columns.

A sequence is brought into numbers first, one a letter (A 0, C 1, G 2, T 3). Patterns are gone through one after the
other, each along the stretches of letters that are known. The last 32 letters stand in one word of 64 bits, two bits a
letter, the newest in the lowest bits. A second word holds their complements in reverse order, the newest in the highest
bits: the other strand as it is read there. A pattern takes runs of letters out of either by shift and mask, so a k-mer
costs a few instructions however long it is.

Where every place has columns of its own and one strand counts, the columns come in increasing order and once each: they
are written where they belong, and nothing is left to sort or to add up.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._loops.features.counting import ZERO, Counter, Entries, write_counts
from maxmargin._loops.features.ngrams import Bytes, Texts

Keys: TypeAlias = NDArray[np.uint32]
Records: TypeAlias = NDArray[Any]
"""Structured arrays, because to pass a NamedTuple of many arrays on counts references for every sequence."""

UNKNOWN = 4
FOREIGN = 8  # a bit of its own: the letters of a sequence, or-ed together, tell whether there is one

PATTERN = np.dtype(
    [
        ("span", np.int64),  # letters from the first to the last that counts
        ("base", np.int64),  # first column
        ("stride", np.int64),  # columns from one place in a sequence to the next; 0 where the place does not matter
        ("mirror", np.int64),  # number of the pattern that this one is when it is read from the other end
        ("first_run", np.int64),
        ("last_run", np.int64),  # the first run after those of this pattern
    ]
)
"""Which letters of a window count."""

RUN = np.dtype([("shift", np.uint64), ("mask", np.uint64), ("place", np.uint64)])
"""Letters next to each other: how they are taken from a window, and where they go."""


class Words(NamedTuple):
    """Which words are counted, and how."""

    codes: Bytes
    """Number of every letter, UNKNOWN or FOREIGN."""
    patterns: Records
    runs: Records
    both_strands: bool
    unit_length: bool
    n_bits: int
    """Length of the largest key."""


@loop
def _taken(window: Any, first: int, last: int, runs: Records) -> int:
    """Number of the letters that runs first to last - 1 take from a window, the first letter in the highest bits."""
    number = np.uint64(0)
    for r in range(first, last):
        run = runs[r]
        number |= ((window >> run["shift"]) & run["mask"]) << run["place"]
    return int(number)


@loop
def find_foreign_letter(texts: Texts, codes: Bytes, start: int, end: int, stop: Bytes) -> int:
    """Position among all letters of the first of texts start to end - 1 that is no letter of DNA; -1 if all are."""
    for i in range(start, end):
        if stop[0] != 0:
            return -1
        for k in range(texts.starts[i], texts.ends[i]):
            if codes[texts.letters[k]] == FOREIGN:
                return int(k)
    return -1


@loop
def _read_letters(letters: Bytes, begin: int, end: int, codes: Bytes, sequence: Bytes) -> Any:
    """Codes of letters[begin:end] into `sequence`; returns them or-ed together."""
    found = np.uint8(0)
    for k in range(end - begin):
        code = codes[letters[np.uintp(begin) + np.uintp(k)]]
        sequence[np.uintp(k)] = code
        found |= code
    return found


@loop
def _write_letters(sequence: Bytes, begin: int, end: int, base: int, stride: int, columns: Keys, place: int) -> int:
    """As `_write_run` for k-mers of one letter, of which one strand counts."""
    for k in range(begin, end):
        columns[np.uintp(place + k - begin)] = base + stride * k + sequence[np.uintp(k)]
    return place + end - begin


@loop
def _write_plain(
    sequence: Bytes, begin: int, end: int, span: int, base: int, stride: int, mask: Any, columns: Keys, place: int
) -> int:
    """As `_write_run` for k-mers without gaps, of which one strand counts."""
    window = np.uint64(0)
    for k in range(begin, min(begin + span - 1, end)):
        window = (window << np.uint64(2)) | np.uint64(sequence[np.uintp(k)])
    column = base + stride * begin
    for k in range(begin + span - 1, end):
        window = (window << np.uint64(2)) | np.uint64(sequence[np.uintp(k)])
        columns[np.uintp(place)] = column + np.int64(window & mask)
        place += 1
        column += stride
    return place


@loop
def _write_run(
    sequence: Bytes,
    n: int,
    begin: int,
    end: int,
    patterns: Records,
    runs: Records,
    p: int,
    both_strands: bool,
    columns: Keys,
    place: int,
) -> int:
    """Columns of pattern p in letters begin to end - 1 of a sequence of n, all known; returns where they end."""
    this = patterns[p]
    span, base, stride, first, last = this["span"], this["base"], this["stride"], this["first_run"], this["last_run"]
    if last == first + 1 and not both_strands:
        if span == 1:
            return _write_letters(sequence, begin, end, base, stride, columns, place)
        return _write_plain(sequence, begin, end, span, base, stride, runs[first]["mask"], columns, place)
    other = patterns[this["mirror"]]
    forward, backward = np.uint64(0), np.uint64(0)
    for k in range(begin, end):
        code = np.uint64(sequence[np.uintp(k)])
        forward = (forward << np.uint64(2)) | code
        backward = (backward >> np.uint64(2)) | ((code ^ np.uint64(3)) << np.uint64(62))
        if k - begin + 1 < span:
            continue
        column = base + stride * (k - span + 1) + _taken(forward, first, last, runs)
        if both_strands:
            window = backward >> np.uint64(64 - 2 * span)
            opposite = _taken(window, other["first_run"], other["last_run"], runs)
            column = min(column, other["base"] + other["stride"] * (n - 1 - k) + opposite)
        columns[np.uintp(place)] = column
        place += 1
    return place


@loop
def _write_columns(
    sequence: Bytes,
    n: int,
    known: bool,
    patterns: Records,
    runs: Records,
    both_strands: bool,
    columns: Keys,
    place: int,
) -> int:
    """Columns of all k-mers of a sequence of n letters, from `place` on; returns where they end."""
    for p in range(len(patterns)):
        begin = ZERO
        while begin < n:
            end = n if known else begin
            while end < n and sequence[end] < UNKNOWN:
                end += 1
            place = _write_run(sequence, n, begin, end, patterns, runs, p, both_strands, columns, place)
            begin = end + 1
    return place


@loop
def write_kmers(
    texts: Texts,
    words: Words,
    sequence: Bytes,
    counter: Counter,
    entries: Entries,
    place: int,
    start: int,
    end: int,
    stop: Bytes,
) -> int:
    """Entries of sequences start to end - 1 from `place` on, one after the other, and how many each has.

    Returns the position of a letter that is none of DNA, or -1.
    """
    codes, patterns, runs, both_strands, unit_length, n_bits = words
    in_order = patterns[0]["stride"] > 0 and not both_strands
    keys, other, digits, tally = counter
    columns, values, sizes = entries
    letters, starts, ends = texts
    for i in range(start, end):
        if stop[0] != 0:
            return -1
        n = ends[i] - starts[i]
        found = _read_letters(letters, starts[i], ends[i], codes, sequence)
        if found >= FOREIGN:
            return find_foreign_letter(texts, codes, i, i + 1, stop)
        first = place
        if in_order:
            place = _write_columns(sequence, n, found < UNKNOWN, patterns, runs, both_strands, columns, place)
            value = 1.0 / np.sqrt(place - first) if unit_length and place > first else 1.0
            for k in range(first, place):
                values[np.uintp(k)] = value
        else:
            n_keys = _write_columns(sequence, n, found < UNKNOWN, patterns, runs, both_strands, keys, ZERO)
            for k in range(n_keys):
                keys[np.uintp(k)] <<= np.uint32(1)
            place = write_counts(keys, n_keys, n_bits, other, digits, tally, unit_length, columns, values, place)
        sizes[i] = place - first
    return -1


@loop
def add_kmers(
    texts: Texts, words: Words, sequence: Bytes, columns: Keys, counts: Any, start: int, end: int, stop: Bytes
) -> int:
    """Counts of the k-mers of sequences start to end - 1, in rows of a dense matrix that begin as zeros.

    Returns the position of a letter that is none of DNA, or -1.
    """
    codes, patterns, runs, both_strands, unit_length, _ = words
    letters, starts, ends = texts
    for i in range(start, end):
        if stop[0] != 0:
            return -1
        n = ends[i] - starts[i]
        found = _read_letters(letters, starts[i], ends[i], codes, sequence)
        if found >= FOREIGN:
            return find_foreign_letter(texts, codes, i, i + 1, stop)
        last = _write_columns(sequence, n, found < UNKNOWN, patterns, runs, both_strands, columns, ZERO)
        for k in range(last):
            counts[i, columns[k]] += 1
        if unit_length and last > 0:
            square = 0.0
            for j in range(counts.shape[1]):
                square += float(counts[i, j]) * float(counts[i, j])
            scale = 1.0 / np.sqrt(square)
            for j in range(counts.shape[1]):
                counts[i, j] *= scale
    return -1
