"""Characters or words of texts, several in a row, hashed into a fixed number of columns.

The column of an n-gram is a hash of its bytes, so no vocabulary is kept: any text can come at any time, in any
process, and has the same features. Different n-grams may share a column. Each counts +1 or -1 there by another bit of
its hash, so what collides cancels on average: with the map phi to columns and c to counts of n-grams,

    E <phi(x), phi(z)> = <c(x), c(z)>        over the choice of the hash.

Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from maxmargin._types import Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import ParameterError
from maxmargin.features.base import ParametricMap, check_flag, integer_from
from maxmargin.features.texts import as_texts, check_float_type, check_norm, counter_for, counts_of

if TYPE_CHECKING:
    from maxmargin._loops.bayes.counting import Entries

_MOST_FEATURES = 1 << 31


@dataclass
class HashedNGrams(ParametricMap):
    """Counts of n-grams of characters or words, hashed: a CSR matrix.

    Column and sign are those of scikit-learn's `HashingVectorizer`: MurmurHash3 with seed 0 of the UTF-8 bytes, h as a
    signed number of 32 bits, column |h| modulo n_features. They are the same on every platform.

    Texts are a list or array of str or bytes, or a matrix of byte codes (dtype uint8) with one text a row, shorter ones
    filled up with zeros: so they come out of a file and are expanded while it is read.

    Parameters
    ----------
    n_features
        Number of columns, a power of two.
    ngram_range
        Lengths n of the n-grams, the shortest and the longest.
    analyzer
        "word": words are runs of ASCII letters, digits, _ and characters beyond ASCII; an n-gram is n words with a
        space between. "char": every character, spaces too.
    alternate_sign
        Whether half of the n-grams count -1.
    norm
        "l2" for rows of length 1, None for counts.
    dtype
        "float32" or "float64".

    >>> HashedNGrams(8, ngram_range=(1, 1), norm=None)(["to be or not to be"]).toarray()
    array([[ 0.,  0.,  0.,  2.,  1.,  0., -2.,  1.]], dtype=float32)
    """

    takes_letters: ClassVar[bool] = True
    n_features: int = 1 << 20
    ngram_range: tuple[int, int] = (1, 1)
    analyzer: str = "word"
    alternate_sign: bool = True
    norm: str | None = "l2"
    dtype: str = "float32"

    def __post_init__(self) -> None:
        self.n_features = integer_from("n_features", self.n_features, least=2)
        if self.n_features & (self.n_features - 1) or self.n_features > _MOST_FEATURES:
            raise ParameterError(
                f"n_features must be a power of two, at most 2**31, got n_features={self.n_features}. "
                f"The next one is {1 << min(self.n_features.bit_length(), 31)}."
            )
        if self.analyzer not in ("char", "word"):
            raise ParameterError(f"analyzer must be 'word' or 'char', got analyzer={self.analyzer!r}.")
        lengths = self.ngram_range
        is_pair = isinstance(lengths, tuple) and len(lengths) == 2
        for length in lengths if is_pair else ():
            integer_from("ngram_range", length, least=1)
        if not is_pair or lengths[0] > lengths[1]:
            raise ParameterError(
                f"ngram_range must be a pair (shortest, longest), for example (1, 2), got ngram_range={lengths!r}."
            )
        check_flag("alternate_sign", self.alternate_sign)
        check_norm(self.norm)
        check_float_type(self.dtype)

    def transform(self, X: Rows) -> Rows:
        """Features of texts: a sequence or array of str or bytes, or a matrix of byte codes with one text a row."""
        from maxmargin._loops.features.ngrams import Grams, Units, count_ngrams, write_ngrams  # loaded when needed

        texts = as_texts(X, "HashedNGrams")
        words, signed, unit = self.analyzer == "word", bool(self.alternate_sign), self.norm == "l2"
        grams = Grams(*self.ngram_range, words, signed, unit, self.n_features)
        most = np.empty(len(texts.starts), dtype=np.int64)

        def write(entries: Entries, place: int, start: int, end: int, stop: StopFlag) -> None:
            # Room for the longest of these texts, and for the spaces that words get between them.
            longest = int(np.max(texts.ends[start:end] - texts.starts[start:end], initial=0)) + 1
            units = Units(np.empty(longest, np.uint8), np.empty(longest, np.int64), np.empty(longest, np.int64))
            counter = counter_for(most[start:end], self.n_features)
            write_ngrams(texts, grams, units, counter, entries, place, start, end, stop)

        over_ranges(partial(count_ngrams, texts, grams, most), len(most), brief=True)
        return counts_of(most, self.n_features, write, self.dtype)

    def output_features(self, d: int) -> int:
        """Count the features, which do not depend on the texts."""
        return self.n_features
