"""A linear problem whose columns far from zero, such as dates, are looked at from nearby.

Where the intercept is free, x - m has the same weights and the same multipliers as x, and the intercept b + <w, m>, for
every m. In rounded numbers it is not the same: of a column with mean 1e6 and spread 1, <w, x> and b cancel in their
first six digits, and the sums of squares that Newton steps are made of in their first twelve.

Certificates are always about the rows as they were given.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.data.arrays import centred_rows
from maxmargin.penalties import L1
from maxmargin.problems import LinearProblem, Solution
from maxmargin.solvers.common.feasible import into_domain

_LOOKED_AT, _FEWEST = 100_000, 20  # entries, and rows
_FAR = 1e3  # times the spread: squares then lose six of their sixteen digits
_MOST_SPARSE = 10  # far columns of sparse rows
_MOST_BYTES = 1 << 28  # of a copy, and of what making it takes
_SPARSE_BYTES = 32  # an entry, for both


def far_columns(X: Rows, weight: Vector | None = None) -> Vector | None:
    """A point near the entries of columns far from zero, and 0 in the others; None where there are none.

    Some rows that count are looked at, evenly spaced. A constant column has no spread; it is far beside others whose
    spread is much smaller. In sparse rows every far column makes entries, so that there may be only a few.
    """
    if 0 in X.shape:
        return None
    counted = np.arange(X.shape[0]) if weight is None else np.flatnonzero(weight)
    some: Any = X[counted[:: max(1, len(counted) // max(_FEWEST, _LOOKED_AT // X.shape[1]))]]
    if some.shape[0] == 0:
        return None
    some = some.tocsr() if sparse.issparse(some) else np.asarray(some)
    columns = _full_columns(some)
    full = some[:, columns].toarray() if sparse.issparse(some) else some
    if len(columns) == 0:
        return None
    mean = np.asarray(np.mean(full, axis=0, dtype=np.float64))
    spread = np.asarray(np.std(full, axis=0, dtype=np.float64))
    far = np.abs(mean) > _FAR * spread
    if not np.any(far):
        return None
    is_constant = spread <= 1e-12 * np.abs(mean)
    if np.any(is_constant):
        typical = min(_median(spread[~is_constant]), _median(_entries_outside(some, columns)))
        typical = 0.0 if np.isinf(typical) else typical  # nothing else is there: only the intercept is learnt
        far &= ~is_constant | (np.abs(mean) > _FAR * typical)
        if not np.any(far):
            return None
    if sparse.issparse(some) and np.count_nonzero(far) > _MOST_SPARSE:
        return None
    centre = np.zeros(X.shape[1])
    centre[columns[far]] = mean[far]
    return centre


def _full_columns(some: Rows) -> RowIndex:
    """Columns with an entry in every row: the others have zeros, and are never far from zero."""
    if not sparse.issparse(some):
        return np.arange(some.shape[1])
    candidates = np.unique(some.indices[: some.indptr[1]]).astype(np.int64)
    counts = np.bincount(some[:, candidates].indices, minlength=len(candidates))
    full: RowIndex = candidates[counts == some.shape[0]]
    return full


def _entries_outside(some: Rows, columns: RowIndex) -> Vector:
    """Sizes of the entries other than 0 in columns that are not full."""
    if not sparse.issparse(some):
        return np.empty(0)
    entries: Vector = np.abs(some.data[~np.isin(some.indices, columns)])
    return entries[entries > 0.0]


def _median(values: Vector) -> float:
    return float(np.median(values)) if len(values) else np.inf


@dataclass(frozen=True)
class Nearby:
    """The rows x - m."""

    X: Rows
    centre: Vector

    @classmethod
    def of(cls, X: Rows, weight: Vector | None = None) -> Nearby | None:
        """None where no column is far from zero in rows that count, or where a copy would be large."""
        if (_SPARSE_BYTES * X.nnz if sparse.issparse(X) else 8 * X.size) > _MOST_BYTES:
            return None
        centre = far_columns(X, weight)
        return None if centre is None else cls(centred_rows(X, centre), centre)

    def problem(self, given: LinearProblem) -> LinearProblem:
        """The problem on these rows."""
        return replace(given, source=replace(given.source, X=self.X))

    def start(self, given: Solution) -> Solution:
        """What is the same point on these rows."""
        return self._moved(given, 1.0)

    def solution(self, found: Solution, given: LinearProblem) -> Solution:
        """What was found here, as a point of the problem given."""
        found = self._moved(found, -1.0)
        if not isinstance(given.penalty, L1):
            return found
        # What rounding leaves of sum_i beta_i counts m times, and that may be more than the penalty allows.
        return replace(found, alpha=into_domain(given, found.alpha))

    def _moved(self, point: Solution, sign: float) -> Solution:
        if point.bias is None or point.weights is None:
            return point
        return replace(point, bias=point.bias + sign * (self.centre @ point.weights))
