"""Kernels given by what they are the inner product of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._types import Rows, Vector
from maxmargin.data import count_rows
from maxmargin.errors import ParameterError
from maxmargin.kernels.arithmetic import (
    KernelMatrix,
    as_pair,
    as_rows,
    inner_products,
    kernel_dtype,
    squared_norms,
)
from maxmargin.kernels.base import ATOM, PRODUCT, Ground, Kernel, Style, Written
from maxmargin.kernels.callables import one_row, python_name


@dataclass(frozen=True, repr=False)
class FeatureMap(Kernel):
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

    @property
    def positive_semidefinite(self) -> bool:
        """True: v' K v = |sum_i v_i phi(x_i)|^2."""
        return True

    @property
    def on(self) -> Ground:
        """Whatever phi takes."""
        return "anything"

    def _written(self, style: Style) -> Written:
        name = python_name(self.phi)
        if style == "python":
            return Written(f"FeatureMap({name})", ATOM)
        phi = name if name.isidentifier() else "phi"
        return Written(f"<{phi}(x), {phi}(z)>", ATOM)


@dataclass(frozen=True, repr=False)
class FunctionProduct(Kernel):
    """k(x, z) = f(x) f(z); made by `from_function`."""

    function: Callable[[Any], float]

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of f(a) f(b)."""
        left = self._values(A)
        right = left if B is A else self._values(B)
        return np.outer(left, right).astype(kernel_dtype(A, B), copy=False)

    def diag(self, A: Rows) -> Vector:
        """f(a)^2."""
        return self._values(A) ** 2

    def _values(self, X: Rows) -> Vector:
        return np.array([float(self.function(one_row(X, i))) for i in range(count_rows(X))], dtype=np.float64)

    @property
    def positive_semidefinite(self) -> bool:
        """True: v' K v = (sum_i v_i f(x_i))^2."""
        return True

    @property
    def on(self) -> Ground:
        """Whatever f takes."""
        return "anything"

    def _written(self, style: Style) -> Written:
        name = python_name(self.function)
        if style == "python":
            return Written(f"from_function({name})", ATOM)
        f = name if name.isidentifier() else "f"
        return Written(f"{f}(x) {f}(z)", PRODUCT)


def from_function(f: Callable[[Any], float]) -> FunctionProduct:
    """Make the kernel f(x) f(z) of a function of one row: a dense vector, or an element of a sequence.

    >>> from_function(len).block(["to", "be"], ["or", "not"])
    array([[4., 6.],
           [4., 6.]])
    """
    if not callable(f):
        raise ParameterError(f"from_function takes a function of one row, got {f!r}.")
    return FunctionProduct(f)
