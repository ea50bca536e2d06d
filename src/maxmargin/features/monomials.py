"""Polynomials of the rows, written out: products of variables, with the kernels that their inner products are.

    <x, z>^k = sum over monomials m of degree k of  weight(m) m(x) m(z),
    weight(x_1^p_1 ... x_d^p_d) = k! / (p_1! ... p_d!)

so the features sqrt(c_k weight(m)) m(x) have the inner product sum_k c_k <x, z>^k.

A monomial x_i x_j ... x_l of degree k is written with i <= j <= ... <= l, so that it appears once. Among
those of its degree it stands in column

    binom(i, 1) + binom(j + 1, 2) + ... + binom(l + k - 1, k)        counting variables and columns from 0,

which can be found factor by factor and without knowing d, for a sparse row as for a dense one.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from maxmargin._types import Rows
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.errors import ParameterError
from maxmargin.features.base import ParametricMap, as_vector_rows, integer_from, number_from

if TYPE_CHECKING:
    from maxmargin._loops.features.monomials import Degrees


@dataclass(unsafe_hash=True)  # by its parameters, as kernels are
class Quadratic(ParametricMap):
    """phi(x) = all d^2 products x_i x_j, so that <phi(x), phi(z)> = <x, z>^2.

    x_i x_j and x_j x_i both appear; `Monomials(2, coef0=0)` has them once, with the factor sqrt(2).

    >>> import numpy as np
    >>> Quadratic()(np.array([[1.0, 3.0]]))
    array([[1., 3., 3., 9.]])
    """

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        rows = as_vector_rows(X)
        if sparse.issparse(rows):
            return _sparse_products(rows)
        n_rows, d = rows.shape
        return (rows[:, :, None] * rows[:, None, :]).reshape(n_rows, d * d)

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return d * d


def _sparse_products(X: Rows) -> Rows:
    """All products of two entries of the same row; a row with r entries gets r^2."""
    n_rows, d = X.shape
    lengths = np.diff(X.indptr).astype(np.int64)
    row_of = np.repeat(np.arange(n_rows), lengths)
    meets = lengths[row_of]  # every entry meets as many as its row has
    first = np.repeat(np.arange(len(row_of)), meets)
    second = np.arange(len(first)) - np.repeat(np.cumsum(meets) - meets - X.indptr[row_of], meets)
    columns = X.indices[first].astype(np.int64) * d + X.indices[second]
    starts = np.concatenate([[0], np.cumsum(lengths**2)])
    return type(X)((X.data[first] * X.data[second], columns, starts), shape=(n_rows, d * d))


@dataclass(unsafe_hash=True)
class LinearQuadratic(ParametricMap):
    """phi(x) = (1, x_i, x_i x_j), 1 + d + d^2 long, so that <phi(x), phi(z)> = 1 + <x, z> + <x, z>^2.

    >>> import numpy as np
    >>> LinearQuadratic()(np.array([[1.0, 3.0]]))
    array([[1., 1., 3., 1., 3., 3., 9.]])
    """

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        rows = as_vector_rows(X)
        one = np.ones((rows.shape[0], 1), dtype=rows.dtype)
        parts = [one, rows, Quadratic().transform(rows)]
        return sparse.hstack(parts, format="csr") if sparse.issparse(rows) else np.hstack(parts)

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return 1 + d + d * d


class PowerSeries(ParametricMap):
    """Monomials, weighted so that inner products are sum_k c_k <x, z>^k."""

    @abstractmethod
    def _series(self) -> list[float]:
        """The coefficients c_0, c_1, ..."""

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X, by increasing degree k; CSR stays CSR."""
        rows, series = as_vector_rows(X), self._series()
        n_features = _count_all(rows.shape[1], series)
        if n_features * len(series) >= 2**63:
            raise ParameterError(
                f"{rows.shape[1]} features have {n_features} monomials up to degree {len(series) - 1}, "
                "more than can be numbered. Lower the degree, or use the kernel instead of its feature map."
            )
        return (_sparse if sparse.issparse(rows) else _dense)(rows, series, n_features)

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return _count_all(d, self._series())


@dataclass(unsafe_hash=True)
class Monomials(PowerSeries):
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


@dataclass(unsafe_hash=True)
class GaussianSeries(PowerSeries):
    """Features of the Gaussian kernel's Taylor series, of total degree below `terms`.

        exp(-gamma |x - z|^2) = exp(-gamma |x|^2) exp(-gamma |z|^2) sum_k (2 gamma <x, z>)^k / k!

    phi(x) is exp(-gamma |x|^2) times the monomials of x, those of degree k weighted so that they give
    (2 gamma)^k <x, z>^k / k!. With T terms, <phi(x), phi(z)> differs from the kernel by at most

        (2 gamma |x| |z|)^T / T!

    so T has to grow with the square of the data's radius, and phi(x) has binom(d + T - 1, T - 1) features.

    >>> import numpy as np
    >>> phi = GaussianSeries(gamma=0.5, terms=12)
    >>> x, z = np.array([[0.3, -1.0]]), np.array([[0.5, 0.2]])
    >>> error = phi(x) @ phi(z).T - np.exp(-0.5 * np.sum((x - z) ** 2))
    >>> bool(abs(error[0, 0]) < 1e-12)
    True
    """

    gamma: float
    terms: int

    def __post_init__(self) -> None:
        self.gamma = number_from("gamma", self.gamma, least=0.0, included=False)
        self.terms = integer_from("terms", self.terms, least=1)
        if not math.isfinite(max(self._series())):
            raise ParameterError(
                f"the coefficients of the series are too large to be computed with, got gamma={self.gamma:g} and "
                f"terms={self.terms}. Give smaller ones."
            )

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        rows = as_vector_rows(X)
        features = super().transform(rows)
        if sparse.issparse(rows):
            bell = np.exp(-self.gamma * rows.power(2).sum(axis=1)).ravel()
            features.data *= np.repeat(np.asarray(bell).ravel(), np.diff(features.indptr))
        else:
            features *= np.exp(-self.gamma * np.vecdot(rows, rows))[:, None]
        return features

    def _series(self) -> list[float]:
        """(2 gamma)^k / k! for k = 0 to terms - 1."""
        return list(itertools.accumulate(range(1, self.terms), lambda c, k: c * 2 * self.gamma / k, initial=1.0))


def _count_all(d: int, series: Sequence[float]) -> int:
    """Count the monomials in d variables whose degree has a coefficient in the series."""
    return sum(_count(d, k) for k, coefficient in enumerate(series) if coefficient > 0)


def _count(d: int, degree: int) -> int:
    return math.comb(d + degree - 1, degree) if d > 0 else int(degree == 0)


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
    from maxmargin.data.rows import loop_rows

    lengths = np.diff(X.indptr).astype(np.int64)
    rows: Any = loop_rows(X)
    degrees = _degrees(X.shape[1], int(np.max(lengths, initial=0)), series)
    different, which = np.unique(lengths, return_inverse=True)
    counts = np.array([_count_all(int(d), series) for d in different], dtype=np.int64)[which]
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
    counts = [_count(d, k) if coefficient > 0 else 0 for k, coefficient in enumerate(series)]
    offsets = np.where(np.array(series) > 0, np.cumsum(counts) - counts, -1)
    roots = np.sqrt(np.repeat(series, np.diff(firsts)) * weights)
    return Degrees(offsets, roots, firsts)
