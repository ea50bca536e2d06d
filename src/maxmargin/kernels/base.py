"""A kernel is a function k(x, z) = <phi(x), phi(z)> that never writes phi(x) down.

It is a small frozen value. Kernels make kernels: k1 + k2, k1 * k2, 3 * k, k + 1, k ** 2 and `exp(k)`. `repr` writes a
kernel as the Python that makes it, `str` as the mathematics, `to_record` as what a model file holds.

With phi the feature map of k, each of these has a feature map too, so each is a kernel if its parts are:

    k1 + k2     (phi1(x), phi2(x)), one after the other
    k1 k2       all products phi1_i(x) phi2_j(x)
    c k         sqrt(c) phi(x)
    k + c       (phi(x), sqrt(c))
    k^p         p times the product
    exp(k)      sum_p k^p / p!, sums and products in the limit
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.data import as_vectors, take_rows
from maxmargin.errors import DataError, ModelFileError, ParameterError
from maxmargin.kernels.arithmetic import KernelMatrix, integer_power

Domain: TypeAlias = Literal["vectors", "strings", "matrix", "anything"]
"""What a kernel compares."""

Style: TypeAlias = Literal["python", "mathematics"]

SUM, PRODUCT, POWER, ATOM = range(4)


class Formula(NamedTuple):
    """A written kernel and how tightly its outermost sign binds."""

    text: str
    precedence: int = ATOM

    def within(self, precedence: int) -> str:
        """Put the text in parentheses where it stands among signs that bind more tightly."""
        return self.text if self.precedence >= precedence else f"({self.text})"


class Kernel(ABC):
    """A function k(x, z) of two things; a kernel in the strict sense if it is `positive_semidefinite`.

    A subclass gives `block` and `diag`. Its attributes are its parameters.
    """

    __array_ufunc__: ClassVar[None] = None  # lets `np.float64(2) * kernel` reach `__rmul__`
    _names: ClassVar[tuple[str, ...]] = ()
    """What `as_kernel` knows it by."""

    @abstractmethod
    def block(self, A: Rows, B: Rows) -> KernelMatrix:
        """Matrix of k(a, b) for rows a of A and b of B.

        Parameters
        ----------
        A, B
            Dense or CSR, in any mix; float32 or float64, anything else is taken as float64.

        Returns
        -------
        ndarray
            Dense, in C order, float32 if A and B both are, and the caller's to overwrite.
        """

    @abstractmethod
    def diag(self, A: Rows) -> Vector:
        """k(a, a) for every row a of A, in double precision and without the matrix."""

    def __call__(self, A: Rows, B: Rows | None = None) -> KernelMatrix:
        """Matrix of k(a, b), with B = A if only A is given; serves as `kernel=` of scikit-learn too."""
        return self.block(A, A if B is None else B)

    def columns(self, A: Rows, train: Rows, index: RowIndex) -> KernelMatrix:
        """Matrix of k(a, train[i]) for rows a of A and i in `index`."""
        return self.block(A, take_rows(train, index))

    @property
    def positive_semidefinite(self) -> bool | None:
        """True if proven for these parameters, False if not so in general, None if nobody knows."""
        return None

    @property
    def on(self) -> Domain:
        """What the kernel compares: "vectors", "strings", a "matrix" computed before, or "anything"."""
        return "vectors"

    def __add__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Sum(self, other)
        return Shifted(self, other) if is_number(other) else NotImplemented

    def __mul__(self, other: object) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(other, self) if is_number(other) else NotImplemented

    def __pow__(self, exponent: int) -> Kernel:
        return Power(self, exponent)

    __radd__ = __add__
    __rmul__ = __mul__

    def __sub__(self, other: object) -> Kernel:
        raise ParameterError(
            f"{self!r} - {other!r} is not a kernel in general: a difference can make k(x, x) negative. "
            "Kernels may be added, multiplied and scaled by positive numbers."
        )

    def __repr__(self) -> str:
        return self._written("python").text

    def __str__(self) -> str:
        return self._written("mathematics").text

    def _written(self, style: Style) -> Formula:
        """Write the kernel in Python or in mathematics; composite kernels write their parts."""
        if style == "mathematics":
            return self._formula()
        arguments = ", ".join(f"{name}={value!r}" for name, value in vars(self).items())
        return Formula(f"{type(self).__name__}({arguments})")

    def _formula(self) -> Formula:
        return Formula(f"{type(self).__name__}(x, z)")

    def to_record(self) -> dict[str, Any]:
        """Kind and parameters as plain JSON values; `from_record` reads them.

        Raises
        ------
        ModelFileError
            If the kernel holds a Python function, or is of somebody else: a model file never holds code.
        """
        if not type(self).__module__.startswith("maxmargin.kernels."):
            raise ModelFileError(
                f"the kernel {self!r} is of a class that this library does not know, and code is never written to a "
                "model file. Use a kernel of maxmargin.kernels, or compute the kernel matrix yourself and use "
                "Precomputed."
            )
        return {"kind": type(self).__name__} | {name: self._recorded(value) for name, value in vars(self).items()}

    def _recorded(self, value: object) -> Any:
        if isinstance(value, Kernel):
            return value.to_record()
        if isinstance(value, (int, float, str)):
            return value
        raise ModelFileError(
            f"the kernel {self!r} holds Python code, and code is never written to a model file. "
            "Use a named kernel, or compute the kernel matrix yourself and use Precomputed."
        )


# Kernels made from kernels --------------------------------------------------------------------------------------------


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


# What kernels take ----------------------------------------------------------------------------------------------------


def is_number(value: object) -> TypeGuard[float]:
    """Whether `value` is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def finite(name: str, value: object, hint: str = "") -> float:
    """`value` as a float, or an error when it is not a finite number."""
    if not is_number(value) or not math.isfinite(value):
        raise ParameterError(f"{name} must be a finite number, got {name}={value!r}. {hint}".rstrip())
    return float(value)


def positive(name: str, value: object, hint: str = "") -> float:
    """`value` as a float, or an error when it is not a finite number above 0."""
    number = finite(name, value, hint)
    if not number > 0:
        raise ParameterError(f"{name} must be positive, got {name}={value!r}. {hint}".rstrip())
    return number


def non_negative(name: str, value: object, hint: str = "") -> float:
    """`value` as a float, or an error when it is not a finite number, 0 or above."""
    number = finite(name, value, hint)
    if number < 0:
        raise ParameterError(f"{name} must not be negative, got {name}={value!r}. {hint}".rstrip())
    return number


def positive_integer(name: str, value: object, hint: str = "") -> int:
    """`value` as an int, or an error when it is not 1, 2, 3 and so on."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < 1:
        raise ParameterError(f"{name} must be a positive integer, got {name}={value!r}. {hint}".rstrip())
    return int(value)


def as_rows(X: Rows) -> Rows:
    """X as a dense array or a CSR matrix of float32 or float64; copied only where it has to change."""
    hint = " For strings use EditDistance, a FeatureMap or a function of your own."
    return as_vectors(X, "a kernel on vectors", hint)


def as_pair(A: Rows, B: Rows) -> tuple[Rows, Rows]:
    """Both sides as rows with equally many columns; still one object if they were one."""
    left = as_rows(A)
    right = left if B is A else as_rows(B)
    if left.shape[1] != right.shape[1]:
        raise DataError(f"both sides of a kernel need equally many columns, got {left.shape[1]} and {right.shape[1]}.")
    return left, right
