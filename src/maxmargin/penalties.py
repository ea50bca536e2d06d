"""Penalties on w: value, conjugate, and the step that takes a point to the nearest one that pays less.

In the dual of P(w) = penalty(w) + sum_i C_i l_i(f_i) the penalty appears as -penalty*(X' beta).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.errors import ModelFileError, ParameterError


class Penalty(ABC):
    """A convex function of w with its conjugate and proximal step."""

    name: ClassVar[str]

    @property
    def words(self) -> str:
        """The penalty, as a certificate writes it."""
        return f"{self.name} penalty"

    @abstractmethod
    def value(self, w: Vector) -> float:
        """penalty(w)."""

    @abstractmethod
    def conjugate(self, v: Vector) -> float:
        """Sup over w of <v, w> - penalty(w); infinite outside its domain."""

    @abstractmethod
    def apart(self, w: Vector, v: Vector) -> float:
        """penalty(w) + penalty*(v) - <w, v>: zero where v is a subgradient at w, else positive.

        Summed from terms that are themselves never negative, so it keeps its digits where it is small.
        """

    @abstractmethod
    def proximal_step(self, w: Vector, step: float) -> Vector:
        """Argmin over t of step * penalty(t) + 1/2 |t - w|^2."""

    def to_record(self) -> dict[str, Any]:
        """Name and parameters, as plain values."""
        return {"kind": type(self).__name__, **asdict(self)}  # type: ignore[call-overload]  # all are dataclasses


def _check_strength(name: str, value: float) -> None:
    if not (np.isfinite(value) and value >= 0.0):
        raise ParameterError(f"{name} must be zero or a positive number, got {name}={value!r}.")


@dataclass(frozen=True)
class L2(Penalty):
    """1/2 strength |w|^2, whose conjugate is 1/2 |v|^2 / strength."""

    strength: float = 1.0
    name: ClassVar[str] = "L2"

    def __post_init__(self) -> None:
        if not (np.isfinite(self.strength) and self.strength > 0.0):
            raise ParameterError(f"strength must be a positive number, got strength={self.strength!r}.")

    @property
    def words(self) -> str:
        """1/2 |w|^2, with the strength before it."""
        return ("" if self.strength == 1.0 else f"{self.strength:.6g} * ") + "1/2 |w|^2"

    def value(self, w: Vector) -> float:
        """1/2 strength |w|^2."""
        return 0.5 * self.strength * float(np.vdot(w, w))

    def conjugate(self, v: Vector) -> float:
        """1/2 |v|^2 / strength."""
        return 0.5 * float(np.vdot(v, v)) / self.strength

    def apart(self, w: Vector, v: Vector) -> float:
        """1/2 strength |w - v / strength|^2."""
        return 0.5 * self.strength * float(np.sum(np.square(w - v / self.strength)))

    def proximal_step(self, w: Vector, step: float) -> Vector:
        """The weights w shrunk towards zero by a constant factor."""
        return w / (1.0 + step * self.strength)


class _Shrinking(Penalty):
    """l1 |w|_1 + l2/2 |w|^2, everywhere or where every w_j >= 0; without l2 the conjugate is 0 or infinite."""

    l1: float
    l2: float
    _is_positive: ClassVar[bool] = False

    @property
    def _parts(self) -> tuple[float, float]:
        return self.l1, self.l2

    def value(self, w: Vector) -> float:
        """l1 |w|_1 + l2/2 |w|^2; infinite where weights are negative that must not be."""
        l1, l2 = self._parts
        if self._is_positive and np.any(w < 0.0):
            return np.inf
        return l1 * float(np.sum(np.abs(w))) + 0.5 * l2 * float(np.vdot(w, w))

    def conjugate(self, v: Vector) -> float:
        """Half the square of what stands out of the cube of half-width l1, over l2; without l2 0 in the cube."""
        l1, l2 = self._parts
        beyond = np.maximum((v if self._is_positive else np.abs(v)) - l1, 0.0)
        if l2 == 0.0:
            return np.inf if np.any(beyond) else 0.0
        return 0.5 * float(np.vdot(beyond, beyond)) / l2

    def apart(self, w: Vector, v: Vector) -> float:
        """Sum of l1 |w_j| - w_j v_j at v clipped to the cube, and that of L2 at what stands out of it.

        Each w_j that is not zero wants v_j = l1 times its sign.
        """
        if np.isinf(self.value(w)) or np.isinf(self.conjugate(v)):
            return np.inf
        l1, l2 = self._parts
        inside = np.minimum(v, l1) if self._is_positive else np.clip(v, -l1, l1)
        paid = float(np.sum(np.abs(w) * (l1 - np.sign(w) * inside)))
        return paid + (L2(l2).apart(w, v - inside) if l2 > 0.0 else 0.0)

    def proximal_step(self, w: Vector, step: float) -> Vector:
        """Soft threshold: towards zero by step * l1, and exactly zero within it; then shrinkage by l2."""
        l1, l2 = self._parts
        kept = np.maximum((w if self._is_positive else np.abs(w)) - step * l1, 0.0)
        return np.sign(w) * kept / (1.0 + step * l2)


@dataclass(frozen=True)
class L1(_Shrinking):
    """strength |w|_1, whose conjugate is 0 where max_j |v_j| <= strength, else infinite."""

    strength: float = 1.0
    name: ClassVar[str] = "L1"

    def __post_init__(self) -> None:
        _check_strength("strength", self.strength)

    @property
    def words(self) -> str:
        """|w|_1, with the strength before it."""
        return ("" if self.strength == 1.0 else f"{self.strength:.6g} ") + "|w|_1"

    @property
    def _parts(self) -> tuple[float, float]:
        return self.strength, 0.0


@dataclass(frozen=True)
class ElasticNet(_Shrinking):
    """l1 |w|_1 + l2/2 |w|^2, whose conjugate is sum_j max(0, |v_j| - l1)^2 / (2 l2)."""

    l1: float = 0.5
    l2: float = 0.5
    name: ClassVar[str] = "elastic net"

    def __post_init__(self) -> None:
        _check_strength("l1", self.l1)
        if not (np.isfinite(self.l2) and self.l2 > 0.0):
            raise ParameterError(f"l2 must be a positive number, got l2={self.l2!r}; for none of it use L1.")

    @property
    def words(self) -> str:
        """Both parts, with their strengths before them."""
        return f"{self.l1:.6g} |w|_1 + {self.l2:.6g} * 1/2 |w|^2"


@dataclass(frozen=True)
class PositiveElasticNet(_Shrinking):
    """l1 sum_j w_j + l2/2 |w|^2 where every w_j >= 0, else infinite; conjugate sum_j max(0, v_j - l1)^2 / (2 l2).

    Without l2 the conjugate is 0 where every v_j <= l1, else infinite.
    """

    l1: float = 1.0
    l2: float = 0.0
    name: ClassVar[str] = "positive elastic net"
    _is_positive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _check_strength("l1", self.l1)
        _check_strength("l2", self.l2)

    @property
    def words(self) -> str:
        """The penalty, and that weights must not be negative."""
        ridge = f" + {self.l2:.6g} * 1/2 |w|^2" if self.l2 > 0.0 else ""
        return f"{self.l1:.6g} |w|_1{ridge}, w >= 0,"


@dataclass(frozen=True)
class Box(Penalty):
    """0 where |w_j| <= radius_j for every j, else infinite; conjugate sum_j radius_j |v_j|.

    An infinite radius is no penalty at all.
    """

    radius: Vector
    name: ClassVar[str] = "no"

    def value(self, w: Vector) -> float:
        """0 in the box."""
        return 0.0 if np.all(np.abs(w) <= self.radius) else np.inf

    def conjugate(self, v: Vector) -> float:
        """Sum of radius_j |v_j|."""
        used = v != 0.0
        return float(self.radius[used] @ np.abs(v[used]))

    def apart(self, w: Vector, v: Vector) -> float:
        """Sum of radius_j |v_j| - w_j v_j in the box: a v_j that is not zero wants w_j at that end."""
        if np.isinf(self.value(w)):
            return np.inf
        used = v != 0.0
        return float(np.sum(np.abs(v[used]) * (self.radius[used] - np.sign(v[used]) * w[used])))

    def proximal_step(self, w: Vector, step: float) -> Vector:
        """The nearest point of the box."""
        return np.clip(w, -self.radius, self.radius)


def from_record(record: dict[str, Any]) -> Penalty:
    """Penalty whose `to_record` gave `record`."""
    parameters = dict(record)
    kinds: dict[str, type[Penalty]] = {kind.__name__: kind for kind in (L2, L1, ElasticNet, PositiveElasticNet, Box)}
    kind = parameters.pop("kind", None)
    if kind not in kinds:
        raise ModelFileError(f"the model file names a penalty {kind!r} that this version does not know.")
    return kinds[kind](**parameters)
