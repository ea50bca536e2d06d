"""Kernels by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.errors import ParameterError, unknown_name
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.callables import PythonFunction
from maxmargin.kernels.precomputed import Precomputed
from maxmargin.kernels.vectors import Gaussian, Laplacian, Linear, Polynomial, Sigmoid

_NAMED: dict[str, Callable[[float, float, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree, gamma, coef0),
    "rbf": lambda gamma, degree, coef0: Gaussian(gamma),
    "gaussian": lambda gamma, degree, coef0: Gaussian(gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma, coef0),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma),
    "precomputed": lambda gamma, degree, coef0: Precomputed(),
}


def as_kernel(
    spec: Kernel | str | Callable[[Any, Any], Any],
    *,
    gamma: float = 1.0,
    degree: float = 3,
    coef0: float = 0.0,
) -> Kernel:
    """Return the kernel that `spec` means.

    Parameters
    ----------
    spec
        A kernel, which is returned as it is; a name, in scikit-learn's spelling or ours; or a function,
        either k(A, B) of two matrices of rows that gives the matrix of values, or k(x, z) of two rows that
        gives a number.
    gamma, degree, coef0
        Parameters for the kernels that are given by name and have them.

    >>> as_kernel("rbf", gamma=0.5)
    Gaussian(gamma=0.5)
    """
    if isinstance(spec, Kernel):
        return spec
    if isinstance(spec, str):
        if spec not in _NAMED:
            raise unknown_name("kernel", spec, _NAMED)
        return _NAMED[spec](gamma, degree, coef0)
    if callable(spec):
        return PythonFunction(spec)
    raise ParameterError(
        f"kernel must be a name, a kernel or a function of two arguments, got kernel={spec!r}. "
        f"Names: {', '.join(map(repr, sorted(_NAMED)))}."
    )
