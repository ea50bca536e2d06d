"""Scores of an experiment: known by name, because a file holds the name, and numbers, because they are compared."""

from __future__ import annotations

import math
from typing import Any

from sklearn.metrics import get_scorer_names

from maxmargin.errors import DataError, ParameterError, unknown_name


def check_scoring(scoring: Any) -> str | None:
    """The name of a score, or None for the models' own."""
    if scoring is None:
        return None
    if not isinstance(scoring, str):
        raise ParameterError(f"scoring must be the name of a score, which a file can hold, or None; got {scoring!r}.")
    if scoring not in get_scorer_names():
        raise unknown_name("scoring", scoring, get_scorer_names())
    return scoring


def check_score(score: float, scoring: str | None, where: str) -> float:
    """Refuse a score that cannot be compared with others."""
    if math.isfinite(score):
        return score
    name = "the model's own score" if scoring is None else f"scoring={scoring!r}"
    raise DataError(
        f"{name} is {score} on {where}, and cannot be compared. Such scores are not defined for every choice of rows: "
        "roc_auc needs both classes among them, for example. Take fewer folds or a larger part, stratify, or take "
        "another score."
    )
