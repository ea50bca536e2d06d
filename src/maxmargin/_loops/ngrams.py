"""N-grams of texts, hashed.

The hash is MurmurHash3 of 32 bits with seed 0 over the UTF-8 bytes of the n-gram (Appleby, public domain). Words are
read byte by byte, lowest first, so that it is the same on every platform.

A text is cut into units. Characters: every byte that does not continue a code point begins one. Words: runs of ASCII
letters, digits and _, and of bytes beyond ASCII; what is between them counts as one space. An n-gram is the
bytes from the beginning of one unit to the end of the unit n - 1 places later.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._loops.counting import count_columns, sort_keys
from maxmargin._types import RowIndex

_ALL = np.uint64(0xFFFFFFFF)
_FIRST = np.uint64(0xCC9E2D51)
_SECOND = np.uint64(0x1B873593)
_THIRD = np.uint64(0x85EBCA6B)
_FOURTH = np.uint64(0xC2B2AE35)


class Texts(NamedTuple):
    """Texts one after the other; text i is letters[starts[i]:ends[i]]."""

    letters: NDArray[np.uint8]
    starts: RowIndex
    ends: RowIndex


class Units(NamedTuple):
    """Room for one text cut into units; unit u is letters[begins[u]:ends[u]]."""

    letters: NDArray[np.uint8]
    begins: RowIndex
    ends: RowIndex


# The loops take the arrays out of these records at once: to pass a record on counts references for every unit.


@loop
def _turned(x: Any, places: int) -> Any:
    """32 bits, turned to the left."""
    return ((x << np.uint64(places)) | (x >> np.uint64(32 - places))) & _ALL


@loop
def murmur_hash(letters: NDArray[np.uint8], begin: int, end: int) -> Any:
    """MurmurHash3 of 32 bits, seed 0, of letters[begin:end], as an unsigned number."""
    h = np.uint64(0)
    n = end - begin
    k = begin
    while k + 4 <= end:
        word = np.uint64(letters[k]) | (np.uint64(letters[k + 1]) << np.uint64(8))
        word |= (np.uint64(letters[k + 2]) << np.uint64(16)) | (np.uint64(letters[k + 3]) << np.uint64(24))
        word = (_turned((word * _FIRST) & _ALL, 15) * _SECOND) & _ALL
        h = (_turned(h ^ word, 13) * np.uint64(5) + np.uint64(0xE6546B64)) & _ALL
        k += 4
    if k < end:
        word = np.uint64(0)
        for j in range(end - k):
            word |= np.uint64(letters[k + j]) << np.uint64(8 * j)
        h ^= (_turned((word * _FIRST) & _ALL, 15) * _SECOND) & _ALL
    h ^= np.uint64(n)
    h = ((h ^ (h >> np.uint64(16))) * _THIRD) & _ALL
    h = ((h ^ (h >> np.uint64(13))) * _FOURTH) & _ALL
    return h ^ (h >> np.uint64(16))


@loop
def _is_of_word(letter: int) -> bool:
    """Whether a byte belongs to a word: 0-9, A-Z, a-z, _ and all beyond ASCII."""
    return 48 <= letter <= 57 or 65 <= letter <= 90 or 97 <= letter <= 122 or letter == 95 or letter >= 128


@loop
def cut_into_units(
    source: NDArray[np.uint8],
    start: int,
    end: int,
    words: bool,
    letters: NDArray[np.uint8],
    begins: RowIndex,
    ends: RowIndex,
) -> int:
    """Cut source[start:end] into units; returns how many there are."""
    n_units = 0
    place = 0
    inside = False
    for k in range(start, end):
        letter = source[k]
        if words and not _is_of_word(letter):
            inside = False
            continue
        begins_unit = not inside if words else (letter & 0xC0 != 0x80 or n_units == 0)
        if begins_unit:
            if words and n_units > 0:
                letters[place] = 32
                place += 1
            begins[n_units] = place
            n_units += 1
            inside = True
        letters[place] = letter
        place += 1
        ends[n_units - 1] = place
    return n_units


@loop
def count_ngrams(
    texts: Texts,
    shortest: int,
    longest: int,
    words: bool,
    units: Units,
    counts: RowIndex,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Number of n-grams of texts start to end - 1."""
    source, starts, ends = texts.letters, texts.starts, texts.ends
    letters, begins, unit_ends = units.letters, units.begins, units.ends
    for i in range(start, end):
        if stop[0] != 0:
            return
        n_units = cut_into_units(source, starts[i], ends[i], words, letters, begins, unit_ends)
        counts[i] = 0
        for n in range(shortest, longest + 1):
            counts[i] += max(0, n_units - n + 1)


@loop
def write_ngram_keys(
    texts: Texts,
    shortest: int,
    longest: int,
    words: bool,
    signed: bool,
    n_features: int,
    units: Units,
    key_starts: RowIndex,
    keys: NDArray[np.uint32],
    room: NDArray[np.uint32],
    kept: RowIndex,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Sorted keys of the n-grams of texts start to end - 1, and how many columns each text keeps.

    The hash h counts as a signed number: the column is |h| modulo n_features, a power of two, and the sign that of h.
    """
    lowest = np.uint64(n_features - 1)
    n_bits = 1
    while n_features > 1 << (n_bits - 1):
        n_bits += 1
    source, starts, ends = texts.letters, texts.starts, texts.ends
    letters, begins, unit_ends = units.letters, units.begins, units.ends
    digits = np.empty(256, dtype=np.int64)
    for i in range(start, end):
        if stop[0] != 0:
            return
        n_units = cut_into_units(source, starts[i], ends[i], words, letters, begins, unit_ends)
        place = key_starts[i]
        for n in range(shortest, longest + 1):
            for u in range(n_units - n + 1):
                h = murmur_hash(letters, begins[u], unit_ends[u + n - 1])
                negative = h >> np.uint64(31)
                size = (np.uint64(0x100000000) - h) if negative else h
                keys[place] = ((size & lowest) << np.uint64(1)) | (negative if signed else np.uint64(0))
                place += 1
        sort_keys(keys, key_starts[i], place, n_bits, room, digits)
        kept[i] = count_columns(keys, key_starts[i], place)
