"""What every feature map asks of its rows and its parameters."""

from __future__ import annotations

import math
from numbers import Integral, Real

import numpy as np
from scipy import sparse

from maxmargin._types import RowIndex, Rows
from maxmargin.errors import DataError, DataTypeError, ParameterError


def as_rows(X: Rows) -> Rows:
    """X as a dense array or a CSR matrix of float32 or float64; integers become float64."""
    rows: Rows = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if rows.ndim != 2:
        raise DataError(
            f"a feature map takes a matrix with one row a vector, got an array of shape {rows.shape}. "
            "A single vector x is x.reshape(1, -1)."
        )
    if rows.dtype.kind not in "fiub":
        raise DataTypeError(f"a feature map takes real numbers, got values of type {rows.dtype}.")
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float64)
    if sparse.issparse(rows) and not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    return rows


def children(counts: RowIndex) -> tuple[RowIndex, RowIndex]:
    """Find the parent and the place among siblings of every child, for parents with `counts` children."""
    parent = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(parent)) - np.repeat(np.cumsum(counts) - counts, counts)
    return parent, place


def number_from(name: str, value: object, least: float, *, included: bool) -> float:
    """`value` as a float, or an error when it is not a finite number from `least` on."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or not (value > least or (included and value == least)):  # type: ignore[operator]
        allowed = f"{'at least' if included else 'more than'} {least:g}"
        raise ParameterError(f"{name} must be a finite number, {allowed}, got {name}={value!r}.")
    return float(value)  # type: ignore[arg-type]


def integer_from(name: str, value: object, least: int) -> int:
    """`value` as an int, or an error when it is not an integer from `least` on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ParameterError(f"{name} must be an integer, at least {least}, got {name}={value!r}.")
    return int(value)
