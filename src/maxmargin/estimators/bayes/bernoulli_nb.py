"""Bernoulli naive Bayes: features that are there or not.

    P(x | c) = prod_j p_cj^x_j (1 - p_cj)^(1 - x_j)        p_cj = (N_cj + alpha_j) / (N_c + 2 alpha_j)

N_cj is the weight of the rows of class c that have feature j, N_c the weight of all its rows. In logarithms this is
linear in x, so sparse rows stay sparse: sum_j log(1 - p_cj) + sum_j x_j (log p_cj - log(1 - p_cj)).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.bayes.class_sums import add_class_sums, with_values, without_repeated_columns
from maxmargin.estimators.bayes.discrete_nb import FeatureCountNaiveBayes
from maxmargin.estimators.bayes.smoothing import Scores, Shares, linear_scores, shares

_ROUNDING = 64.0 * np.finfo(np.float64).eps


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
    force_alpha
        Whether an alpha below 1e-10 is used as it is.
    binarize
        A feature is there where its value is above this; None says that all values are 0 or 1 already.
    fit_prior
        Whether the prior of a class is its share of the rows; otherwise all have the same.
    class_prior
        Priors that are used instead, one a class.
    n_jobs
        Threads of a prediction; None means all cores.

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

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
        n_jobs: int | None = None,
    ):
        super().__init__(
            alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior, n_jobs=n_jobs
        )
        self.binarize = binarize

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
