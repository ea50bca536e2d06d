"""Scores by name or by function, and what they mean where a test part has one row.

Many scores are means over rows, and then so is their mean over parts of one row. F values, R^2, balanced accuracy or
the root of a squared error are not: of one row they say nothing, or are not defined. Those are taken of the
predictions of all parts together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.metrics import check_scoring, get_scorer_names

from maxmargin._types import Labels, RowIndex, Vector
from maxmargin.errors import DataError, ParameterError, unknown_name

_MEANS_OVER_ROWS = frozenset(
    {
        "accuracy",
        "neg_brier_score",
        "neg_log_loss",
        "neg_mean_absolute_error",
        "neg_mean_absolute_percentage_error",
        "neg_mean_gamma_deviance",
        "neg_mean_poisson_deviance",
        "neg_mean_squared_error",
        "neg_mean_squared_log_error",
    }
)


def scorer_of(estimator: Any, scoring: Any) -> Any:
    """The function of (model, X, y) that scores; errors say what may be given."""
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise unknown_name("scoring", scoring, get_scorer_names())
    if scoring is not None and not isinstance(scoring, str) and not callable(scoring):
        raise ParameterError(
            f"scoring must be None, the name of one score, or a function of (model, X, y); got {scoring!r}. For "
            "several scores ask several times."
        )
    try:
        return check_scoring(estimator, scoring)
    except (TypeError, ValueError) as error:  # no score method; a metric in place of a scorer
        raise ParameterError(str(error)) from error


def is_of_all_together(model: Any, scoring: Any, weight: Vector | None, tests: Sequence[RowIndex]) -> bool:
    """Whether the score is one of all predictions: there are parts of one row, which have none of their own.

    Nor has a mean of scores of one row each that should count weights.
    """
    if min(len(test) for test in tests) > 1:
        return False
    if scoring is None:
        return is_regressor(model) or weight is not None
    scorer = scorer_of(model, scoring)
    asks = getattr(scorer, "_response_method", None)
    if asks is None or (weight is None and scoring in _MEANS_OVER_ROWS):
        return False  # a function of one's own decides by itself
    if asks != "predict":
        raise DataError(
            f"a test part has one row, of which scoring={scoring!r} is not defined or would not count the weight; and "
            "values that different models give cannot be scored together. Take folds of more rows, such as k_fold(10)."
        )
    return True


def score_of_all(scorer: Any, y: Labels, predictions: Sequence[Labels], weights: dict[str, Vector]) -> float:
    """A score that asks for predictions alone, of predictions that are there."""
    return float(scorer(_Spoken(np.concatenate(predictions)), np.zeros((len(y), 0)), y, **weights))


class _Spoken(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Stands for the models that have predicted."""

    def __init__(self, predictions: Labels):
        self.predictions = predictions

    def predict(self, X: Any) -> Labels:
        """What they said."""
        return self.predictions
