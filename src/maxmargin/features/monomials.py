"""Monomials, weighted so that inner products of features are a given power series in <x, z>.

    <x, z>^k = sum over monomials m of degree k of  weight(m) m(x) m(z),
    weight(x_1^p_1 ... x_d^p_d) = k! / (p_1! ... p_d!)

so the features sqrt(c_k weight(m)) m(x) have the inner product sum_k c_k <x, z>^k.

A monomial x_i x_j ... x_l of degree k is written with i <= j <= ... <= l, so that it appears once. Among
those of its degree it stands in column

    binom(i, 1) + binom(j + 1, 2) + ... + binom(l + k - 1, k)        counting variables and columns from 0,

which can be found factor by factor and without knowing d, for a sparse row as for a dense one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import ParameterError
from maxmargin.features.rows import as_rows, integer_from, number_from
from maxmargin.features.transformer import Transformer

if TYPE_CHECKING:
    from maxmargin._loops.features.monomials import Degrees


@dataclass(unsafe_hash=True)  # by its parameters, as kernels are
class Monomials(Transformer):
    """All monomials up to the degree, weighted so that <phi(x), phi(z)> = (gamma <x, z> + coef0)^degree.

    There are binom(d + degree, degree) of them; with coef0 = 0 only the binom(d + degree - 1, degree) of the
    full degree, because the others have weight 0. They come by degree; within one, x_i x_j ... x_l with
    i <= j <= ... <= l is ordered by its last factor first.

    >>> import numpy as np
    >>> Monomials(2, coef0=0)(np.array([[1.0, 3.0]])).round(3)  # x_1^2, sqrt(2) x_1 x_2, x_2^2
    array([[1.   , 4.243, 9.   ]])
    """

    degree: int
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        self.degree = integer_from("degree", self.degree, least=0)
        self.gamma = number_from("gamma", self.gamma, least=0.0, included=False)
        self.coef0 = number_from("coef0", self.coef0, least=0.0, included=True)
        self._series()  # which may be too large

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        return weighted_monomials(as_rows(X), self._series())

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return count_monomials(d, self._series())

    def _series(self) -> list[float]:
        degree = self.degree
        try:
            series = [math.comb(degree, k) * self.gamma**k * self.coef0 ** (degree - k) for k in range(degree + 1)]
        except OverflowError:
            series = [math.inf]
        if not math.isfinite(max(series)):
            raise ParameterError(
                f"the coefficients of (gamma <x, z> + coef0)^degree are too large to be computed with, got "
                f"degree={degree}, gamma={self.gamma:g} and coef0={self.coef0:g}. Give smaller ones."
            )
        return series


def count_monomials(d: int, series: Sequence[float]) -> int:
    """Count the monomials in d variables whose degree has a coefficient in the series."""
    return sum(_count(d, k) for k, coefficient in enumerate(series) if coefficient > 0)


def _count(d: int, degree: int) -> int:
    return math.comb(d + degree - 1, degree) if d > 0 else int(degree == 0)


def weighted_monomials(X: Rows, series: Sequence[float]) -> Rows:
    """Features with the inner product sum_k series[k] <x, z>^k, by increasing degree k."""
    n_features = count_monomials(X.shape[1], series)
    if n_features * len(series) >= 2**63:
        raise ParameterError(
            f"{X.shape[1]} features have {n_features} monomials up to degree {len(series) - 1}, "
            "more than can be numbered. Lower the degree, or use the kernel instead of its feature map."
        )
    return _sparse(X, series, n_features) if sparse.issparse(X) else _dense(X, series, n_features)


def _dense(X: Rows, series: Sequence[float], n_features: int) -> Rows:
    from maxmargin._loops.features.monomials import write_dense_monomials  # compiled code is loaded when it is needed

    n_rows, d = X.shape
    x, degrees = np.ascontiguousarray(X).reshape(-1), _degrees(d, d, series)
    features = np.empty((n_rows, n_features), dtype=X.dtype)

    def write(start: int, end: int, stop: StopFlag) -> None:
        products = np.empty(degrees.firsts[-1], dtype=X.dtype)
        write_dense_monomials(x, d, degrees, products, features, start, end, stop)

    over_ranges(write, n_rows, brief=True)
    return features


def _sparse(X: Rows, series: Sequence[float], n_features: int) -> Rows:
    from maxmargin._loops.features.monomials import write_sparse_monomials  # compiled code is loaded when it is needed
    from maxmargin.data.loop_rows import loop_rows

    lengths = np.diff(X.indptr).astype(np.int64)
    rows: Any = loop_rows(X)
    degrees = _degrees(X.shape[1], int(np.max(lengths, initial=0)), series)
    different, which = np.unique(lengths, return_inverse=True)
    counts = np.array([count_monomials(int(d), series) for d in different], dtype=np.int64)[which]
    starts = np.concatenate([[0], np.cumsum(counts)])
    kind = np.int32 if max(n_features, starts[-1]) <= np.iinfo(np.int32).max else np.int64
    columns, values = np.empty(starts[-1], dtype=kind), np.empty(starts[-1], dtype=X.dtype)

    def write(start: int, end: int, stop: StopFlag) -> None:
        products = np.empty(degrees.firsts[-1], dtype=X.dtype)
        numbers = np.empty(degrees.firsts[-1], dtype=np.int64)
        write_sparse_monomials(rows, degrees, products, numbers, starts, columns, values, start, end, stop)

    over_ranges(write, X.shape[0], brief=True)
    features = type(X)((values, columns, starts), shape=(X.shape[0], n_features), copy=False)
    features.has_canonical_format = True  # written in order, each once
    return features


def _degrees(d: int, longest: int, series: Sequence[float]) -> Degrees:
    """Columns and factors of the monomials in d variables, of which a row has up to `longest`."""
    from maxmargin._loops.features.monomials import Degrees, fill_weights

    firsts = np.cumsum([0] + [_count(longest, k) for k in range(len(series))])
    weights, runs = np.empty(firsts[-1]), np.empty(firsts[-1], dtype=np.int64)
    fill_weights(longest, len(series) - 1, weights, runs)
    offsets, offset = [], 0
    for k, coefficient in enumerate(series):
        offsets.append(offset if coefficient > 0 else -1)
        offset += _count(d, k) if coefficient > 0 else 0
    roots = np.sqrt(np.repeat(series, np.diff(firsts)) * weights)
    return Degrees(np.array(offsets, dtype=np.int64), roots, firsts)
