"""Texts as bytes that loops can read, and counts of what occurs in them as a CSR matrix, such as hashed n-grams.

The column of an n-gram, some characters or words in a row, is a hash of its bytes, so no vocabulary is kept: any text
can come at any time, in any process, and has the same features. Different n-grams may share a column. Each counts +1 or
-1 there by another bit of its hash, so what collides cancels on average: with the map phi to columns and c to counts of
n-grams,

    E <phi(x), phi(z)> = <c(x), c(z)>        over the choice of the hash.

Weinberger et al., Feature Hashing for Large Scale Multitask Learning, ICML 2009.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy import sparse

from maxmargin._types import RowIndex, Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.features.base import ParametricMap, check_flag, integer_from

if TYPE_CHECKING:
    from maxmargin._loops.features.counting import Counter, Entries
    from maxmargin._loops.features.ngrams import Texts

_MOST_FEATURES = 1 << 31

Writing: TypeAlias = Callable[["Entries", int, int, int, StopFlag], Any]
"""Write the rows from .. to .. one after the other, from a place on."""


def as_texts(X: Rows, taker: str) -> Texts:
    """X as UTF-8 bytes: a sequence of str or bytes, an array of either, or a matrix of byte codes.

    The matrix has one text a row, filled up with zeros, in numbers of any type: so texts come in blocks of a source.
    """
    from maxmargin._loops.features.ngrams import Texts  # compiled code is loaded when it is needed

    if isinstance(X, (str, bytes)) or sparse.issparse(X):
        found = f"the single text {X!r}" if isinstance(X, (str, bytes)) else "a sparse matrix"
        raise DataError(f"{taker} takes a list or one-dimensional array of texts, got {found}.")
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "uif":
        codes = _byte_codes(X, taker)
        starts = np.arange(len(X), dtype=np.int64) * X.shape[1]
        return Texts(_read_only(codes), starts, starts + _lengths(codes))
    if getattr(X, "ndim", 1) != 1:
        raise DataError(f"{taker} takes a list or one-dimensional array of texts, got an array of shape {X.shape}.")
    if isinstance(X, np.ndarray) and X.dtype.kind == "S":
        starts = np.arange(len(X), dtype=np.int64) * X.itemsize
        return Texts(_read_only(X), starts, starts + np.strings.str_len(X))
    items = X.tolist() if hasattr(X, "tolist") else list(X)
    texts = [_utf8(text, place, taker) for place, text in enumerate(items)]
    edges = _edges([len(text) for text in texts])
    return Texts(np.frombuffer(b"".join(texts), dtype=np.uint8), edges[:-1], edges[1:])


def _byte_codes(X: NDArray[Any], taker: str) -> NDArray[np.uint8]:
    """Numbers as bytes, or an error where they are none."""
    if X.dtype == np.uint8:
        return X
    with np.errstate(invalid="ignore"):  # a NaN has no byte, and is not equal to whatever it becomes
        codes = X.astype(np.uint8)
    wrong = np.argwhere(codes != X)
    if len(wrong):
        row, column = wrong[0]
        raise DataError(
            f"{taker} takes a matrix of byte codes, whole numbers from 0 to 255, and row {row}, column {column} is "
            f"{X[row, column]}. Rows and columns are counted from 0."
        )
    return codes


def _lengths(codes: NDArray[np.uint8]) -> RowIndex:
    """Length of every row without the zeros at its end."""
    n_rows, width = codes.shape
    lengths = np.full(n_rows, width, dtype=np.int64)
    if width > 0:
        shorter = np.flatnonzero(codes[:, -1] == 0)
        is_letter = codes[shorter, ::-1] != 0
        lengths[shorter] = np.where(np.any(is_letter, axis=1), width - np.argmax(is_letter, axis=1), 0)
    return lengths


def _read_only(X: NDArray[Any]) -> NDArray[np.uint8]:
    """Bytes of an array, not to be written to, as those of joined texts are: one kind, so loops compile once."""
    letters: NDArray[np.uint8] = np.ascontiguousarray(X).reshape(-1).view(np.uint8)
    letters.flags.writeable = False
    return letters


def _utf8(text: Any, place: int, taker: str) -> bytes:
    if isinstance(text, str):
        # A lone surrogate is no character, but Python lets it stand in a string.
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, bytes):
        return text
    raise DataTypeError(f"{taker} takes texts, got {text!r} of type {type(text).__name__} at position {place}.")


def counts_of(most: RowIndex, n_columns: int, write: Writing, dtype: DTypeLike) -> Rows:
    """CSR matrix of the rows that `write` makes, each of at most as many entries as `most` says.

    Every thread writes its rows without gaps, so that only what stands between two threads has to be closed up.
    """
    from maxmargin._loops.features.counting import Entries  # compiled code is loaded when it is needed

    n_rows = len(most)
    room = _edges(np.minimum(most, n_columns))
    columns = np.empty(room[-1], dtype=np.int32)
    values = np.empty(room[-1], dtype=dtype)
    sizes = np.zeros(n_rows, dtype=np.int64)
    entries = Entries(columns.view(np.uint32), values, sizes)

    def work(start: int, end: int, stop: StopFlag) -> tuple[int, int]:
        write(entries, int(room[start]), start, end, stop)
        return start, end

    ranges = over_ranges(work, n_rows, brief=True)
    starts = _edges(sizes)
    for start, end in ranges:
        here, there = int(starts[start]), int(room[start])
        if here < there:
            size = int(starts[end]) - here
            columns[here : here + size] = columns[there : there + size]
            values[here : here + size] = values[there : there + size]
    columns.resize(starts[-1], refcheck=False)  # gives back in place what was not needed; the views are out of use
    values.resize(starts[-1], refcheck=False)
    matrix = sparse.csr_matrix((values, columns, starts), shape=(n_rows, n_columns), copy=False)
    matrix.has_canonical_format = True  # sorted and merged above; to check it again would take another pass
    return matrix


def counter_for(most: RowIndex, n_columns: int) -> Counter:
    """Room for the keys of any one of the rows that have at most so many."""
    from maxmargin._loops.features.counting import COLUMNS_A_KEY, MOST_DIGITS, Counter  # loaded when it is needed

    n_keys = int(np.max(most, initial=0))
    n_tallied = n_columns if n_columns <= COLUMNS_A_KEY * n_keys else 0
    keys, other = np.empty(n_keys, dtype=np.uint32), np.empty(n_keys + 1, dtype=np.uint32)
    return Counter(keys, other, np.empty(MOST_DIGITS, dtype=np.int64), np.zeros(n_tallied, dtype=np.int64))


def _edges(sizes: ArrayLike) -> RowIndex:
    """Where parts of these sizes begin and end, one after the other."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def check_norm(norm: Any) -> None:
    """Refuse a norm that is neither None nor "l2"."""
    if not (norm is None or (isinstance(norm, str) and norm == "l2")):
        raise ParameterError(f"norm must be None (counts as they are) or 'l2' (rows of length 1), got norm={norm!r}.")


def check_float_type(dtype: Any) -> None:
    """Refuse a type of values that is neither float32 nor float64."""
    try:
        is_known = np.dtype(dtype) in (np.float32, np.float64)
    except TypeError:
        is_known = False
    if not is_known:
        raise ParameterError(f"dtype must be 'float32' or 'float64', got dtype={dtype!r}.")


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
