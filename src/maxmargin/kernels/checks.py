"""Checks of the numbers a kernel is made with."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TypeGuard

from maxmargin.errors import ParameterError


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def finite(name: str, value: object, hint: str = "") -> float:
    """`value` as a float, or an error when it is not a finite number."""
    if not is_number(value) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number, got {name}={value!r}. {hint}".rstrip())
    return float(value)


def positive(name: str, value: object, hint: str = "") -> float:
    """`value` as a float, or an error when it is not a finite number above 0."""
    number = finite(name, value, hint)
    if not number > 0:
        raise ParameterError(f"{name} must be positive, got {name}={value!r}. {hint}".rstrip())
    return number


def non_negative(name: str, value: object, hint: str = "") -> float:
    """`value` as a float, or an error when it is not a finite number, 0 or above."""
    number = finite(name, value, hint)
    if number < 0:
        raise ParameterError(f"{name} must not be negative, got {name}={value!r}. {hint}".rstrip())
    return number


def positive_integer(name: str, value: object, hint: str = "") -> int:
    """`value` as an int, or an error when it is not 1, 2, 3 and so on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} must be a positive integer, got {name}={value!r}. {hint}".rstrip())
    return int(value)
