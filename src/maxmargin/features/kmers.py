"""Short words of DNA: how often each sequence of k letters occurs, also with gaps and on either strand.

Inner products of these counts are the spectrum kernel. A k-mer is a number in base 4, A 0, C 1, G 2, T 3, its first
letter the highest digit, and that number is its column. With k-mers of several lengths the shorter ones come first. A
k-mer with gaps has k letters that count and up to `gaps` letters between them that do not; every way to place the gaps
is a pattern with 4^k columns of its own, in the order of the places that count. In sequences of one length, cut around
something, it matters where a k-mer stands: then every place has 4^k columns of its own.

DNA has two strands, and either may be the one that was read. With `reverse_complement` a k-mer and the one that stands
opposite count as one, in the smaller of their two columns, so both strands of a sequence have the same features.

Leslie, Eskin and Noble, The Spectrum Kernel, PSB 2002; Ghandi et al., PLoS Computational Biology 10 (2014), for gaps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import RowIndex, Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import DataError, ParameterError
from maxmargin.features.base import ParametricMap, check_flag, integer_from
from maxmargin.features.texts import as_texts, check_float_type, check_norm, counter_for, counts_of

if TYPE_CHECKING:
    from maxmargin._loops.features.counting import Entries
    from maxmargin._loops.features.ngrams import Texts

Places: TypeAlias = tuple[int, ...]
"""Where the letters of a window stand that count, from 0 on."""

_MOST_COLUMNS = (1 << 31) - 1
_LONGEST_WINDOW = 32
_MOST_PATTERNS = 4096


@dataclass
class KMers(ParametricMap):
    """Counts of the k-mers of DNA sequences.

    Letters are A, C, G and T or U, large or small. N, the other letters for unknown bases, - and . are skipped: no
    k-mer contains them, nor has them in a gap. Anything else is refused.

    Sequences are a list or array of str or bytes, or a matrix of byte codes (dtype uint8) with one sequence a row,
    shorter ones filled up with zeros: so they come out of a file and are expanded while it is read.

    Parameters
    ----------
    k
        Number of letters.
    shortest
        Count all lengths from this one to k; None means k alone.
    gaps
        Letters that may be left out inside a k-mer, altogether.
    reverse_complement
        Whether a k-mer and its reverse complement are the same.
    length
        None counts a k-mer wherever it stands. A number is the length of all sequences, and makes every place a feature
        of its own: `KMers(1, length=200)` has four columns for each of 200 bases, one of which is 1.
    dense
        Whether the result is a dense array; it is a CSR matrix otherwise.
    norm
        "l2" for rows of length 1, None for counts.
    dtype
        "float32" or "float64".

    >>> KMers(1, dense=True)(["GATTACA", "nat"])
    array([[3., 1., 1., 2.],
           [1., 0., 0., 1.]], dtype=float32)
    >>> KMers(3).names()[:3]
    ['AAA', 'AAC', 'AAG']
    """

    takes_letters: ClassVar[bool] = True
    k: int = 6
    shortest: int | None = None
    gaps: int = 0
    reverse_complement: bool = False
    length: int | None = None
    dense: bool = False
    norm: str | None = None
    dtype: str = "float32"

    def __post_init__(self) -> None:
        self.k = integer_from("k", self.k, least=1)
        self.gaps = integer_from("gaps", self.gaps, least=0)
        if self.shortest is not None and integer_from("shortest", self.shortest, least=1) > self.k:
            raise ParameterError(f"shortest must be at most k={self.k}, got shortest={self.shortest}.")
        check_flag("reverse_complement", self.reverse_complement)
        check_flag("dense", self.dense)
        check_norm(self.norm)
        check_float_type(self.dtype)
        if self.k + self.gaps > _LONGEST_WINDOW or 4**self.k > _MOST_COLUMNS:
            raise ParameterError(
                f"k must be at most 15 and k + gaps at most {_LONGEST_WINDOW}, got k={self.k} and gaps={self.gaps}."
            )
        if self.length is not None and integer_from("length", self.length, least=1) < self.k + self.gaps:
            raise ParameterError(
                f"length must be at least k + gaps = {self.k + self.gaps}, got length={self.length}. No longer k-mer "
                "fits into a sequence."
            )
        self._places = _all_places(range(self.k if self.shortest is None else self.shortest, self.k + 1), self.gaps)
        if self.output_features(0) > _MOST_COLUMNS:
            raise ParameterError(
                f"k={self.k}, gaps={self.gaps} and length={self.length} make {self.output_features(0)} columns, more "
                "than can be numbered. Lower k or gaps."
            )

    def transform(self, X: Rows) -> Rows:
        """Counts for sequences: a list or array of str or bytes, or a matrix of byte codes with one sequence a row."""
        from maxmargin._loops.features.kmers import Words, add_kmers, write_kmers  # loaded when it is needed

        texts = as_texts(X, "KMers")
        lengths = texts.ends - texts.starts
        self._refuse_other_lengths(texts, lengths)
        patterns, runs = _patterns(self._places, self.length)
        n_columns, both, unit = self.output_features(0), bool(self.reverse_complement), self.norm == "l2"
        words = Words(_codes(), patterns, runs, both, unit, (2 * n_columns - 1).bit_length())
        most = _count_windows(lengths, patterns["span"])
        found: list[int] = []

        def room(start: int, end: int) -> NDArray[np.uint8]:
            return np.empty(int(np.max(lengths[start:end], initial=0)), dtype=np.uint8)

        def write(entries: Entries, place: int, start: int, end: int, stop: StopFlag) -> None:
            counter = counter_for(most[start:end], n_columns)
            found.append(write_kmers(texts, words, room(start, end), counter, entries, place, start, end, stop))

        def add(start: int, end: int, stop: StopFlag) -> None:
            keys = counter_for(most[start:end], 0).keys
            found.append(add_kmers(texts, words, room(start, end), keys, counts, start, end, stop))

        if self.dense:
            counts: Rows = np.zeros((len(lengths), n_columns), dtype=self.dtype)
            over_ranges(add, len(lengths), brief=True)
        else:
            counts = counts_of(most, n_columns, write, self.dtype)
        _refuse_foreign(texts, found)
        return counts

    def output_features(self, d: int) -> int:
        """Count the features, which do not depend on the sequences."""
        return sum(_count_starts(places, self.length) * 4 ** len(places) for places in self._places)

    def names(self) -> list[str]:
        """The k-mer of every column, with a dot for each letter that is left out; with a length, @ and its place."""
        return [
            _written(places, number) + ("" if self.length is None else f"@{start}")
            for places in self._places
            for start in range(_count_starts(places, self.length))
            for number in range(4 ** len(places))
        ]

    def _refuse_other_lengths(self, texts: Texts, lengths: RowIndex) -> None:
        from maxmargin._loops.features.kmers import find_foreign_letter

        if self.length is not None and np.any(lengths != self.length):
            find = partial(find_foreign_letter, texts, _codes())
            _refuse_foreign(texts, over_ranges(find, len(lengths), brief=True))  # a line end is longer, and to be named
            row = int(np.argmax(lengths != self.length))
            raise DataError(
                f"sequence {row} has {lengths[row]} letters, and length={self.length} says that all have "
                f"{self.length}. Cut or fill the sequences with N, or use length=None."
            )


def _count_windows(lengths: RowIndex, spans: RowIndex) -> RowIndex:
    """Number of k-mers of every sequence, if all its letters are known."""
    most = np.zeros(len(lengths), dtype=np.int64)
    for span in spans:
        most += np.maximum(lengths - span + 1, 0)
    return most


def _count_starts(places: Places, length: int | None) -> int:
    """Number of places that have columns of their own."""
    return 1 if length is None else length - places[-1]


def _all_places(lengths: range, gaps: int) -> list[Places]:
    """Every way to choose the places that count; the first and the last of a window always do."""
    found: list[Places] = []
    for k in lengths:
        for left_out in range(gaps + 1 if k > 1 else 1):
            last = k + left_out - 1
            if len(found) + math.comb(max(last - 1, 0), max(k - 2, 0)) > _MOST_PATTERNS:
                raise ParameterError(
                    f"gaps={gaps} can be placed in more than {_MOST_PATTERNS} ways in k={k} letters. Lower k or gaps."
                )
            inner = combinations(range(1, last), max(k - 2, 0))
            found += [(0,)] if k == 1 else [(0, *places, last) for places in inner]
    return found


def _patterns(all_places: list[Places], length: int | None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Every pattern and its runs of letters, as the loops take them."""
    from maxmargin._loops.features.kmers import PATTERN, RUN

    patterns: list[tuple[int, ...]] = []
    runs: list[tuple[int, int, int]] = []
    base = 0
    number = {places: p for p, places in enumerate(all_places)}
    for places in all_places:
        span, k, first_run = places[-1] + 1, len(places), len(runs)
        breaks = [j for j in range(1, k) if places[j] != places[j - 1] + 1]
        for begin, end in zip([0, *breaks], [*breaks, k], strict=True):
            runs.append((2 * (span - 1 - places[end - 1]), 4 ** (end - begin) - 1, 2 * (k - end)))
        mirror = number[tuple(span - 1 - place for place in reversed(places))]
        patterns.append((span, base, 0 if length is None else 4**k, mirror, first_run, len(runs)))
        base += _count_starts(places, length) * 4**k
    return np.array(patterns, dtype=PATTERN), np.array(runs, dtype=RUN)


def _codes() -> NDArray[np.uint8]:
    """Two bits for the four bases, a mark for unknown ones and another for what is no letter of DNA."""
    from maxmargin._loops.features.kmers import FOREIGN, UNKNOWN

    codes = np.full(256, FOREIGN, dtype=np.uint8)
    for letters, code in (("RYSWKMBDHVN-.", UNKNOWN), ("A", 0), ("C", 1), ("G", 2), ("TU", 3)):
        for letter in letters + letters.lower():
            codes[ord(letter)] = code
    return codes


def _refuse_foreign(texts: Texts, positions: list[int]) -> None:
    """Raise an error about the first of the positions, unless all are -1."""
    found = min((position for position in positions if position >= 0), default=-1)
    if found >= 0:
        row = int(np.searchsorted(texts.starts, found, side="right")) - 1
        raise DataError(
            f"sequence {row} has {bytes(texts.letters[found : found + 1])!r} at position "
            f"{found - texts.starts[row]}, counting from 0, which is no letter of DNA. KMers reads ACGT, U, and N "
            "or another letter for unknown bases; remove spaces, line ends and headers."
        )


def _written(places: Places, number: int) -> str:
    letters = ["."] * (places[-1] + 1)
    for place in reversed(places):
        letters[place] = "ACGT"[number % 4]
        number //= 4
    return "".join(letters)
