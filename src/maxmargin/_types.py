"""Names for the arrays that travel between the layers."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
"""One double a row, or one a feature."""

Matrix: TypeAlias = NDArray[np.float64]
"""Two-dimensional, double."""

RowIndex: TypeAlias = NDArray[np.int64]
"""Positions of rows in the data."""

Labels: TypeAlias = NDArray[Any]
"""The user's targets, of whatever kind they came."""

Rows: TypeAlias = Any
"""Rows of data as the user has them: dense array, CSR matrix, or array of strings."""
