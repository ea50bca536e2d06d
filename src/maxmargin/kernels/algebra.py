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

from dataclasses import dataclass

import numpy as np

from maxmargin._types import Rows, Vector
from maxmargin.errors import ParameterError
from maxmargin.kernels.arithmetic import KernelMatrix, integer_power
from maxmargin.kernels.base import ATOM, POWER, PRODUCT, SUM, Ground, Kernel, Style, Written
from maxmargin.kernels.checks import non_negative, positive_integer


class Composite(Kernel):
    """A kernel with parts."""

    def __post_init__(self) -> None:
        for part in self.parts:
            if not isinstance(part, Kernel):
                raise ParameterError(f"{type(self).__name__} is made of kernels, got {part!r}. See as_kernel.")
        common_ground(self.parts)

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
    def on(self) -> Ground:
        """What all parts compare."""
        return common_ground(self.parts)


def common_ground(kernels: tuple[Kernel, ...]) -> Ground:
    """Return what all the kernels can compare; there may be no such thing."""
    grounds = {kernel.on for kernel in kernels} - {"anything"}
    if "matrix" in grounds:
        raise ParameterError(
            "Precomputed takes no part in the algebra of kernels: its values lie in the matrix you pass. "
            "Combine the matrices instead, for example 0.5 * K1 + K2."
        )
    if len(grounds) > 1:
        raise ParameterError(
            f"a kernel on {' and a kernel on '.join(sorted(grounds))} cannot be combined: "
            f"no x is both. Got {' and '.join(map(repr, kernels))}."
        )
    return grounds.pop() if grounds else "anything"


@dataclass(frozen=True, repr=False)
class Sum(Composite):
    """k1(x, z) + k2(x, z)."""

    left: Kernel
    right: Kernel

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Sum of the blocks of both parts."""
        total = self.left.block(A, B)
        total += self.right.block(A, B)
        return total

    def diag(self, A: Rows) -> Vector:
        """Sum of the diagonals of both parts."""
        return self.left.diag(A) + self.right.diag(A)

    def _written(self, style: Style) -> Written:
        left, right = self.left._written(style), self.right._written(style)
        return Written(f"{left.within(SUM)} + {right.within(SUM + 1)}", SUM)


@dataclass(frozen=True, repr=False)
class Product(Composite):
    """k1(x, z) k2(x, z)."""

    left: Kernel
    right: Kernel

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Product of the blocks of both parts, entry by entry."""
        product = self.left.block(A, B)
        product *= self.right.block(A, B)
        return product

    def diag(self, A: Rows) -> Vector:
        """Product of the diagonals of both parts."""
        return self.left.diag(A) * self.right.diag(A)

    def _written(self, style: Style) -> Written:
        left, right = self.left._written(style), self.right._written(style)
        times = " * " if style == "python" else " "
        return Written(f"{left.within(PRODUCT)}{times}{right.within(PRODUCT + 1)}", PRODUCT)


@dataclass(frozen=True, repr=False)
class Scaled(Composite):
    """c k(x, z) with c >= 0."""

    factor: float
    kernel: Kernel

    def __post_init__(self) -> None:
        hint = "A negative multiple of a kernel is not a kernel: k(x, x) would be negative."
        object.__setattr__(self, "factor", non_negative("factor", self.factor, hint))
        super().__post_init__()

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Block of the part, scaled."""
        values = self.kernel.block(A, B)
        values *= self.factor
        return values

    def diag(self, A: Rows) -> Vector:
        """Diagonal of the part, scaled."""
        return self.factor * self.kernel.diag(A)

    def _written(self, style: Style) -> Written:
        number = f"{self.factor!r} * " if style == "python" else f"{self.factor:g} "
        return Written(number + self.kernel._written(style).within(PRODUCT + 1), PRODUCT)


@dataclass(frozen=True, repr=False)
class Shifted(Composite):
    """k(x, z) + c with c >= 0."""

    kernel: Kernel
    shift: float

    def __post_init__(self) -> None:
        hint = "A kernel minus a constant is not a kernel in general: k(x, x) could become negative."
        object.__setattr__(self, "shift", non_negative("shift", self.shift, hint))
        super().__post_init__()

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Block of the part, shifted."""
        values = self.kernel.block(A, B)
        values += self.shift
        return values

    def diag(self, A: Rows) -> Vector:
        """Diagonal of the part, shifted."""
        return self.kernel.diag(A) + self.shift

    def _written(self, style: Style) -> Written:
        number = repr(self.shift) if style == "python" else f"{self.shift:g}"
        return Written(f"{self.kernel._written(style).within(SUM)} + {number}", SUM)


@dataclass(frozen=True, repr=False)
class Power(Composite):
    """k(x, z)^p with p = 1, 2, 3 and so on."""

    kernel: Kernel
    exponent: int

    def __post_init__(self) -> None:
        hint = "Only whole powers, which are repeated products, keep a kernel a kernel."
        object.__setattr__(self, "exponent", positive_integer("exponent", self.exponent, hint))
        super().__post_init__()

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Block of the part to the power p, entry by entry."""
        return integer_power(self.kernel.block(A, B), self.exponent)

    def diag(self, A: Rows) -> Vector:
        """Diagonal of the part to the power p."""
        return integer_power(self.kernel.diag(A), self.exponent)

    def _written(self, style: Style) -> Written:
        sign = " ** " if style == "python" else "^"
        return Written(f"{self.kernel._written(style).within(POWER + 1)}{sign}{self.exponent}", POWER)


@dataclass(frozen=True, repr=False)
class Exp(Composite):
    """exp(k(x, z))."""

    kernel: Kernel

    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Exponential of the block of the part, entry by entry."""
        values = self.kernel.block(A, B)
        return np.exp(values, out=values)

    def diag(self, A: Rows) -> Vector:
        """Exponential of the diagonal of the part."""
        return np.exp(self.kernel.diag(A))

    def _written(self, style: Style) -> Written:
        return Written(f"exp({self.kernel._written(style).text})", ATOM)


def exp(kernel: Kernel) -> Exp:
    """Make the kernel exp(k(x, z)).

    >>> from maxmargin.kernels import Linear
    >>> print(exp(0.5 * Linear()))
    exp(0.5 <x, z>)
    """
    if not isinstance(kernel, Kernel):
        raise ParameterError(f"exp takes a kernel, got {kernel!r}. For a number use math.exp.")
    return Exp(kernel)
