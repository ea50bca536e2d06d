"""Priors and smoothing, which the naive Bayes estimators of counts share."""

from __future__ import annotations

import math
import warnings
from numbers import Real
from typing import Any

import numpy as np

from maxmargin._types import Labels, Matrix, Vector
from maxmargin.errors import ParameterError
from maxmargin.estimators.bayes.naive_bayes import NaiveBayes, check_prior, log_of

_LEAST_ALPHA = 1e-10


class DiscreteNaiveBayes(NaiveBayes):
    """Base of the naive Bayes estimators that count."""

    class_log_prior_: Vector

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        n_jobs: int | None = None,
    ):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.n_jobs = n_jobs

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
