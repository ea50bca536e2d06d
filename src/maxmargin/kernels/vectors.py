"""The kernels on vectors that have a name. Parameters mean what they mean in scikit-learn and LIBSVM."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin._types import Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.kernels.arithmetic import (
    KernelMatrix,
    as_pair,
    as_rows,
    inner_products,
    integer_power,
    squared_norms,
)
from maxmargin.kernels.base import ATOM, POWER, Kernel, Written
from maxmargin.kernels.checks import finite, non_negative, positive
from maxmargin.kernels.distances import absolute_distances, squared_distances

_WIDTH_HINT = "A small gamma makes a wide, smooth kernel; try 1 / number of features."


def _times(number: float) -> str:
    """Write a factor in front of a formula; 1 is left out."""
    return "" if number == 1 else f"{number:g} "


def _affine(gamma: float, coef0: float) -> str:
    """Write gamma <x, z> + coef0 without its idle parts."""
    constant = "" if coef0 == 0 else f" {'+' if coef0 > 0 else '-'} {abs(coef0):g}"
    return f"{_times(gamma)}<x, z>{constant}"


@dataclass(frozen=True, repr=False)
class Linear(Kernel):
    """k(x, z) = <x, z>."""

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of <a, b>."""
        return inner_products(*as_pair(A, B))

    def diag(self, A: Rows) -> Vector:
        """|a|^2."""
        return squared_norms(as_rows(A))

    @property
    def positive_semidefinite(self) -> bool:
        """True: v' K v = |sum_i v_i x_i|^2."""
        return True

    def _formula(self) -> Written:
        return Written("<x, z>", ATOM)


@dataclass(frozen=True, repr=False)
class Polynomial(Kernel):
    """k(x, z) = (gamma <x, z> + coef0)^degree.

    >>> print(Polynomial(degree=2, gamma=0.5, coef0=1))
    (0.5 <x, z> + 1)^2
    """

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        degree = non_negative("degree", self.degree, "Degrees above 10 seldom help; try 2 or 3.")
        object.__setattr__(self, "degree", int(degree) if degree.is_integer() else degree)
        object.__setattr__(self, "gamma", non_negative("gamma", self.gamma, "Try 1 / number of features."))
        object.__setattr__(self, "coef0", finite("coef0", self.coef0, "Try 0 or 1."))

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of (gamma <a, b> + coef0)^degree."""
        return self._of(inner_products(*as_pair(A, B)))

    def diag(self, A: Rows) -> Vector:
        """(gamma |a|^2 + coef0)^degree."""
        return self._of(squared_norms(as_rows(A)))

    def _of(self, products: KernelMatrix) -> KernelMatrix:
        products *= self.gamma
        products += self.coef0
        if isinstance(self.degree, int):
            return integer_power(products, self.degree)
        if products.min(initial=0.0) < 0:
            raise DataError(
                f"{self} is not a real number where the base is negative, and it is "
                f"{products.min():g} for a pair of these rows. Use a whole degree."
            )
        return np.power(products, self.degree, out=products)

    @property
    def positive_semidefinite(self) -> bool:
        """True for whole degrees and coef0 >= 0: a sum of powers of <x, z> with non-negative weights."""
        return isinstance(self.degree, int) and self.coef0 >= 0

    def _formula(self) -> Written:
        base = _affine(self.gamma, self.coef0)
        bracketed = base if base == "<x, z>" else f"({base})"
        return Written(f"{bracketed}^{self.degree:g}", POWER)


@dataclass(frozen=True, repr=False, init=False)
class Gaussian(Kernel):
    """k(x, z) = exp(-gamma |x - z|^2), gamma = 1 / (2 sigma^2).

    Parameters
    ----------
    gamma, sigma
        At most one of them; gamma = 1 if neither is given.

    >>> Gaussian(sigma=1)
    Gaussian(gamma=0.5)
    """

    gamma: float

    def __init__(self, gamma: float | None = None, *, sigma: float | None = None) -> None:
        if gamma is not None and sigma is not None:
            raise ParameterError(
                f"gamma and sigma say the same thing, got gamma={gamma!r} and sigma={sigma!r}. "
                "Give one of them; gamma = 1 / (2 sigma^2)."
            )
        if sigma is not None:
            width = positive("sigma", sigma, "A large sigma makes a wide, smooth kernel.")
            gamma = 0.5 / width / width
        object.__setattr__(self, "gamma", positive("gamma", 1.0 if gamma is None else gamma, _WIDTH_HINT))

    @property
    def sigma(self) -> float:
        """Width of the bell, 1 / sqrt(2 gamma)."""
        return 1.0 / math.sqrt(2.0 * self.gamma)

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of exp(-gamma |a - b|^2); exactly 1 on the diagonal if A is B."""
        values = squared_distances(*as_pair(A, B), self.gamma)
        values *= -self.gamma
        return np.exp(values, out=values)

    def diag(self, A: Rows) -> Vector:
        """One for every row."""
        return np.ones(as_rows(A).shape[0])

    @property
    def positive_semidefinite(self) -> bool:
        """True: f(x) f(z) exp(2 gamma <x, z>), f(x) = exp(-gamma |x|^2), is made by the algebra's rules."""
        return True

    def _formula(self) -> Written:
        return Written(f"exp(-{_times(self.gamma)}|x - z|^2)", ATOM)


@dataclass(frozen=True, repr=False)
class Laplacian(Kernel):
    """k(x, z) = exp(-gamma |x - z|_1)."""

    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive("gamma", self.gamma, _WIDTH_HINT))

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of exp(-gamma |a - b|_1)."""
        values = absolute_distances(*as_pair(A, B))
        values *= -self.gamma
        return np.exp(values, out=values)

    def diag(self, A: Rows) -> Vector:
        """One for every row."""
        return np.ones(as_rows(A).shape[0])

    @property
    def positive_semidefinite(self) -> bool:
        """True: a product of exp(-gamma |x_k - z_k|), each the Fourier transform of a positive density."""
        return True

    def _formula(self) -> Written:
        return Written(f"exp(-{_times(self.gamma)}|x - z|_1)", ATOM)


@dataclass(frozen=True, repr=False)
class Sigmoid(Kernel):
    """k(x, z) = tanh(gamma <x, z> + coef0); popular, though not a kernel in the strict sense.

    >>> print(Sigmoid(gamma=0.5, coef0=-1))
    tanh(0.5 <x, z> - 1)
    """

    gamma: float = 1.0
    coef0: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", non_negative("gamma", self.gamma, "Try 1 / number of features."))
        object.__setattr__(self, "coef0", finite("coef0", self.coef0, "Try 0 or -1."))

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of tanh(gamma <a, b> + coef0)."""
        return self._of(inner_products(*as_pair(A, B)))

    def diag(self, A: Rows) -> Vector:
        """tanh(gamma |a|^2 + coef0)."""
        return self._of(squared_norms(as_rows(A)))

    def _of(self, products: KernelMatrix) -> KernelMatrix:
        products *= self.gamma
        products += self.coef0
        return np.tanh(products, out=products)

    @property
    def positive_semidefinite(self) -> bool:
        """False: two points on a ray from the origin can contradict it, see `mercer_check`."""
        return False

    def _formula(self) -> Written:
        return Written(f"tanh({_affine(self.gamma, self.coef0)})", ATOM)
