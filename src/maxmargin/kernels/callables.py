"""Any Python function as a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Rows, Vector
from maxmargin.data import count_rows
from maxmargin.errors import DataError
from maxmargin.kernels.arithmetic import KernelMatrix, kernel_dtype
from maxmargin.kernels.base import ATOM, Ground, Kernel, Style, Written

_DIAGONAL_ROWS = 64  # of a matrix-valued function, whose small blocks are wasted but for their diagonals


@dataclass(frozen=True, repr=False)
class PythonFunction(Kernel):
    """A function k(A, B) of two matrices of rows, or k(x, z) of two rows; made by `as_kernel`.

    Which of the two it is shows when it is given 2 rows and 3 rows, then 3 and 2: only a function of matrices
    answers with a 2 x 3 and a 3 x 2 matrix. A function of rows is called once a pair.
    """

    function: Callable[[Any, Any], Any]

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of k(a, b)."""
        shape = count_rows(A), count_rows(B)
        if 0 in shape:
            return np.empty(shape, kernel_dtype(A, B))
        if self._takes_matrices(A, B):
            values = _dense(self.function(A, B))
            if values.shape != shape:
                raise DataError(f"{self!r} gave a matrix of shape {values.shape} where {shape} was due.")
            # A copy, because the function may keep its own.
            return np.array(values, dtype=kernel_dtype(A, B), order="C")
        left, right = ([one_row(X, i) for i in range(count_rows(X))] for X in (A, B))
        return np.array([[float(self.function(x, z)) for z in right] for x in left], dtype=kernel_dtype(A, B))

    def diag(self, A: Rows) -> Vector:
        """k(a, a)."""
        n_rows = count_rows(A)
        if n_rows > 0 and self._takes_matrices(A, A):
            chunks = [A[start : start + _DIAGONAL_ROWS] for start in range(0, n_rows, _DIAGONAL_ROWS)]
            diagonals = [np.diag(_dense(self.function(rows, rows))) for rows in chunks]
            return np.concatenate(diagonals).astype(np.float64)
        rows = (one_row(A, i) for i in range(n_rows))
        return np.array([float(self.function(x, x)) for x in rows], dtype=np.float64)

    def _takes_matrices(self, A: Rows, B: Rows) -> bool:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a function of rows may well complain about this question
            try:
                return all(
                    np.shape(_dense(self.function(_some_rows(A, n), _some_rows(B, m)))) == (n, m)
                    for n, m in ((2, 3), (3, 2))
                )
            except Exception:  # whatever went wrong, the function does not take matrices
                return False

    @property
    def on(self) -> Ground:
        """Whatever the function takes."""
        return "anything"

    def _written(self, style: Style) -> Written:
        name = python_name(self.function)
        if style == "python":
            return Written(f"as_kernel({name})", ATOM)
        return Written(f"{name if name.isidentifier() else 'k'}(x, z)", ATOM)


def python_name(code: object) -> str:
    """How Python code refers to a function or a callable object."""
    return str(getattr(code, "__name__", None) or repr(code))


def one_row(X: Rows, i: int) -> Any:
    """Row i of X: a dense vector where X is a matrix, the thing itself where X is a sequence."""
    return X[[i]].toarray().ravel() if sparse.issparse(X) else X[i]


def _some_rows(X: Rows, count: int) -> Rows:
    """Repeat the first rows of X, in turn, until there are `count`."""
    index = np.arange(count) % count_rows(X)
    return X[index] if hasattr(X, "shape") else [X[i] for i in index]


def _dense(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)
