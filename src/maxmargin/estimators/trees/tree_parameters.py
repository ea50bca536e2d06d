"""Parameters of decision trees: checked, and turned into the rules of growth."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np

from maxmargin._loops.trees.records import Rules
from maxmargin.backends.threads import thread_count
from maxmargin.errors import ParameterError
from maxmargin.estimators.fitting.parameters import check_choice
from maxmargin.trees.fitting import CRITERIA

_ELSEWHERE = {
    "absolute_error": "its best splits need medians of both sides",
    "friedman_mse": "with one target it chooses the splits of 'squared_error'",
    "poisson": "only squared distances are counted",
}


def growth_rules(model: Any, criteria: tuple[str, ...], n_rows: int, n_columns: int) -> Rules:
    """The rules for data with so many rows and columns; least weight and least gain as shares of those of all rows."""
    thread_count(model.n_jobs)
    if model.monotonic_cst is not None:
        raise ParameterError(
            f"monotonic_cst={model.monotonic_cst!r} is not available; give None. Check the predictions for "
            "the order that you need."
        )
    _number("ccp_alpha", model.ccp_alpha, 0.0)
    max_depth = check_whole("max_depth", model.max_depth, least=1)
    return Rules(
        criterion=CRITERIA[_criterion(model.criterion, criteria)],
        max_depth=2**31 if max_depth is None else max_depth,
        min_samples_split=max(2, _rows("min_samples_split", model.min_samples_split, n_rows, least=2)),
        min_samples_leaf=_rows("min_samples_leaf", model.min_samples_leaf, n_rows, least=1),
        min_weight_leaf=_number("min_weight_fraction_leaf", model.min_weight_fraction_leaf, 0.0, 0.5),
        least_gain=_number("min_impurity_decrease", model.min_impurity_decrease, 0.0),
        max_features=_columns(model.max_features, n_columns),
        random=check_choice("splitter", model.splitter, ("best", "random")) == "random",
    )


def check_whole(name: str, value: Any, least: int) -> int | None:
    """None, or a whole number."""
    if value is None:
        return None
    if not _is_whole(value) or int(value) < least:
        raise ParameterError(f"{name} must be None or a whole number of at least {least}, got {name}={value!r}.")
    return int(value)


def _number(name: str, value: Any, least: float, most: float = math.inf) -> float:
    if not isinstance(value, Real) or isinstance(value, (bool, np.bool_)) or not least <= float(value) <= most:
        bounds = f"at least {least:g}" if most == math.inf else f"from {least:g} to {most:g}"
        raise ParameterError(f"{name} must be a number, {bounds}, got {name}={value!r}.")
    return float(value)


def _criterion(criterion: Any, known: tuple[str, ...]) -> str:
    if isinstance(criterion, str) and criterion in _ELSEWHERE and "squared_error" in known:
        raise ParameterError(
            f"criterion={criterion!r} is not available: {_ELSEWHERE[criterion]}. Known: 'squared_error'."
        )
    return check_choice("criterion", criterion, known)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _rows(name: str, value: Any, n_rows: int, least: int) -> int:
    """A number of rows, or the share of them that is rounded up to one."""
    if _is_whole(value) and int(value) >= least:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < float(value) <= 1.0:
        return math.ceil(float(value) * n_rows)
    raise ParameterError(
        f"{name} must be a whole number of at least {least}, or a share of the rows above 0 and at most 1 such as 0.1, "
        f"got {name}={value!r}."
    )


def _columns(value: Any, n_columns: int) -> int:
    """How many columns are drawn for each node."""
    if value is None:
        return n_columns
    if isinstance(value, str) and value in ("sqrt", "log2"):
        return max(1, int(math.sqrt(n_columns) if value == "sqrt" else math.log2(n_columns)))
    if _is_whole(value) and int(value) >= 1:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral) and 0.0 < float(value) <= 1.0:
        return max(1, int(float(value) * n_columns))
    raise ParameterError(
        "max_features must be None, 'sqrt', 'log2', a positive number of columns, or a share of them above 0 and at "
        f"most 1, got max_features={value!r}."
    )
