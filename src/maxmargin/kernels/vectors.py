"""The kernels on vectors, and the kernel that a name, a function or a plain record of a model file stands for.

Parameters mean what they mean in scikit-learn and LIBSVM.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from inspect import isabstract
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import Rows, Vector
from maxmargin.data import squared_norms
from maxmargin.errors import DataError, ModelFileError, ParameterError, unknown_name
from maxmargin.kernels.arithmetic import (
    KernelMatrix,
    absolute_distances,
    inner_products,
    integer_power,
    squared_distances,
)
from maxmargin.kernels.base import POWER, Formula, Kernel, as_pair, as_rows, finite, non_negative, positive
from maxmargin.kernels.given import PythonFunction, PythonKernel


class InnerProductKernel(Kernel):
    """k(x, z) = f(<x, z>)."""

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of f(<a, b>)."""
        return self._of(inner_products(*as_pair(A, B)))

    def diag(self, A: Rows) -> Vector:
        """f(|a|^2)."""
        return self._of(squared_norms(as_rows(A)))

    @abstractmethod
    def _of(self, products: KernelMatrix) -> KernelMatrix:
        """The values f of inner products, which may be overwritten."""


@dataclass(frozen=True, repr=False)
class Linear(InnerProductKernel):
    """k(x, z) = <x, z>."""

    _names = ("linear",)
    positive_semidefinite = True
    """v' K v = |sum_i v_i x_i|^2."""

    def _of(self, products: KernelMatrix) -> KernelMatrix:
        return products

    def _formula(self) -> Formula:
        return Formula("<x, z>")


@dataclass(frozen=True, repr=False)
class Polynomial(InnerProductKernel):
    """k(x, z) = (gamma <x, z> + coef0)^degree.

    >>> print(Polynomial(degree=2, gamma=0.5, coef0=1))
    (0.5 <x, z> + 1)^2
    """

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 0.0
    _names = ("poly", "polynomial")

    def __post_init__(self) -> None:
        degree = non_negative("degree", self.degree, "Degrees above 10 seldom help; try 2 or 3.")
        object.__setattr__(self, "degree", int(degree) if degree.is_integer() else degree)
        object.__setattr__(self, "gamma", non_negative("gamma", self.gamma, "Try 1 / number of features."))
        object.__setattr__(self, "coef0", finite("coef0", self.coef0, "Try 0 or 1."))

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

    def _formula(self) -> Formula:
        base = _affine(self.gamma, self.coef0)
        bracketed = base if base == "<x, z>" else f"({base})"
        return Formula(f"{bracketed}^{self.degree:g}", POWER)


@dataclass(frozen=True, repr=False)
class Sigmoid(InnerProductKernel):
    """k(x, z) = tanh(gamma <x, z> + coef0); popular, though not a kernel in the strict sense.

    >>> print(Sigmoid(gamma=0.5, coef0=-1))
    tanh(0.5 <x, z> - 1)
    """

    gamma: float = 1.0
    coef0: float = 0.0
    _names = ("sigmoid",)
    positive_semidefinite = False
    """Two points on a ray from the origin can contradict it, see `mercer_check`."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", non_negative("gamma", self.gamma, "Try 1 / number of features."))
        object.__setattr__(self, "coef0", finite("coef0", self.coef0, "Try 0 or -1."))

    def _of(self, products: KernelMatrix) -> KernelMatrix:
        products *= self.gamma
        products += self.coef0
        return np.tanh(products, out=products)

    def _formula(self) -> Formula:
        return Formula(f"tanh({_affine(self.gamma, self.coef0)})")


@dataclass(frozen=True, repr=False)
class DistanceKernel(Kernel):
    """k(x, z) = exp(-gamma distance(x, z))."""

    gamma: float = 1.0
    _distance: ClassVar[str]
    _hint: ClassVar[str] = "A small gamma makes a wide, smooth kernel; try 1 / number of features."

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", positive("gamma", self.gamma, self._hint))

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of exp(-gamma distance(a, b))."""
        values = self._distances(A, B)
        values *= -self.gamma
        return np.exp(values, out=values)

    @abstractmethod
    def _distances(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of distance(a, b), to be overwritten."""

    def diag(self, A: Rows) -> Vector:
        """One for every row."""
        return np.ones(as_rows(A).shape[0])

    def _formula(self) -> Formula:
        return Formula(f"exp(-{_times(self.gamma)}{self._distance})")


@dataclass(frozen=True, repr=False, init=False)
class Gaussian(DistanceKernel):
    """k(x, z) = exp(-gamma |x - z|^2), gamma = 1 / (2 sigma^2).

    Parameters
    ----------
    gamma, sigma
        At most one of them; gamma = 1 if neither is given.

    >>> Gaussian(sigma=1)
    Gaussian(gamma=0.5)
    """

    _names = ("rbf", "gaussian")
    _distance = "|x - z|^2"
    positive_semidefinite = True
    """f(x) f(z) exp(2 gamma <x, z>), f(x) = exp(-gamma |x|^2), is made by the algebra's rules."""

    def __init__(self, gamma: float | None = None, *, sigma: float | None = None) -> None:
        if gamma is not None and sigma is not None:
            raise ParameterError(
                f"gamma and sigma say the same thing, got gamma={gamma!r} and sigma={sigma!r}. "
                "Give one of them; gamma = 1 / (2 sigma^2)."
            )
        if sigma is not None:
            width = positive("sigma", sigma, "A large sigma makes a wide, smooth kernel.")
            gamma = 0.5 / width / width
        super().__init__(1.0 if gamma is None else gamma)

    @property
    def sigma(self) -> float:
        """Width of the bell, 1 / sqrt(2 gamma)."""
        return 1.0 / math.sqrt(2.0 * self.gamma)

    def _distances(self, A: Rows, B: Rows) -> KernelMatrix:
        return squared_distances(*as_pair(A, B), self.gamma)


@dataclass(frozen=True, repr=False)
class Laplacian(DistanceKernel):
    """k(x, z) = exp(-gamma |x - z|_1)."""

    _names = ("laplacian",)
    _distance = "|x - z|_1"
    positive_semidefinite = True
    """A product of exp(-gamma |x_k - z_k|), each the Fourier transform of a positive density."""

    def _distances(self, A: Rows, B: Rows) -> KernelMatrix:
        return absolute_distances(*as_pair(A, B))


def _times(number: float) -> str:
    """Write a factor in front of a formula; 1 is left out."""
    return "" if number == 1 else f"{number:g} "


def _affine(gamma: float, coef0: float) -> str:
    """Write gamma <x, z> + coef0 without its idle parts."""
    constant = "" if coef0 == 0 else f" {'+' if coef0 > 0 else '-'} {abs(coef0):g}"
    return f"{_times(gamma)}<x, z>{constant}"


# By name, by function, and from the records of model files ------------------------------------------------------------


def as_kernel(
    spec: Kernel | str | Callable[[Any, Any], Any], *, gamma: float = 1.0, degree: float = 3, coef0: float = 0.0
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
    if callable(spec):
        return PythonFunction(spec)
    named = {name: kind for kind in _kinds().values() for name in kind._names}
    if not isinstance(spec, str):
        raise ParameterError(
            f"kernel must be a name, a kernel or a function of two arguments, got kernel={spec!r}. "
            f"Names: {', '.join(map(repr, sorted(named)))}."
        )
    if spec not in named:
        raise unknown_name("kernel", spec, named)
    kind: Any = named[spec]
    given = {"gamma": gamma, "degree": degree, "coef0": coef0}
    kernel: Kernel = kind(**{field.name: given[field.name] for field in fields(kind)})
    return kernel


def from_record(record: dict[str, Any]) -> Kernel:
    """Kernel whose `to_record` gave `record`.

    >>> from_record({"kind": "Gaussian", "gamma": 0.1})
    Gaussian(gamma=0.1)
    """
    parameters = {name: from_record(value) if isinstance(value, dict) else value for name, value in record.items()}
    kind = parameters.pop("kind", None)
    if not isinstance(kind, str) or kind not in _kinds():
        raise ModelFileError(f"the model file names a kernel {kind!r} that this version does not know.")
    try:
        return _kinds()[kind](**parameters)
    except (TypeError, ParameterError) as error:
        raise ModelFileError(f"the model file describes a kernel {kind} that cannot be: {error}") from error


@cache
def _kinds() -> dict[str, type[Kernel]]:
    """The kernels of this library that are made of plain values, not of Python code."""
    found, bases = {}, [Kernel]
    while bases:
        for kind in bases.pop().__subclasses__():
            if kind.__module__.startswith("maxmargin.kernels.") and not issubclass(kind, PythonKernel):
                bases.append(kind)
                found[kind.__name__] = kind
    return {name: kind for name, kind in found.items() if is_dataclass(kind) and not isabstract(kind)}
