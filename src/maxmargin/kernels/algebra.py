"""Kernels made from kernels.

With phi the feature map of k, each of these has a feature map too, so each is a kernel if its parts are:

    k1 + k2     (phi1(x), phi2(x)), one after the other
    k1 k2       all products phi1_i(x) phi2_j(x)
    c k         sqrt(c) phi(x)
    k + c       (phi(x), sqrt(c))
    k^p         p times the product
    exp(k)      sum_p k^p / p!, sums and products in the limit
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.kernels.arithmetic import KernelMatrix, integer_power
from maxmargin.kernels.base import POWER, PRODUCT, SUM, Domain, Formula, Kernel, Style, non_negative, positive_integer


class Composite(Kernel):
    """A kernel whose values follow from those of its parts, entry by entry.

    Its attributes are its operands, kernels and numbers, as they are written from left to right.
    """

    _operation: ClassVar[Any]
    """Makes the values of the kernel from those of its operands, the first of which that is an array may be `out`."""
    _signs: ClassVar[dict[Style, str]]
    _precedence: ClassVar[int]
    """How tightly the sign binds."""

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Kernel):
                raise ParameterError(f"{type(self).__name__} is made of kernels, got {part!r}. See as_kernel.")
        common_domain(self.parts)

    def _combined(self, values_of: Callable[[Kernel], KernelMatrix]) -> KernelMatrix:
        operands = [values_of(value) if isinstance(value, Kernel) else value for value in vars(self).values()]
        first = next(value for value in operands if isinstance(value, np.ndarray))
        result: KernelMatrix = self._operation(*operands, out=first)
        return result

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of k(a, b), from the matrices of the parts."""
        return self._combined(lambda part: part.block(A, B))

    def diag(self, A: Rows) -> Vector:
        """k(a, a), from the diagonals of the parts."""
        return self._combined(lambda part: np.array(part.diag(A), dtype=np.float64))

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels this one is made of."""
        return tuple(value for name, value in vars(self).items() if name in ("left", "right", "kernel"))

    @property
    def positive_semidefinite(self) -> bool | None:
        """True if all parts are; False if a part is not, though a lucky combination may still be."""
        answers = {part.positive_semidefinite for part in self.parts}
        return False if False in answers else None if None in answers else True

    @property
    def on(self) -> Domain:
        """What all parts compare."""
        return common_domain(self.parts)

    def _written(self, style: Style) -> Formula:
        left, right = (_operand(value, style) for value in vars(self).values())
        # Sums and products are read from left to right, powers from right to left.
        own, tighter = self._precedence, self._precedence + 1
        text = left.within(tighter if own == POWER else own) + self._signs[style] + right.within(tighter)
        return Formula(text, own)


def _operand(value: Any, style: Style) -> Formula:
    """A part, or a number: in full in Python, short in mathematics."""
    if isinstance(value, Kernel):
        return value._written(style)
    return Formula(f"{value:g}" if isinstance(value, float) and style == "mathematics" else repr(value))


def common_domain(kernels: tuple[Kernel, ...]) -> Domain:
    """Return what all the kernels can compare; there may be no such thing."""
    domains = {kernel.on for kernel in kernels} - {"anything"}
    if "matrix" in domains:
        raise ParameterError(
            "Precomputed takes no part in the algebra of kernels: its values lie in the matrix you pass. "
            "Combine the matrices instead, for example 0.5 * K1 + K2."
        )
    if len(domains) > 1:
        raise ParameterError(
            f"a kernel on {' and a kernel on '.join(sorted(domains))} cannot be combined: "
            f"no x is both. Got {' and '.join(map(repr, kernels))}."
        )
    return domains.pop() if domains else "anything"


@dataclass(frozen=True, repr=False)
class Sum(Composite):
    """k1(x, z) + k2(x, z)."""

    left: Kernel
    right: Kernel
    _operation = np.add
    _signs, _precedence = {"python": " + ", "mathematics": " + "}, SUM


@dataclass(frozen=True, repr=False)
class Product(Composite):
    """k1(x, z) k2(x, z)."""

    left: Kernel
    right: Kernel
    _operation = np.multiply
    _signs, _precedence = {"python": " * ", "mathematics": " "}, PRODUCT


@dataclass(frozen=True, repr=False)
class Scaled(Composite):
    """c k(x, z) with c >= 0."""

    factor: float
    kernel: Kernel
    _operation = np.multiply
    _signs, _precedence = Product._signs, PRODUCT

    def __post_init__(self) -> None:
        hint = "A negative multiple of a kernel is not a kernel: k(x, x) would be negative."
        object.__setattr__(self, "factor", non_negative("factor", self.factor, hint))
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class Shifted(Composite):
    """k(x, z) + c with c >= 0."""

    kernel: Kernel
    shift: float
    _operation = np.add
    _signs, _precedence = Sum._signs, SUM

    def __post_init__(self) -> None:
        hint = "A kernel minus a constant is not a kernel in general: k(x, x) could become negative."
        object.__setattr__(self, "shift", non_negative("shift", self.shift, hint))
        super().__post_init__()


@dataclass(frozen=True, repr=False)
class Power(Composite):
    """k(x, z)^p with p = 1, 2, 3 and so on."""

    kernel: Kernel
    exponent: int
    _signs, _precedence = {"python": " ** ", "mathematics": "^"}, POWER

    def __post_init__(self) -> None:
        hint = "Only whole powers, which are repeated products, keep a kernel a kernel."
        object.__setattr__(self, "exponent", positive_integer("exponent", self.exponent, hint))
        super().__post_init__()

    def _operation(self, values: KernelMatrix, exponent: int, out: KernelMatrix) -> KernelMatrix:
        return integer_power(values, exponent)


@dataclass(frozen=True, repr=False)
class Exp(Composite):
    """exp(k(x, z))."""

    kernel: Kernel
    _operation = np.exp

    def _written(self, style: Style) -> Formula:
        return Formula(f"exp({self.kernel._written(style).text})")


def exp(kernel: Kernel) -> Exp:
    """Make the kernel exp(k(x, z)).

    >>> from maxmargin.kernels import Linear
    >>> print(exp(0.5 * Linear()))
    exp(0.5 <x, z>)
    """
    if not isinstance(kernel, Kernel):
        raise ParameterError(f"exp takes a kernel, got {kernel!r}. For a number use math.exp.")
    return Exp(kernel)
