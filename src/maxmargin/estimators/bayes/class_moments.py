"""Mean and variance of every class, and the Gaussian scores that follow from them.

Sparse rows are not filled up. With W the weight of a class and V that of its rows where a feature is stored, the
squared deviations are those of the stored values plus (W - V) m^2 for the others.

Scores of sparse rows begin with the score of the row of zeros and are corrected where values are stored:
(x - m)^2 - m^2 in place of (x - m)^2. In a column that is stored in a share p of the rows, m^2 / v is at most
p / (1 - p), so that nothing cancels unless the column is full; columns with a large m^2 / v are taken out and treated
as the dense ones they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.estimators.bayes.class_sums import (
    add_class_sums,
    class_weights,
    in_double,
    with_values,
    without_repeated_columns,
)

if TYPE_CHECKING:
    from maxmargin._loops.bayes.class_moments import Moments

_ENTRIES_WORTH_A_THREAD = 1 << 17
_FARTHEST = 1e300
"""Squared distance at which every class is equally far; an infinite one would leave no posterior."""
_FULL_COLUMN = 1e4
"""m^2 / v above which a column of sparse rows counts as full."""


def _empty(n_classes: int, n_features: int) -> Moments:
    from maxmargin._loops.bayes.class_moments import Moments

    shape = (n_classes, n_features)
    return Moments(np.zeros(n_classes), np.zeros(shape), np.zeros(shape))


def _threads(n_jobs: int | None, X: Rows) -> int | None:
    return n_jobs if X.size > _ENTRIES_WORTH_A_THREAD else 1


@dataclass(frozen=True)
class ClassMoments:
    """Weight of each class, means, and sums of squared deviations from the means; `add` changes them in place."""

    weight: Vector
    mean: Matrix
    square: Matrix

    def add(self, X: Rows, code: RowIndex, weight: Vector, n_jobs: int | None) -> None:
        """Add rows; code[i] is the number of the class of row i."""
        from maxmargin._loops.bayes.class_moments import Moments, join_moments

        parts = [_sparse_moments(X, code, weight, self)] if sparse.issparse(X) else self._parts(X, code, weight, n_jobs)
        for part in parts:
            join_moments(Moments(self.weight, self.mean, self.square), part)

    def _parts(self, X: Rows, code: RowIndex, weight: Vector, n_jobs: int | None) -> list[Moments]:
        """Moments of dense rows, one a thread."""
        from maxmargin._loops.bayes.class_moments import add_moments
        from maxmargin.data.loop_rows import loop_rows

        values = loop_rows(X).values

        def work(start: int, end: int, stop: StopFlag) -> Moments:
            found, tile = _empty(*self.mean.shape), _empty(*self.mean.shape)
            add_moments(values, code, weight, start, end, found, tile, np.zeros_like(tile.mean), stop)
            return found

        return over_ranges(work, len(code), _threads(n_jobs, X), brief=True)

    def variance(self) -> Matrix:
        """Variance within each class; 0 for a class without rows."""
        variance: Matrix = self.square / np.where(self.weight > 0.0, self.weight, 1.0)[:, None]
        return variance

    def overall_variance(self) -> Vector:
        """Variance of each feature over the rows of all classes."""
        total = self.weight.sum()
        share = self.weight / total
        between = share @ (self.mean - share @ self.mean) ** 2
        variance: Vector = between + self.square.sum(axis=0) / total
        return variance


def _sparse_moments(X: Rows, code: RowIndex, weight: Vector, like: ClassMoments) -> Moments:
    """Moments of sparse rows."""
    X = in_double(without_repeated_columns(X))
    moments = _empty(*like.mean.shape)
    moments.weight[:] = class_weights(code, weight, len(moments.weight))
    total = np.where(moments.weight > 0.0, moments.weight, 1.0)[:, None]
    add_class_sums(X, code, weight, moments.mean)
    moments.mean[:] /= total
    stored = np.zeros_like(moments.mean)
    add_class_sums(with_values(X, np.ones_like(X.data)), code, weight, stored)
    deviation = X.data - moments.mean[np.repeat(code, np.diff(X.indptr)), X.indices]
    add_class_sums(with_values(X, deviation**2), code, weight, moments.square)
    moments.square[:] += np.maximum(0.0, moments.weight[:, None] - stored) * moments.mean**2
    return moments


@dataclass(frozen=True)
class GaussianScores:
    """Means, variances and logarithms of the priors."""

    mean: Matrix
    variance: Matrix
    log_prior: Vector

    def of(self, X: Rows) -> Matrix:
        """Logarithm of P(class) P(x | class), one row a row of X, one column a class."""
        constant = self.log_prior - 0.5 * np.log(2.0 * np.pi * self.variance).sum(axis=1)
        distances = self._sparse_distances(X) if sparse.issparse(X) else self._distances(X, slice(None))
        scores: Matrix = constant - 0.5 * np.minimum(distances, _FARTHEST)
        return scores

    def _distances(self, X: Rows, columns: RowIndex | slice) -> Matrix:
        """Sum of (x - m)^2 / v over these columns, of which X has no others."""
        from maxmargin._loops.bayes.class_moments import squared_distances
        from maxmargin.data.loop_rows import loop_rows

        mean, precision = (np.ascontiguousarray(part[:, columns]) for part in (self.mean, 1.0 / self.variance))
        out = np.empty((len(X), len(mean)))
        squared_distances(loop_rows(X).values, mean, precision, out)
        return out

    def _sparse_distances(self, X: Rows) -> Matrix:
        full = np.flatnonzero((self.mean**2 > _FULL_COLUMN * self.variance).any(axis=0))
        precision = 1.0 / self.variance
        precision[:, full] = 0.0
        X = in_double(without_repeated_columns(X))
        row_of_zeros = (precision * self.mean**2).sum(axis=1)
        linear = X @ np.ascontiguousarray((-2.0 * precision * self.mean).T)
        distances: Matrix = row_of_zeros + linear + with_values(X, X.data**2) @ np.ascontiguousarray(precision.T)
        return distances + self._distances(X[:, full].toarray(), full) if len(full) else distances
