"""K-mers of DNA sequences, with and without gaps, as keys of columns.

The last 32 letters stand in one word of 64 bits, two bits a letter (A 0, C 1, G 2, T 3), the newest in the lowest bits.
A second word holds their complements in reverse order, the newest in the highest bits: the other strand as it is read
there. A pattern takes runs of letters out of either by shift and mask, so a k-mer costs a few instructions however long
it is.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._loops.counting import count_columns, sort_keys
from maxmargin._loops.ngrams import Texts
from maxmargin._types import RowIndex

UNKNOWN = 4
FOREIGN = 5


class Patterns(NamedTuple):
    """Which letters of a window count: pattern p has the runs first_run[p] to first_run[p + 1] - 1."""

    spans: RowIndex
    """Letters from the first to the last that counts."""
    bases: RowIndex
    """First column of the pattern."""
    strides: RowIndex
    """Columns from one place in a sequence to the next; 0 where the place does not matter."""
    mirrors: RowIndex
    """The pattern read from the other end."""
    first_run: RowIndex
    shifts: NDArray[np.uint64]
    masks: NDArray[np.uint64]
    places: NDArray[np.uint64]


@loop
def _taken(
    window: Any,
    first: int,
    last: int,
    shifts: NDArray[np.uint64],
    masks: NDArray[np.uint64],
    places: NDArray[np.uint64],
) -> int:
    """Number of the letters that runs first to last - 1 take from a window, the first letter in the highest bits."""
    number = np.uint64(0)
    for r in range(first, last):
        number |= ((window >> shifts[r]) & masks[r]) << places[r]
    return int(number)


@loop
def find_foreign_letter(texts: Texts, codes: NDArray[np.uint8], start: int, end: int, stop: NDArray[np.uint8]) -> int:
    """Position among all letters of the first of texts start to end - 1 that is no letter of DNA; -1 if all are."""
    for i in range(start, end):
        if stop[0] != 0:
            return -1
        for k in range(texts.starts[i], texts.ends[i]):
            if codes[texts.letters[k]] == FOREIGN:
                return int(k)
    return -1


@loop
def count_kmers(
    texts: Texts,
    codes: NDArray[np.uint8],
    patterns: Patterns,
    counts: RowIndex,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Number of k-mers of sequences start to end - 1; a window with an unknown letter has none."""
    letters, starts, ends, spans = texts.letters, texts.starts, texts.ends, patterns.spans
    for i in range(start, end):
        if stop[0] != 0:
            return
        total = 0
        known = 0
        for k in range(starts[i], ends[i]):
            known = known + 1 if codes[letters[k]] < UNKNOWN else 0
            for p in range(len(spans)):
                total += known >= spans[p]
        counts[i] = total


@loop
def _write_plain_columns(
    letters: NDArray[np.uint8],
    codes: NDArray[np.uint8],
    begin: int,
    end: int,
    span: int,
    stride: int,
    mask: Any,
    columns: NDArray[np.uint32],
    place: int,
) -> int:
    """As `write_kmer_columns` for the k-mers of one length without gaps on one strand, of which most are counted."""
    known = 0
    window = np.uint64(0)
    column = stride * (1 - span)
    for k in range(begin, end):
        code = np.uint64(codes[letters[np.uintp(k)]])
        known = known + 1 if code < UNKNOWN else 0
        window = (window << np.uint64(2)) | (code & np.uint64(3))
        if known >= span:
            columns[np.uintp(place)] = column + np.int64(window & mask)
            place += 1
        column += stride
    return place


@loop
def write_kmer_columns(
    texts: Texts,
    codes: NDArray[np.uint8],
    patterns: Patterns,
    both_strands: bool,
    i: int,
    columns: NDArray[np.uint32],
    place: int,
) -> int:
    """Columns of the k-mers of sequence i, from `place` on, in the order of the sequence; returns where they end."""
    letters, spans, bases, mirrors = texts.letters, patterns.spans, patterns.bases, patterns.mirrors
    first_run, shifts, masks, places = patterns.first_run, patterns.shifts, patterns.masks, patterns.places
    strides = patterns.strides
    begin, end = texts.starts[i], texts.ends[i]
    if len(spans) == 1 and len(shifts) == 1 and not both_strands:
        return _write_plain_columns(letters, codes, begin, end, spans[0], strides[0], masks[0], columns, place)
    known = 0
    forward, backward = np.uint64(0), np.uint64(0)
    for k in range(begin, end):
        code = np.uint64(codes[letters[k]])
        known = known + 1 if code < UNKNOWN else 0
        forward = (forward << np.uint64(2)) | (code & np.uint64(3))
        backward = (backward >> np.uint64(2)) | (((code & np.uint64(3)) ^ np.uint64(3)) << np.uint64(62))
        for p in range(len(spans)):
            if known < spans[p]:
                continue
            column = bases[p] + strides[p] * (k - begin - spans[p] + 1)
            column += _taken(forward, first_run[p], first_run[p + 1], shifts, masks, places)
            if both_strands:
                m = mirrors[p]
                window = backward >> np.uint64(64 - 2 * spans[p])
                other = bases[m] + strides[m] * (end - 1 - k)
                other += _taken(window, first_run[m], first_run[m + 1], shifts, masks, places)
                column = min(column, other)
            columns[place] = column
            place += 1
    return place


@loop
def write_kmer_keys(
    texts: Texts,
    codes: NDArray[np.uint8],
    patterns: Patterns,
    both_strands: bool,
    n_bits: int,
    key_starts: RowIndex,
    keys: NDArray[np.uint32],
    room: NDArray[np.uint32],
    kept: RowIndex,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Sorted keys of the k-mers of sequences start to end - 1, and how many columns each sequence keeps."""
    digits = np.empty(256, dtype=np.int64)
    for i in range(start, end):
        if stop[0] != 0:
            return
        first = key_starts[i]
        last = write_kmer_columns(texts, codes, patterns, both_strands, i, keys, first)
        for k in range(first, last):
            keys[k] <<= 1
        sort_keys(keys, first, last, n_bits, room, digits)
        kept[i] = count_columns(keys, first, last)


@loop
def add_kmers(
    texts: Texts,
    codes: NDArray[np.uint8],
    patterns: Patterns,
    both_strands: bool,
    unit_length: bool,
    room: NDArray[np.uint32],
    counts: Any,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Counts of the k-mers of sequences start to end - 1, in rows of a dense matrix that begin as zeros."""
    for i in range(start, end):
        if stop[0] != 0:
            return
        last = write_kmer_columns(texts, codes, patterns, both_strands, i, room, 0)
        for k in range(last):
            counts[i, room[k]] += 1
        if unit_length and last > 0:
            square = 0.0
            for j in range(counts.shape[1]):
                square += float(counts[i, j]) * float(counts[i, j])
            scale = 1.0 / np.sqrt(square)
            for j in range(counts.shape[1]):
                counts[i, j] *= scale
