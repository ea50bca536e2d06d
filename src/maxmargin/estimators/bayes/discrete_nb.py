"""Naive Bayes of counts: priors and smoothing, and the machines for things that are counted or there.

    multinomial    P(x | c) ~ prod_j p_cj^x_j                         p_cj = (N_cj + alpha_j) / sum_i (N_ci + alpha_i)
    Bernoulli      P(x | c) = prod_j p_cj^x_j (1 - p_cj)^(1 - x_j)    p_cj = (N_cj + alpha_j) / (N_c + 2 alpha_j)

N_cj is the sum of feature j over the rows of class c; for Bernoulli the weight of those that have the feature, and N_c
that of all rows of the class. The multinomial coefficient of a row is the same for every class and left out. In
logarithms both are linear in x, so sparse rows stay sparse: for Bernoulli
sum_j log(1 - p_cj) + sum_j x_j (log p_cj - log(1 - p_cj)).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.bayes.counts import (
    Scores,
    Shares,
    add_class_sums,
    linear_scores,
    shares,
    with_values,
    without_repeated_columns,
)
from maxmargin.estimators.bayes.naive_bayes import NaiveBayes, check_prior, log_of

_LEAST_ALPHA = 1e-10
_ROUNDING = 64.0 * np.finfo(np.float64).eps


@dataclass(eq=False, repr=False, kw_only=True)
class DiscreteNaiveBayes(NaiveBayes):
    """Base of the naive Bayes estimators that count."""

    alpha: Any = 1.0
    force_alpha: bool = True
    fit_prior: bool = True
    class_prior: Any = None
    class_log_prior_: Vector = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.fit_prior, (bool, np.bool_)):
            raise ParameterError(f"fit_prior must be True or False, got fit_prior={self.fit_prior!r}.")
        if not isinstance(self.force_alpha, (bool, np.bool_)):
            raise ParameterError(f"force_alpha must be True or False, got force_alpha={self.force_alpha!r}.")
        if isinstance(self.alpha, Real) and not 0.0 <= float(self.alpha) < math.inf:
            raise ParameterError(f"alpha must be zero or a positive number, got alpha={self.alpha!r}.")

    def _check_alpha(self) -> Any:
        """The smoothing: a number, or one a feature."""
        alpha: Any = self.alpha if isinstance(self.alpha, Real) else np.asarray(self.alpha, dtype=np.float64)
        if isinstance(alpha, np.ndarray):
            if alpha.shape != (self.n_features_in_,):
                raise ParameterError(
                    f"When alpha is an array, it should contains `n_features`: {self.n_features_in_} values, got shape "
                    f"{alpha.shape}."
                )
            if not np.all((alpha >= 0.0) & np.isfinite(alpha)):
                raise ParameterError(
                    "All values in alpha must be greater than 0. Zero is allowed as well: no smoothing."
                )
        if np.min(alpha) < _LEAST_ALPHA and not self.force_alpha:
            warnings.warn(
                f"alpha too small will result in numeric errors, setting alpha = {_LEAST_ALPHA:.1e}. Use "
                "`force_alpha=True` to keep alpha unchanged: it is safe here, also at 0.",
                stacklevel=2,
            )
            return np.maximum(alpha, _LEAST_ALPHA)
        return alpha

    def _conclude(self) -> None:
        n_classes = len(self.classes_)
        if self.class_prior is not None:
            self.class_log_prior_ = log_of(check_prior(self.class_prior, n_classes))
        elif self.fit_prior:
            self.class_log_prior_ = log_of(self.class_count_) - np.log(self.class_count_.sum())
        else:
            self.class_log_prior_ = np.full(n_classes, -np.log(n_classes))

    def _log_prior(self) -> Vector:
        return self.class_log_prior_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # on data that are not counts
        return tags


class FeatureCountNaiveBayes(DiscreteNaiveBayes):
    """Base of those that keep one sum for each class and feature."""

    feature_count_: Matrix
    _sums = ("class_count_", "feature_count_")

    def _begin(self, classes: Labels) -> None:
        super()._begin(classes)
        self.feature_count_ = np.zeros((len(classes), self.n_features_in_))


class MultinomialNB(FeatureCountNaiveBayes):
    """Naive Bayes for counts, such as the words of a text.

    A drop-in replacement for scikit-learn's `MultinomialNB`. Rows may be dense or sparse, and a source of any size is
    read once.

    Parameters
    ----------
    alpha
        Added to every count, a number or one a feature. 0 is safe: a row that is impossible in every class gets the
        limit of its posterior for small alpha.
    force_alpha
        Whether an alpha below 1e-10 is used as it is.
    fit_prior
        Whether the prior of a class is its share of the rows; otherwise all have the same.
    class_prior
        Priors that are used instead, one a class.
    n_jobs
        Threads of a prediction; None means all cores.

    Attributes
    ----------
    classes_, class_count_, feature_count_
        Labels, weight of the rows of each class, and sums of each feature over them.
    class_log_prior_, feature_log_prob_
        Logarithms of P(c) and p_cj.
    certificate_
        None: nothing was searched for.

    Examples
    --------
    >>> from maxmargin import MultinomialNB
    >>> model = MultinomialNB().fit([[2, 1, 0], [1, 0, 0], [0, 1, 3]], ["fruit", "fruit", "stone"])
    >>> model.predict([[0, 0, 1]]).tolist()
    ['stone']
    """

    def _add(self, X: Rows, code: RowIndex, weight: Vector) -> None:
        values = X.data if sparse.issparse(X) else X
        if values.size and values.min() < 0:
            raise DataError(
                f"Negative values in data passed to {type(self).__name__} (input X): {values.min()} is below 0, and it "
                "counts. Use GaussianNB for features that may be negative."
            )
        super()._add(X, code, weight)
        add_class_sums(X, code, weight, self.feature_count_)

    def _conclude(self) -> None:
        super()._conclude()
        # Feature by feature in memory, as the products of a prediction want it.
        smoothed = np.add(self.feature_count_, self._check_alpha(), order="F")
        found = shares(smoothed, smoothed.sum(axis=1, keepdims=True), self.n_features_in_)
        self.feature_log_prob_, self._log_total = found

    def _scorer(self) -> Callable[[Rows], Scores]:
        found = Shares(self.feature_log_prob_, self._log_total)
        zeros = np.isneginf(found.log_share).T.astype(np.float64) if found.any_zero else None
        weights = np.ascontiguousarray(found.log_share.T) if zeros is None else found.finite().T
        return partial(linear_scores, weights=weights, offset=self.class_log_prior_, zeros=zeros)

    def _log_factors(self, X: Rows) -> Matrix:
        x = np.asarray(self._values(X), dtype=np.float64)
        with np.errstate(invalid="ignore"):  # 0 times minus infinity: a count of 0 is the factor 1 all the same
            return np.where(x == 0.0, 0.0, self.feature_log_prob_ * x).T

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class BernoulliNB(FeatureCountNaiveBayes):
    """Naive Bayes for features that are there or not.

    A drop-in replacement for scikit-learn's `BernoulliNB`. Rows may be dense or sparse, and a source of any size is
    read once. The probability of absence is computed from the counts of absence, not as 1 - exp(log p), so that it
    keeps its digits where a feature is nearly always there.

    Parameters
    ----------
    alpha
        Added to the counts of presence and of absence, a number or one a feature. 0 is safe: a row that is impossible
        in every class gets the limit of its posterior for small alpha.
    binarize
        A feature is there where its value is above this; None says that all values are 0 or 1 already.
    force_alpha, fit_prior, class_prior, n_jobs
        As in `MultinomialNB`.

    Attributes
    ----------
    classes_, class_count_, feature_count_
        Labels, weight of the rows of each class, and of those that have the feature.
    class_log_prior_, feature_log_prob_
        Logarithms of P(c) and p_cj.
    certificate_
        None: nothing was searched for.

    Examples
    --------
    >>> from maxmargin import BernoulliNB
    >>> model = BernoulliNB().fit([[1, 0], [1, 1], [0, 1]], ["a", "a", "b"])
    >>> model.predict([[0, 1]]).tolist()
    ['b']
    """

    binarize: float | None = 0.0

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.binarize is not None and not (isinstance(self.binarize, Real) and 0.0 <= self.binarize < math.inf):
            raise ParameterError(f"binarize must be None, zero or a positive number, got binarize={self.binarize!r}.")

    def _add(self, X: Rows, code: RowIndex, weight: Vector) -> None:
        super()._add(X, code, weight)
        add_class_sums(_presence(X, self.binarize), code, weight, self.feature_count_)

    def _conclude(self) -> None:
        super()._conclude()
        alpha = self._check_alpha()
        total = self.class_count_[:, None] + 2.0 * alpha
        self.feature_log_prob_, self._log_total = shares(self.feature_count_ + alpha, total, 2)
        absence = self.class_count_[:, None] - self.feature_count_
        # Sums of the same weights in another order may differ in the last digits: that is no absence.
        absence *= absence > _ROUNDING * self.class_count_[:, None]
        absence += alpha
        self._absence_log_prob = shares(absence, total, 2).log_share

    def _scorer(self) -> Callable[[Rows], Scores]:
        there, away = (Shares(logs, self._log_total) for logs in (self.feature_log_prob_, self._absence_log_prob))
        zeros, zeros_offset = None, np.zeros(len(self.classes_))
        log_there, log_away = there.log_share, away.log_share
        if there.any_zero or away.any_zero:
            zero_away = np.isneginf(log_away)
            zeros = (np.isneginf(log_there).astype(np.float64) - zero_away).T
            zeros_offset = zero_away.sum(axis=1)
            log_there, log_away = there.finite(), away.finite()
        weights = np.subtract(log_there.T, log_away.T, order="C")  # products with sparse rows want it so
        offset = self.class_log_prior_ + log_away.sum(axis=1)
        return lambda X: linear_scores(_presence(X, self.binarize), weights, offset, zeros, zeros_offset)

    def _log_factors(self, X: Rows) -> Matrix:
        there = np.asarray(self._values(X)) > (0.0 if self.binarize is None else self.binarize)
        return np.where(there, self.feature_log_prob_, self._absence_log_prob).T


def _presence(X: Rows, threshold: float | None) -> Rows:
    """1.0 where a feature is there and 0.0 where it is not, dense or sparse as X is."""
    X = without_repeated_columns(X)
    values = X.data if sparse.issparse(X) else X
    if threshold is None and not np.all((values == 0) | (values == 1)):
        raise DataError(
            "with binarize=None every value must be 0 or 1, and X holds others. Give binarize=0.0, or the number above "
            "which a feature counts as there."
        )
    there = (values > (0.0 if threshold is None else threshold)).astype(np.float64)
    return with_values(X, there) if sparse.issparse(X) else there
