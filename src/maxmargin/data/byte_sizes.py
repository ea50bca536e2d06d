"""Amounts of memory as people write them."""

from __future__ import annotations

import re
from numbers import Real
from typing import Any

from maxmargin.errors import ParameterError

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}


def byte_count(name: str, amount: Any) -> int:
    """Number of bytes meant by a number or a text such as "256MB"; `name` is the parameter it was given as."""
    if isinstance(amount, Real) and not isinstance(amount, bool) and float(amount) >= 1:
        return int(float(amount))
    match = re.fullmatch(r"\s*([0-9]*\.?[0-9]+)\s*([A-Za-z]*)\s*", amount) if isinstance(amount, str) else None
    if match is None or match[2].upper() not in _UNITS or float(match[1]) * _UNITS[match[2].upper()] < 1:
        raise ParameterError(f'{name} must be a number of bytes or a text such as "500MB" or "2GB", got {amount!r}.')
    return int(float(match[1]) * _UNITS[match[2].upper()])
