"""Gaussian naive Bayes: features that are normal within a class.

    P(x | c) = prod_j exp(-(x_j - m_cj)^2 / (2 v_cj)) / sqrt(2 pi v_cj)

m_cj and v_cj are mean and variance of feature j over the rows of class c, the variance with
epsilon = var_smoothing * (largest variance of a feature over all rows) added, so that no variance is zero.

Sparse rows are not filled up. With W the weight of a class and V that of its rows where a feature is stored, the
squared deviations are those of the stored values plus (W - V) m^2 for the others. Scores of sparse rows begin with the
score of the row of zeros and are corrected where values are stored: (x - m)^2 - m^2 in place of (x - m)^2. In a column
that is stored in a share p of the rows, m^2 / v is at most p / (1 - p), so that nothing cancels unless the column is
full; columns with a large m^2 / v are taken out and treated as the dense ones they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._loops.bayes.class_moments import Moments, add_moments, join_moments, squared_distances
from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.data.rows import loop_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.bayes.counts import Scores, add_class_sums, in_double, with_values, without_repeated_columns
from maxmargin.estimators.bayes.naive_bayes import NaiveBayes, check_prior, log_of

_ENTRIES_WORTH_A_THREAD = 1 << 17
_FARTHEST = 1e300
"""Squared distance at which every class is equally far; an infinite one would leave no posterior."""
_FULL_COLUMN = 1e4
"""m^2 / v above which a column of sparse rows counts as full."""


@dataclass(eq=False, repr=False, kw_only=True)
class GaussianNB(NaiveBayes):
    """Naive Bayes for features that are normal within a class.

    A drop-in replacement for scikit-learn's `GaussianNB`, on all cores. Rows may be sparse, too, and a source of any
    size is read once. Means and variances are joined by the rule of Chan, Golub and LeVeque, so that a large offset of
    the data does no harm. `epsilon_` heeds the weights, and after `partial_fit` it is that of all rows seen so far:
    the model does not depend on how the rows were cut into batches.

    Parameters
    ----------
    priors
        Priors of the classes; None takes their shares of the rows.
    var_smoothing
        Part of the largest variance of a feature that is added to every variance.
    n_jobs
        Threads; None means all cores.

    Attributes
    ----------
    classes_, class_count_, class_prior_
        Labels, weights and priors of the classes.
    theta_, var_
        Mean and variance of each feature in each class, in double precision.
    epsilon_
        What was added to the variances.
    certificate_
        None: nothing was searched for.

    Examples
    --------
    >>> from maxmargin import GaussianNB
    >>> model = GaussianNB().fit([[-2.0], [-1.0], [1.0], [2.0]], ["low", "low", "high", "high"])
    >>> model.predict([[1.6]]).tolist()
    ['high']
    >>> model.theta_.ravel().tolist()
    [1.5, -1.5]
    """

    _sums = ("class_count_", "theta_", "_square")

    priors: Any = None
    var_smoothing: float = 1e-9
    theta_: Matrix = field(init=False)
    var_: Matrix = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.var_smoothing, Real) or not 0.0 <= float(self.var_smoothing) < math.inf:
            raise ParameterError(
                f"var_smoothing must be zero or a positive number, got var_smoothing={self.var_smoothing!r}."
            )

    def _begin(self, classes: Labels) -> None:
        super()._begin(classes)
        self.theta_, self._square = np.zeros((2, len(classes), self.n_features_in_))

    def _add(self, X: Rows, code: RowIndex, weight: Vector) -> None:
        shape = self.theta_.shape
        if sparse.issparse(X):
            parts = [_sparse_moments(X, code, weight, shape)]
        else:
            parts = _dense_moments(X, code, weight, shape, self.n_jobs)
        for part in parts:
            join_moments(Moments(self.class_count_, self.theta_, self._square), part)

    def _conclude(self) -> None:
        total = self.class_count_.sum()
        share = self.class_count_ / total
        between = share @ (self.theta_ - share @ self.theta_) ** 2
        largest = float((between + self._square.sum(axis=0) / total).max())
        # Where all rows are equal any variance does: no class is nearer than another.
        self.epsilon_ = float(self.var_smoothing) * (largest if largest > 0.0 else 1.0)
        within = self._square / np.where(self.class_count_ > 0.0, self.class_count_, 1.0)[:, None]
        self.var_ = within + self.epsilon_
        self.class_prior_ = share if self.priors is None else check_prior(self.priors, len(self.classes_))
        without_width = np.argwhere((self.var_ == 0.0) & (self.class_prior_ > 0.0)[:, None])
        if len(without_width):
            k, j = without_width[0]
            raise DataError(
                f"feature {j} has the variance 0 in class {self.classes_[k]!r}, where its density would be infinite. "
                "Give a var_smoothing above 0, such as the default 1e-9."
            )

    def _log_prior(self) -> Vector:
        return log_of(self.class_prior_)

    def _scorer(self) -> Callable[[Rows], Scores]:
        mean, variance = self.theta_, self._positive_variance()
        constant = self._log_prior() - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)

        def score(X: Rows) -> Scores:
            distances = (_sparse_distances if sparse.issparse(X) else _dense_distances)(X, mean, variance)
            return Scores(constant - 0.5 * np.minimum(distances, _FARTHEST))

        return score

    def _log_factors(self, X: Rows) -> Matrix:
        x, variance = np.asarray(self._values(X), dtype=np.float64), self._positive_variance()
        return (-0.5 * (np.log(2.0 * np.pi * variance) + (x - self.theta_) ** 2 / variance)).T

    def _positive_variance(self) -> Matrix:
        """The variances; those of a class that has no rows do not matter, and may be 0."""
        return np.where(self.var_ > 0.0, self.var_, 1.0)


def _no_moments(shape: tuple[int, ...]) -> Moments:
    return Moments(np.zeros(shape[0]), np.zeros(shape), np.zeros(shape))


def _dense_moments(
    X: Rows, code: RowIndex, weight: Vector, shape: tuple[int, ...], n_jobs: int | None
) -> list[Moments]:
    """Moments of dense rows, one a thread."""
    values = loop_rows(X).values

    def work(start: int, end: int, stop: StopFlag) -> Moments:
        found, tile = _no_moments(shape), _no_moments(shape)
        add_moments(values, code, weight, start, end, found, tile, np.zeros(shape), stop)
        return found

    return over_ranges(work, len(code), n_jobs if X.size > _ENTRIES_WORTH_A_THREAD else 1, brief=True)


def _sparse_moments(X: Rows, code: RowIndex, weight: Vector, shape: tuple[int, ...]) -> Moments:
    """Moments of sparse rows."""
    X = in_double(without_repeated_columns(X))
    moments, stored = _no_moments(shape), np.zeros(shape)
    moments.weight[:] = np.bincount(code, weights=weight, minlength=shape[0])
    add_class_sums(X, code, weight, moments.mean)
    moments.mean[:] /= np.where(moments.weight > 0.0, moments.weight, 1.0)[:, None]
    add_class_sums(with_values(X, np.ones_like(X.data)), code, weight, stored)
    deviation = X.data - moments.mean[np.repeat(code, np.diff(X.indptr)), X.indices]
    add_class_sums(with_values(X, deviation**2), code, weight, moments.square)
    moments.square[:] += np.maximum(0.0, moments.weight[:, None] - stored) * moments.mean**2
    return moments


def _dense_distances(X: Rows, mean: Matrix, variance: Matrix) -> Matrix:
    """Sum over the columns of (x - m)^2 / v: one row a row of X, one column a class."""
    out = np.empty((len(X), len(mean)))
    squared_distances(loop_rows(X).values, np.ascontiguousarray(mean), np.ascontiguousarray(1.0 / variance), out)
    return out


def _sparse_distances(X: Rows, mean: Matrix, variance: Matrix) -> Matrix:
    """The same for sparse rows."""
    full = np.flatnonzero((mean**2 > _FULL_COLUMN * variance).any(axis=0))
    precision = 1.0 / variance
    precision[:, full] = 0.0
    X = in_double(without_repeated_columns(X))
    row_of_zeros = (precision * mean**2).sum(axis=1)
    linear = X @ np.ascontiguousarray((-2.0 * precision * mean).T)
    distances: Matrix = row_of_zeros + linear + with_values(X, X.data**2) @ np.ascontiguousarray(precision.T)
    return (
        distances + _dense_distances(X[:, full].toarray(), mean[:, full], variance[:, full]) if len(full) else distances
    )
