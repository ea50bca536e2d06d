"""Scores by name or by function, their standard errors, and what they mean where a test part has one row.

Many scores are means over rows, and then so is their mean over parts of one row. F values, R^2, balanced accuracy or
the root of a squared error are not: of one row they say nothing, or are not defined. Those are taken of the
predictions of all parts together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.metrics import accuracy_score, check_scoring, get_scorer_names, r2_score

from maxmargin._types import Labels, Matrix, RowIndex, Vector
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
    if isinstance(scoring, str):
        check_name(scoring)
    elif scoring is not None and not callable(scoring):
        raise ParameterError(
            f"scoring must be None, the name of one score, or a function of (model, X, y); got {scoring!r}. For "
            "several scores ask several times."
        )
    try:
        return check_scoring(estimator, scoring)
    except (TypeError, ValueError) as error:  # no score method; a metric in place of a scorer
        raise ParameterError(str(error)) from error


def check_name(scoring: Any) -> None:
    """Refuse what is not the name of a score."""
    if not isinstance(scoring, str):
        raise ParameterError(f"scoring must be the name of a score, which a file can hold, or None; got {scoring!r}.")
    if scoring not in get_scorer_names():
        raise unknown_name("scoring", scoring, get_scorer_names())


def check_comparable(score: float, scoring: str | None, where: str) -> float:
    """Refuse a score that cannot be compared with others."""
    if math.isfinite(score):
        return score
    name = "the model's own score" if scoring is None else f"scoring={scoring!r}"
    raise DataError(
        f"{name} is {score} on {where}, and cannot be compared. Such scores are not defined for every choice of rows: "
        "roc_auc needs both classes among them, for example. Take fewer folds or a larger part, stratify, or take "
        "another score."
    )


def own_score(model: Any, y: Labels, predictions: Labels, weight: Vector | None) -> float:
    """What a model of ours says by its `score`: accuracy, or R^2 for a regressor; of predictions that are there."""
    score = accuracy_score if is_classifier(model) else r2_score
    return float(score(y, predictions, sample_weight=weight))


def standard_error(scores: Matrix) -> Matrix:
    """Standard error of means over the last axis as if folds were independent; not a number for one fold."""
    n_folds = scores.shape[-1]
    if n_folds < 2:
        return np.full(scores.shape[:-1], np.nan)
    return np.asarray(scores.std(axis=-1, ddof=1) / np.sqrt(n_folds))


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


def score_of_all(scorer: Any, y: Labels, predictions: Labels, weights: dict[str, Vector]) -> float:
    """A score that asks for predictions alone, of predictions that are there."""
    return float(scorer(_SpokenPredictions(predictions), np.zeros((len(y), 0)), y, **weights))


class _SpokenPredictions(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Stands for the models that have predicted."""

    def __init__(self, predictions: Labels):
        self.predictions = predictions

    def predict(self, X: Any) -> Labels:
        """What they said."""
        return self.predictions
