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

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.features.rows import as_rows, children, integer_from, number_from


@dataclass(frozen=True)
class Monomials:
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
        object.__setattr__(self, "degree", integer_from("degree", self.degree, least=0))
        object.__setattr__(self, "gamma", number_from("gamma", self.gamma, least=0.0, included=False))
        object.__setattr__(self, "coef0", number_from("coef0", self.coef0, least=0.0, included=True))

    def transform(self, X: Rows) -> Rows:
        """Features of the rows of X; CSR stays CSR."""
        return weighted_monomials(as_rows(X), self._series())

    __call__ = transform

    def output_features(self, d: int) -> int:
        """Count the features made of d."""
        return count_monomials(d, self._series())

    def _series(self) -> list[float]:
        degree = self.degree
        return [math.comb(degree, k) * self.gamma**k * self.coef0 ** (degree - k) for k in range(degree + 1)]


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
    n_rows, d = X.shape
    features = np.empty((n_rows, n_features), dtype=X.dtype)
    products = np.ones((n_rows, 1), dtype=X.dtype)
    offset = 0
    variables = np.arange(d)
    for coefficient, level in zip(series, _levels(np.array([0]), np.array([d]), variables), strict=False):
        if level.degree > 0:
            products = products[:, level.parent] * X[:, level.factor]
        if coefficient > 0:
            features[:, offset + level.column] = products * np.sqrt(coefficient * level.weight)
            offset += _count(d, level.degree)
    return features


def _sparse(X: Rows, series: Sequence[float], n_features: int) -> Rows:
    n_rows, d = X.shape
    starts, ends = X.indptr[:-1].astype(np.int64), X.indptr[1:].astype(np.int64)
    row = np.arange(n_rows)
    products = np.ones(n_rows, dtype=X.dtype)
    offset = 0
    values, rows, columns = [], [], []
    for coefficient, level in zip(series, _levels(starts, ends, X.indices.astype(np.int64)), strict=False):
        if level.degree > 0:
            products, row = products[level.parent] * X.data[level.factor], row[level.parent]
        if coefficient > 0:
            values.append((products * np.sqrt(coefficient * level.weight)).astype(X.dtype))
            rows.append(row)
            columns.append(offset + level.column)
            offset += _count(d, level.degree)
    place = (np.concatenate(rows), np.concatenate(columns))
    return type(X)((np.concatenate(values), place), shape=(n_rows, n_features))


class Level(NamedTuple):
    """All monomials of one degree: `parent`, one of the degree before, times the variable at `factor`."""

    degree: int
    parent: RowIndex
    factor: RowIndex
    weight: Vector
    column: RowIndex


def _levels(starts: RowIndex, ends: RowIndex, variables: RowIndex) -> Iterator[Level]:
    """Monomials of degree 0, 1, 2 and so on of each group variables[start:end], which increases."""
    n_groups = len(starts)
    factor, end = starts, ends
    run = np.zeros(n_groups, dtype=np.int64)  # how often the last factor stands at the end
    level = Level(0, np.arange(n_groups), starts, np.ones(n_groups), np.zeros(n_groups, dtype=np.int64))
    for degree in itertools.count(1):
        yield level
        # Factors never decrease, so a monomial goes on with its last factor or a later one.
        parent, place = children(end - factor)
        last = factor[parent]
        factor, end = last + place, end[parent]
        run = np.where(factor == last, run[parent] + 1, 1)
        weight = level.weight[parent] * degree / run
        column = level.column[parent] + _choose(variables[factor] + degree - 1, degree)
        level = Level(degree, parent, factor, weight, column)


def _choose(n: RowIndex, k: int) -> RowIndex:
    """Binomial coefficients of every n, in integers."""
    result = np.ones_like(n)
    for t in range(1, k + 1):
        result = result * (n - k + t) // t
    return result
