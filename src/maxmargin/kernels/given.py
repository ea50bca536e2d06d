"""Kernels that are given: by features, by a Python function, or by the matrix of their values."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.data import count_rows, squared_norms, take_rows
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels.arithmetic import KernelMatrix, inner_products, kernel_dtype
from maxmargin.kernels.base import PRODUCT, Domain, Formula, Kernel, Style, as_pair, as_rows

_DIAGONAL_ROWS = 64  # of a matrix-valued function, whose small blocks are wasted but for their diagonals


class PythonKernel(Kernel):
    """A kernel that holds Python code, its only attribute, and compares whatever the code takes."""

    on: ClassVar[Domain] = "anything"
    _maker: ClassVar[str]
    _letter: ClassVar[str]
    """Stands for the code in the formula where it has no name."""
    _pattern: ClassVar[Formula]

    def _written(self, style: Style) -> Formula:
        (code,) = vars(self).values()
        name = str(getattr(code, "__name__", None) or repr(code))
        if style == "python":
            return Formula(f"{self._maker}({name})")
        called = name if name.isidentifier() else self._letter
        return self._pattern._replace(text=self._pattern.text.format(called))


@dataclass(frozen=True, repr=False)
class FeatureMap(PythonKernel):
    """k(x, z) = <phi(x), phi(z)>.

    Parameters
    ----------
    phi
        A function that turns a matrix of rows (or a list of strings) into a matrix of features, dense or CSR;
        or an object whose `transform` does.

    >>> import numpy as np
    >>> FeatureMap(lambda X: X**2).block(np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]]))
    array([[13.]])
    """

    phi: Any
    _maker, _letter, _pattern = "FeatureMap", "phi", Formula("<{0}(x), {0}(z)>")
    positive_semidefinite = True
    """v' K v = |sum_i v_i phi(x_i)|^2."""

    def __post_init__(self) -> None:
        if not hasattr(self.phi, "transform") and not callable(self.phi):
            raise ParameterError(f"FeatureMap takes a function or an object with a transform method, got {self.phi!r}.")

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of <phi(a), phi(b)>."""
        left = self._features(A)
        products = inner_products(*as_pair(left, left if B is A else self._features(B)))
        return products.astype(kernel_dtype(A, B), copy=False)

    def diag(self, A: Rows) -> Vector:
        """|phi(a)|^2."""
        return squared_norms(as_rows(self._features(A)))

    def _features(self, X: Rows) -> Rows:
        return self.phi.transform(X) if hasattr(self.phi, "transform") else self.phi(X)


@dataclass(frozen=True, repr=False)
class FunctionProduct(PythonKernel):
    """k(x, z) = f(x) f(z); made by `from_function`."""

    function: Callable[[Any], float]
    _maker, _letter, _pattern = "from_function", "f", Formula("{0}(x) {0}(z)", PRODUCT)
    positive_semidefinite = True
    """v' K v = (sum_i v_i f(x_i))^2."""

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of f(a) f(b)."""
        left = self._values(A)
        right = left if B is A else self._values(B)
        return np.outer(left, right).astype(kernel_dtype(A, B), copy=False)

    def diag(self, A: Rows) -> Vector:
        """f(a)^2."""
        return self._values(A) ** 2

    def _values(self, X: Rows) -> Vector:
        return np.array([float(self.function(x)) for x in _each_row(X)], dtype=np.float64)


def from_function(f: Callable[[Any], float]) -> FunctionProduct:
    """Make the kernel f(x) f(z) of a function of one row: a dense vector, or an element of a sequence.

    >>> from_function(len).block(["to", "be"], ["or", "not"])
    array([[4., 6.],
           [4., 6.]])
    """
    if not callable(f):
        raise ParameterError(f"from_function takes a function of one row, got {f!r}.")
    return FunctionProduct(f)


@dataclass(frozen=True, repr=False)
class PythonFunction(PythonKernel):
    """A function k(A, B) of two matrices of rows, or k(x, z) of two rows; made by `as_kernel`.

    Which of the two it is shows when it is given 2 rows and 3 rows, then 3 and 2: only a function of matrices
    answers with a 2 x 3 and a 3 x 2 matrix. A function of rows is called once a pair.
    """

    function: Callable[[Any, Any], Any]
    _maker, _letter, _pattern = "as_kernel", "k", Formula("{0}(x, z)")

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of k(a, b)."""
        shape, dtype = (count_rows(A), count_rows(B)), kernel_dtype(A, B)
        if 0 in shape:
            return np.empty(shape, dtype)
        if self._takes_matrices(A, B):
            values = _dense(self.function(A, B))
            if values.shape != shape:
                raise DataError(f"{self!r} gave a matrix of shape {values.shape} where {shape} was due.")
            return np.array(values, dtype=dtype, order="C")  # a copy, because the function may keep its own
        left, right = list(_each_row(A)), list(_each_row(B))
        return np.array([[float(self.function(x, z)) for z in right] for x in left], dtype=dtype)

    def diag(self, A: Rows) -> Vector:
        """k(a, a)."""
        n_rows = count_rows(A)
        if n_rows > 0 and self._takes_matrices(A, A):
            chunks = [A[start : start + _DIAGONAL_ROWS] for start in range(0, n_rows, _DIAGONAL_ROWS)]
            diagonals = [np.diag(_dense(self.function(rows, rows))) for rows in chunks]
            return np.concatenate(diagonals).astype(np.float64)
        return np.array([float(self.function(x, x)) for x in _each_row(A)], dtype=np.float64)

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


def _each_row(X: Rows) -> Iterator[Any]:
    """The rows of X: dense vectors where X is a matrix, the things themselves where X is a sequence."""
    return (X[[i]].toarray().ravel() if sparse.issparse(X) else X[i] for i in range(count_rows(X)))


def _some_rows(X: Rows, count: int) -> Rows:
    """Repeat the first rows of X, in turn, until there are `count`."""
    return take_rows(X, np.arange(count) % count_rows(X))


def _dense(values: Any) -> Any:
    return values.toarray() if sparse.issparse(values) else np.asarray(values)


@dataclass(frozen=True, repr=False)
class Precomputed(Kernel):
    """Row a of the data holds k(a, x_j) for every training row x_j."""

    on: ClassVar[Domain] = "matrix"
    _names = ("precomputed",)

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
        return np.array(_dense(matrix), order="C")

    def _formula(self) -> Formula:
        return Formula("K[x, z]")
