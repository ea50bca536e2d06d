"""A kernel whose values were computed before and stand in the matrix that takes the place of the data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.data import count_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels.arithmetic import KernelMatrix, as_rows
from maxmargin.kernels.base import ATOM, Ground, Kernel, Written


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """Row a of the data holds k(a, x_j) for every training row x_j."""

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Refuse: there are no vectors to compare."""
        raise ParameterError(
            "a precomputed kernel has no vectors, only the matrix of its values, so it cannot compare two "
            "sets of rows. Pass the matrix of k(a, x_j) against all training rows x_j in place of the data."
        )

    def diag(self, A: Rows) -> Vector:
        """Diagonal of the square matrix A of all training rows against all training rows."""
        matrix = as_rows(A)
        if matrix.shape[0] != matrix.shape[1]:
            raise DataError(
                f"a precomputed training matrix has one row and one column a training row, got shape {matrix.shape}."
            )
        return np.array(matrix.diagonal(), dtype=np.float64)

    def columns(self, A: Rows, train: Rows, index: RowIndex) -> KernelMatrix:
        """Columns `index` of A; all of A where it already holds these columns only."""
        matrix = as_rows(A)
        if matrix.shape[1] == count_rows(train):
            matrix = matrix[:, index]
        elif matrix.shape[1] != len(index):
            raise DataError(
                f"rows of a precomputed kernel need one value a training row, {count_rows(train)}, or one a "
                f"support vector, {len(index)}; got {matrix.shape[1]}."
            )
        return np.array(matrix.toarray() if sparse.issparse(matrix) else matrix, order="C")

    @property
    def on(self) -> Ground:
        """A matrix computed before."""
        return "matrix"

    def _formula(self) -> Written:
        return Written("K[x, z]", ATOM)
