"""N-grams of texts, hashed.

The hash is MurmurHash3 of 32 bits with seed 0 over the UTF-8 bytes of the n-gram (Appleby, public domain). Words are
read byte by byte, lowest first, so that it is the same on every platform.

A text is cut into units. Characters: every byte that does not continue a code point begins one. Words: runs of ASCII
letters, digits and _, and of bytes beyond ASCII; what is between them counts as one space. An n-gram is the
bytes from the beginning of one unit to the end of the unit n - 1 places later.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._loops.features.counting import ZERO, Counter, Entries, write_counts
from maxmargin._types import RowIndex

Bytes: TypeAlias = NDArray[np.uint8]

_ALL = np.uint64(0xFFFFFFFF)
_FIRST = np.uint64(0xCC9E2D51)
_SECOND = np.uint64(0x1B873593)
_THIRD = np.uint64(0x85EBCA6B)
_FOURTH = np.uint64(0xC2B2AE35)


class Texts(NamedTuple):
    """Texts one after the other; text i is letters[starts[i]:ends[i]]."""

    letters: Bytes
    starts: RowIndex
    ends: RowIndex


class Grams(NamedTuple):
    """Which n-grams are counted, of words or of characters, and how."""

    shortest: int
    longest: int
    words: bool
    signed: bool
    unit_length: bool
    n_features: int


class Units(NamedTuple):
    """Room for one text cut into units; unit u is letters[begins[u]:ends[u]]."""

    letters: Bytes
    begins: RowIndex
    ends: RowIndex


# The loops take the arrays out of these records at once: to pass a record on counts references for every unit.


@loop
def _turned(x: Any, places: int) -> Any:
    """32 bits, turned to the left."""
    return ((x << np.uint64(places)) | (x >> np.uint64(32 - places))) & _ALL


@loop
def _mixed(word: Any) -> Any:
    """Four bytes, before they come into the hash."""
    return (_turned((word * _FIRST) & _ALL, 15) * _SECOND) & _ALL


@loop
def hash_ngrams(
    letters: Bytes, begins: RowIndex, ends: RowIndex, n_units: int, n: int, hashes: NDArray[np.uint32], place: int
) -> int:
    """MurmurHash3 of 32 bits, seed 0, of every n units in a row, from `place` on; returns where they end."""
    for u in range(n_units - n + 1):
        begin, end = begins[np.uintp(u)], ends[np.uintp(u + n - 1)]
        h = np.uint64(0)
        k = np.uintp(begin)
        for _ in range((end - begin) // 4):
            word = np.uint64(letters[k]) | (np.uint64(letters[k + np.uintp(1)]) << np.uint64(8))
            word |= np.uint64(letters[k + np.uintp(2)]) << np.uint64(16)
            word |= np.uint64(letters[k + np.uintp(3)]) << np.uint64(24)
            h = (_turned(h ^ _mixed(word), 13) * np.uint64(5) + np.uint64(0xE6546B64)) & _ALL
            k += np.uintp(4)
        word = np.uint64(0)
        for j in range((end - begin) % 4):
            word |= np.uint64(letters[k + np.uintp(j)]) << np.uint64(8 * j)
        h ^= _mixed(word) ^ np.uint64(end - begin)  # nothing where no bytes are left
        h = ((h ^ (h >> np.uint64(16))) * _THIRD) & _ALL
        h = ((h ^ (h >> np.uint64(13))) * _FOURTH) & _ALL
        hashes[np.uintp(place)] = h ^ (h >> np.uint64(16))
        place += 1
    return place


_IS_OF_WORD = np.array([byte >= 128 or chr(byte).isalnum() or chr(byte) == "_" for byte in range(256)], dtype=np.uint8)
"""1 for the bytes that belong to a word: 0-9, A-Z, a-z, _ and all beyond ASCII."""


@loop
def _count_units(source: Bytes, start: int, end: int, words: bool) -> int:
    """Number of units of source[start:end], as `_cut_into_units` finds them."""
    n_units = 0
    before = np.uint8(0)
    if words:
        for k in range(start, end):
            inside = _IS_OF_WORD[source[np.uintp(k)]]
            n_units += inside > before
            before = inside
        return n_units
    for k in range(start, end):
        n_units += source[np.uintp(k)] & 0xC0 != 0x80
    if start < end and source[np.uintp(start)] & 0xC0 == 0x80:  # the rest of a character that was cut
        n_units += 1
    return n_units


@loop
def _cut_into_units(
    source: Bytes, start: int, end: int, words: bool, letters: Bytes, begins: RowIndex, ends: RowIndex
) -> int:
    """Cut source[start:end] into units; returns how many there are."""
    n_units = 0
    place = 0
    inside = False
    for k in range(start, end):
        letter = source[np.uintp(k)]
        if words and _IS_OF_WORD[letter] == 0:
            inside = False
            continue
        begins_unit = not inside if words else (letter & 0xC0 != 0x80 or n_units == 0)
        if begins_unit:
            if words and n_units > 0:
                letters[np.uintp(place)] = 32
                place += 1
            begins[np.uintp(n_units)] = place
            n_units += 1
            inside = True
        letters[np.uintp(place)] = letter
        place += 1
        ends[np.uintp(n_units - 1)] = place
    return n_units


@loop
def count_ngrams(texts: Texts, grams: Grams, counts: RowIndex, start: int, end: int, stop: Bytes) -> None:
    """Number of n-grams of texts start to end - 1."""
    source, starts, ends = texts
    for i in range(start, end):
        if stop[0] != 0:
            return
        n_units = _count_units(source, starts[i], ends[i], grams.words)
        counts[i] = 0
        for n in range(grams.shortest, grams.longest + 1):
            counts[i] += max(0, n_units - n + 1)


@loop
def write_ngrams(
    texts: Texts,
    grams: Grams,
    units: Units,
    counter: Counter,
    entries: Entries,
    place: int,
    start: int,
    end: int,
    stop: Bytes,
) -> None:
    """Entries of texts start to end - 1 from `place` on, one after the other, and how many each has.

    The hash h counts as a signed number: the column is |h| modulo n_features, a power of two, and the sign that of h.
    """
    shortest, longest, words, signed, unit_length, n_features = grams
    lowest = np.uint64(n_features - 1)
    n_bits = 1
    while n_features > 1 << (n_bits - 1):
        n_bits += 1
    source, starts, ends = texts
    letters, begins, unit_ends = units
    keys, other, digits, tally = counter
    columns, values, sizes = entries
    for i in range(start, end):
        if stop[0] != 0:
            return
        n_units = _cut_into_units(source, starts[i], ends[i], words, letters, begins, unit_ends)
        n_keys = ZERO
        for n in range(shortest, longest + 1):
            n_keys = hash_ngrams(letters, begins, unit_ends, n_units, n, keys, n_keys)
        for k in range(n_keys):
            h = np.uint64(keys[np.uintp(k)])
            negative = h >> np.uint64(31)
            size = (np.uint64(0x100000000) - h) if negative else h
            keys[np.uintp(k)] = ((size & lowest) << np.uint64(1)) | (negative if signed else np.uint64(0))
        first = place
        place = write_counts(keys, n_keys, n_bits, other, digits, tally, unit_length, columns, values, place)
        sizes[i] = place - first
