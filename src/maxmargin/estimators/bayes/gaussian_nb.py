"""Gaussian naive Bayes: features that are normal within a class.

    P(x | c) = prod_j exp(-(x_j - m_cj)^2 / (2 v_cj)) / sqrt(2 pi v_cj)

m_cj and v_cj are mean and variance of feature j over the rows of class c, the variance with
epsilon = var_smoothing * (largest variance of a feature over all rows) added, so that no variance is zero.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.bayes.class_moments import ClassMoments, GaussianScores
from maxmargin.estimators.bayes.class_priors import check_prior, log_of
from maxmargin.estimators.bayes.naive_bayes import NaiveBayes
from maxmargin.estimators.bayes.smoothing import Scores


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

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9, n_jobs: int | None = None):
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.n_jobs = n_jobs

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.var_smoothing, Real) or not 0.0 <= float(self.var_smoothing) < math.inf:
            raise ParameterError(
                f"var_smoothing must be zero or a positive number, got var_smoothing={self.var_smoothing!r}."
            )

    def _begin(self, classes: Labels) -> None:
        super()._begin(classes)
        self.theta_ = np.zeros((len(classes), self.n_features_in_))
        self._square = np.zeros_like(self.theta_)

    def _add(self, X: Rows, code: RowIndex, weight: Vector) -> None:
        ClassMoments(self.class_count_, self.theta_, self._square).add(X, code, weight, self.n_jobs)

    def _conclude(self) -> None:
        moments = ClassMoments(self.class_count_, self.theta_, self._square)
        largest = float(moments.overall_variance().max())
        # Where all rows are equal any variance does: no class is nearer than another.
        self.epsilon_ = float(self.var_smoothing) * (largest if largest > 0.0 else 1.0)
        self.var_ = moments.variance() + self.epsilon_
        n_classes = len(self.classes_)
        total = self.class_count_.sum()
        self.class_prior_ = self.class_count_ / total if self.priors is None else check_prior(self.priors, n_classes)
        flat = np.argwhere((self.var_ == 0.0) & (self.class_prior_ > 0.0)[:, None])
        if len(flat):
            k, j = flat[0]
            raise DataError(
                f"feature {j} has the variance 0 in class {self.classes_[k]!r}, where its density would be infinite. "
                "Give a var_smoothing above 0, such as the default 1e-9."
            )

    def _log_prior(self) -> Vector:
        return log_of(self.class_prior_)

    def _scorer(self) -> Callable[[Rows], Scores]:
        scores = GaussianScores(self.theta_, self._positive_variance(), self._log_prior())
        return lambda X: Scores(scores.of(X))

    def _log_factors(self, X: Rows) -> Matrix:
        x = np.asarray(self._values(X), dtype=np.float64)
        variance = self._positive_variance()
        return (-0.5 * (np.log(2.0 * np.pi * variance) + (x - self.theta_) ** 2 / variance)).T

    def _positive_variance(self) -> Matrix:
        """The variances; those of a class that has no rows do not matter, and may be 0."""
        return np.where(self.var_ > 0.0, self.var_, 1.0)
