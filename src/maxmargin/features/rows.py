"""What every feature map asks of its rows and its parameters."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np

from maxmargin._types import RowIndex, Rows
from maxmargin.data import as_vectors
from maxmargin.errors import ParameterError


def as_rows(X: Rows) -> Rows:
    """X as a dense array or a CSR matrix of float32 or float64."""
    return as_vectors(X, "a feature map")


def children(counts: RowIndex) -> tuple[RowIndex, RowIndex]:
    """Find the parent and the place among siblings of every child, for parents with `counts` children."""
    parent = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
    return parent, place


def number_from(name: str, value: object, least: float, *, included: bool) -> float:
    """`value` as a float, or an error when it is not a finite number from `least` on."""
    number = float(value) if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    if not math.isfinite(number) or not (number > least or (included and number == least)):
        allowed = f"{'at least' if included else 'more than'} {least:g}"
        raise ParameterError(f"{name} must be a finite number, {allowed}, got {name}={value!r}.")
    return number


def check_flag(name: str, value: object) -> None:
    """Refuse what is neither True nor False: most words would count as True."""
    if not isinstance(value, (bool, np.bool_)):
        raise ParameterError(f"{name} must be True or False, got {name}={value!r}.")


def integer_from(name: str, value: object, least: int) -> int:
    """`value` as an int, or an error when it is not an integer from `least` on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be an integer, at least {least}, got {name}={value!r}.")
    return int(value)
