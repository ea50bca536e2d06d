"""The state of a training from a source: the point that steps move, how far it is, and whether it gets anywhere.

Eight bytes a row and sub-problem are kept for the coefficients, and one byte a row for its class; rows themselves come
and go. For a free intercept the dual has the constraint sum_i beta_i = 0, under which no coefficient moves alone.
As in `solvers.linear.dcd` it is met by the method of multipliers: the intercept is penalised around a centre,

    b = centre + s^2 sum_i beta_i,        1/2 ((b - centre) / s)^2 added to P

and after a pass the centre moves to the intercept found, until both agree and the surplus sum_i beta_i has vanished.
A certificate takes no surplus at all, so what is left of it is taken away before one is computed.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from maxmargin._loops.streams import Duals, RowFacts, Sweep, conjugate_sum, exact_sum, take_surplus
from maxmargin._types import Matrix, Vector
from maxmargin.problems import SharedRows
from maxmargin.problems.shared import SharedBlock

_BALANCING = 8  # rounds; each leaves only the rounding of the one before
_READ, _IN_MEMORY = 4, 40  # rounds over which the rate is measured, where rows are read or all in memory
_FIRST = 2  # rounds that do not count: the memory is filled, and losses are measured while w moves far
_MOST = 15.0  # times as many rounds still to come are too many
_STILL = 8  # rounds in which nothing moves
_NEARER = 0.9  # of the violation at the last progress: one below it is progress again
_ROUNDING = 1e-14  # relative growth of the dual that is none
_NOTHING = 1e-3  # of what is needed: less is all the same


@dataclass
class StreamedPoint:
    """Coefficients, weights and intercepts, one row of each a sub-problem."""

    shared: SharedRows
    beta: Matrix
    weights: Matrix
    bias: Matrix
    """Centre, scale of the constant feature, its weight."""
    random: Any
    """Seed of all random orders, one number."""

    @classmethod
    def zero(cls, shared: SharedRows, scale: float, seed: int | None) -> StreamedPoint:
        """The point to begin with; `scale` is the size of a row, for a free intercept."""
        n_parts = len(shared.specifications)
        bias = np.zeros((n_parts, 3))
        bias[:, 1] = scale if shared.intercept.is_free else shared.intercept.scale
        start = np.random.default_rng(seed).integers(1, 2**63)
        return cls(
            shared,
            np.zeros((n_parts, shared.n_rows)),
            np.zeros((n_parts, shared.n_features)),
            bias,
            np.array([start], dtype=np.uint64),
        )

    @property
    def n_parts(self) -> int:
        """Number of sub-problems."""
        return len(self.beta)

    @property
    def duals(self) -> Duals:
        """As the loops take it."""
        return Duals(self.shared.curve, self.shared.signs, self.beta, self.weights, self.bias)

    @property
    def intercepts(self) -> Vector:
        """Intercept of every sub-problem."""
        b: Vector = self.bias[:, 0] + self.bias[:, 1] * self.bias[:, 2]
        return b

    @property
    def facts(self) -> RowFacts:
        """Targets and costs of all rows, as the loops take them."""
        shared = self.shared
        weight = np.empty(0) if shared.weight is None else shared.weight
        return RowFacts(shared.targets, weight, shared.factors, shared.C)

    def dual_values(self) -> Vector:
        """D of every sub-problem; for a free intercept that of the problem with the intercept held by its centre."""
        curve, facts, signs = self.shared.curve, self.facts, self.shared.signs
        values = np.empty(self.n_parts)
        for p in range(self.n_parts):
            centre, scale, constant = self.bias[p]
            rows = conjugate_sum(curve, facts, signs[p], self.beta[p])
            values[p] = -rows - 0.5 * self._square(p) - 0.5 * constant**2
            if scale > 0.0:
                values[p] -= centre * constant / scale
        return values

    def primal_values(self, losses: Vector) -> Vector:
        """P of every sub-problem from the sums of its losses."""
        values = losses + 0.5 * np.array([self._square(p) for p in range(self.n_parts)])
        return values if self.shared.intercept.is_free else values + 0.5 * np.square(self.bias[:, 2])

    def _square(self, p: int) -> float:
        return float(self.weights[p] @ self.weights[p])

    def move_centre(self) -> float:
        """Proximal update: the centre of a free intercept goes to the intercept; returns how far, at most."""
        if not self.shared.intercept.is_free:
            return 0.0
        before = self.bias[:, 0].copy()
        self.bias[:, 0] = self.intercepts
        return float(np.max(np.abs(self.bias[:, 0] - before)))

    def balance(self) -> None:
        """Take the surplus away, of a free intercept; the weights no longer fit and must be formed anew."""
        if not self.shared.intercept.is_free:
            return
        self.bias[:, 0] = self.intercepts
        self.bias[:, 2] = 0.0
        curve, facts = self.shared.curve, self.facts
        for p in range(self.n_parts):
            for _ in range(_BALANCING):
                surplus, largest = exact_sum(self.beta[p])
                if abs(surplus) <= np.finfo(np.float64).eps * largest:
                    break
                take_surplus(curve, facts, self.shared.signs[p], self.beta[p], surplus)

    def rebuilt(self, combinations: Matrix) -> None:
        """Take weights that were formed anew from the coefficients; those before stay as they are."""
        self.weights = combinations
        for p in range(self.n_parts):
            scale = self.bias[p, 1]
            self.bias[p, 2] = scale * exact_sum(self.beta[p])[0]


def new_sweep(point: StreamedPoint) -> Sweep:
    """A sweep that has seen nothing and settles no row."""
    n = point.n_parts
    seen = np.zeros(point.shared.n_rows, dtype=np.uint8)
    return Sweep(np.full(n, np.inf), np.zeros(n), seen, np.zeros(n), np.zeros(n))


def share(duals: Duals, sweep: Sweep, parts: slice) -> tuple[Duals, Sweep]:
    """Some of the sub-problems, for a thread of their own."""
    of_point = {name: getattr(duals, name)[parts] for name in ("signs", "beta", "weights", "bias")}
    of_sweep = {name: getattr(sweep, name)[parts] for name in ("limit", "steepest", "loss", "violation")}
    return duals._replace(**of_point), sweep._replace(**of_sweep)


def new_sums(sweep: Sweep) -> Sweep:
    """The same limits and rows seen, with sums of its own: for another thread."""
    zeros = np.zeros_like(sweep.loss)
    return sweep._replace(steepest=zeros.copy(), loss=zeros.copy(), violation=zeros)


def begin_pass(sweep: Sweep) -> None:
    """Measure every row anew."""
    for found in (sweep.seen, sweep.loss, sweep.violation):
        found[:] = 0


def end_sweep(sweep: Sweep) -> None:
    """What was the maximum becomes the limit of the next sweep; two numbers, never one."""
    sweep.limit[:] = np.where(sweep.steepest > 0.0, sweep.steepest, np.inf)
    sweep.steepest[:] = 0.0


@dataclass
class Place:
    """How far a training is: what a checkpoint stores beside the point."""

    round: int = 0
    position: int = 0
    """Blocks of this round that were taken."""
    passes: float = 0.0
    stiffness: tuple[float, ...] = ()
    """Of the smooth problem of each sub-problem, while Newton steps are made in place of rounds."""


class BlocksLeft:
    """The blocks of a round that nobody has taken yet."""

    def __init__(self, shared: SharedRows, numbers: Sequence[int], place: Place):
        self.shared, self.place = shared, place
        self._numbers = iter(numbers)
        self._before, self._began = place.passes, place.position
        self._lock = threading.Lock()

    def read(self, buffers: Any) -> SharedBlock | None:
        """The next block, valid until the next one is read into the same buffers; None when there are no more."""
        with self._lock:
            number = next(self._numbers, None)
            if number is None:
                return None
            self.place.position += 1
            taken = self.place.position - self._began
            self.place.passes = self._before + taken / self.shared.n_blocks
        return self.shared.read(number, buffers)


class Keeper(Protocol):
    """Keeps checkpoints."""

    def restore(self, point: StreamedPoint, place: Place) -> bool:
        """Put point and place where a checkpoint has them; whether there is one."""

    def keep(self, point: StreamedPoint, place: Place, *, now: bool = False) -> None:
        """Save, if it is time to."""


class ProgressRate:
    """How fast what is left falls from one round to the next."""

    def __init__(self) -> None:
        self._left: list[float] = []

    def is_hopeless(self, times: float, *, is_read: bool) -> bool:
        """Whether, as it went in the last rounds, what is needed is too far away.

        `times` as much as that is left now; `is_read` says that a round reads the source.
        """
        rounds = _READ if is_read else _IN_MEMORY
        left = math.log(max(times, _NOTHING))
        self._left.append(left)
        if left <= 0.0 or len(self._left) <= _FIRST + rounds:
            return False
        return left > _MOST * (self._left[-1 - rounds] - left)


class Standstill:
    """Counts the rounds in which neither the dual rose nor the violation fell."""

    def __init__(self) -> None:
        self._highest, self._nearest, self._rounds = -math.inf, math.inf, 0

    def has_come(self, dual: float, violation: float) -> bool:
        """Whether there were several such rounds in a row, this one included."""
        is_higher = dual > self._highest + _ROUNDING * abs(dual)
        is_nearer = violation < _NEARER * self._nearest
        self._highest = max(self._highest, dual)
        self._nearest = violation if is_nearer else self._nearest
        self._rounds = 0 if is_higher or is_nearer else self._rounds + 1
        return self._rounds >= _STILL

    def forget(self) -> None:
        """Something else is tried."""
        self._nearest, self._rounds = math.inf, 0
