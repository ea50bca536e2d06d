"""The point that the trainers of streams move: coefficients of all rows, weights and intercepts of all sub-problems.

Eight bytes a row and sub-problem are kept for the coefficients, and one byte a row for its class; rows themselves come
and go. For a free intercept the dual has the constraint sum_i beta_i = 0, under which no coefficient moves alone.
As in `solvers.linear.dcd` it is met by the method of multipliers: the intercept is penalised around a centre,

    b = centre + s^2 sum_i beta_i,        1/2 ((b - centre) / s)^2 added to P

and after a pass the centre moves to the intercept found, until both agree and the surplus sum_i beta_i has vanished.
A certificate takes no surplus at all, so what is left of it is taken away before one is computed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._loops.streams.steps import Duals, Sweep
from maxmargin._loops.streams.sums import RowFacts, conjugate_sum, exact_sum, take_surplus
from maxmargin._types import Matrix, Vector
from maxmargin.problems import SharedRows

_BALANCING = 8  # rounds; each leaves only the rounding of the one before


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
        """The centre of a free intercept goes to where the intercept is; returns how far, at most."""
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
