"""Multinomial naive Bayes: counts of things, such as words.

    P(x | c) is proportional to    prod_j P(j | c)^x_j        P(j | c) = (N_cj + alpha_j) / sum_i (N_ci + alpha_i)

N_cj is the sum of feature j over the rows of class c. The multinomial coefficient of a row is the same for every class
and left out.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError
from maxmargin.estimators.bayes.class_sums import add_class_sums
from maxmargin.estimators.bayes.discrete_nb import FeatureCountNaiveBayes
from maxmargin.estimators.bayes.smoothing import Scores, Shares, linear_scores, shares


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
        Logarithms of P(c) and P(j | c).
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
