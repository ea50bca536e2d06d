"""Where a kernel machine's ascent stands: coefficients, slopes, and what they tell.

    slopes     F = K beta + ridge beta - target
    optimal    where, in each group, no slope of a rise lies below a slope of a fall (`_loops.pair_steps`)
    gap        the sum over rows of the loss at the middle slope, less what beta makes of it (`_loops.working_sets`)

The tolerance is about the machine that a certificate will be about. For a margin that nu leads to, that machine is
divided by rho, and its slopes with it. At the optimum

    nu n rho = |w|^2 + sum_i c_i max(0, rho - y_i (<w, phi(x_i)> + b)),

so rho is never taken to be less than |w|^2 / (nu n). Where w = 0, nothing can be divided: nu is too small for the data.

A fit is stalled where for several looks neither the dual rose by more than its rounding nor the gap became smaller.
"""

from __future__ import annotations

import math
import time
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.working_sets import gap_terms, look
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.errors import ParameterError
from maxmargin.losses import ResidualLoss
from maxmargin.problems import History, KernelProblem, Solution, Status
from maxmargin.solvers.dual_variables import Variables
from maxmargin.solvers.feasible import balanced
from maxmargin.solvers.solver import Solver

_CLOSE_ENOUGH = 0.75  # of the tolerance: the rest is for what rounding may add
_NO_RISE = 1e-13  # relative
NEARER = 0.9  # of the smallest gap so far: a gap below it is progress
_PATIENCE = 4  # looks without progress before the fit counts as stalled
_POINT = 3e-5  # of what coefficients of the same size could give: |w| that is as good as zero
NEXT_TO_POINT = 1e-4  # the same, where single precision no longer tells
_HAIR = 1e-9  # by which one class is wider than its margin rows, so that rounding does not decide whether they are in it
_ROUNDOFF = float(np.finfo(np.float64).eps)


class Look(NamedTuple):
    """What the slopes tell, of each group."""

    low: Vector
    """Smallest slope of a rise."""
    high: Vector
    """Largest slope of a fall."""

    @property
    def violation(self) -> float:
        """How far the worst pair is from optimal."""
        return float(np.max(self.high - self.low))

    @property
    def middle(self) -> Vector:
        """The slope that separates rises from falls; where all variables are at the same bound, the last of them."""
        low = np.where(np.isfinite(self.low), self.low, self.high)
        high = np.where(np.isfinite(self.high), self.high, low)
        return np.where(np.isfinite(high), 0.5 * (low + high), 0.0)


class Part:
    """Some of the variables, with their slopes."""

    def __init__(self, variables: Variables, which: RowIndex, whole: Part | None = None):
        v = variables
        self.which, self.n_groups = which, len(v.groups)
        if whole is None:
            self.lower, self.upper, self.tube, self.ridge = v.lower, v.upper, v.tube, v.ridge
            self.beta, self.F = v.start.copy(), -v.target
            self.group = np.zeros(len(which), dtype=np.int64)
            for number, members in enumerate(v.groups):
                self.group[members] = number
        else:
            self.lower, self.upper, self.tube, self.ridge = (x[which] for x in (v.lower, v.upper, v.tube, v.ridge))
            self.beta, self.F, self.group = whole.beta[which], whole.F[which], whole.group[which]
        self.rising, self.falling = np.empty(len(which)), np.empty(len(which))

    def look(self) -> Look:
        """Slopes in both directions."""
        low, high = look(self.F, self.beta, self.lower, self.upper, self.tube, self.rising, self.falling)
        if self.n_groups == 1:
            return Look(np.array([low]), np.array([high]))
        groups = [self.group == g for g in range(self.n_groups)]
        return Look(
            np.array([np.min(self.rising[g], initial=np.inf) for g in groups]),
            np.array([np.max(self.falling[g], initial=-np.inf) for g in groups]),
        )

    def most_violating(self, look: Look, count: int, carried: RowIndex) -> RowIndex:
        """`count` variables, the carried ones first, the others the worst: half to be raised, half lowered."""
        if count >= len(self.which):
            others = np.ones(len(self.which), dtype=bool)
            others[carried] = False
            return np.concatenate([carried, np.flatnonzero(others)])
        middle = look.middle[self.group] if self.n_groups > 1 else look.middle[0]
        gain_up, gain_down = middle - self.rising, self.falling - middle
        gain_up[carried], gain_down[carried] = -np.inf, -np.inf
        wanted = count - len(carried)
        up = _largest(gain_up, wanted // 2)
        gain_down[up] = -np.inf
        down = _largest(gain_down, wanted - len(up))
        gain_up[up], gain_up[down] = -np.inf, -np.inf
        more = _largest(gain_up, wanted - len(up) - len(down))  # where few can be lowered
        return np.concatenate([carried, up, down, more])

    def between(self) -> NDArray[np.bool_]:
        """Variables that are at no bound and no kink."""
        return (self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0)

    def gain(self, look: Look) -> Vector:
        """How much moving each variable would gain, a slope."""
        middle = look.middle[self.group]
        return np.maximum(middle - self.rising, self.falling - middle)


class Ascent:
    """The state of one fit; subclasses move it."""

    def __init__(self, problem: KernelProblem, settings: Solver, start: Solution | None):
        self.problem, self.settings = problem, settings
        self.variables = Variables.of(problem)
        self.history = History()
        self.steps, self.status = 0, Status.BUDGET
        self.all = Part(self.variables, np.arange(len(self.variables.lower)))
        if start is not None and problem.nu is None:
            self.all.beta = self._feasible(start)
        self.try_again()
        self.end = math.inf if settings.max_seconds is None else time.perf_counter() + settings.max_seconds

    def _feasible(self, start: Solution) -> Vector:
        """The coefficients of a start, within bounds and balanced."""
        v, n = self.variables, len(start.alpha)
        beta = np.clip(self.problem.coefficients(start.alpha), v.lower[:n], v.upper[:n])
        if not v.is_free:
            return np.append(beta, 0.0)
        # The heavier side gives way, which no bound forbids.
        positive, negative = float(np.sum(beta[beta > 0.0])), -float(np.sum(beta[beta < 0.0]))
        light = min(positive, negative)
        if abs(positive - negative) <= 64.0 * np.finfo(np.float64).eps * light:
            return np.asarray(beta)  # balanced up to rounding: scaling would only move multipliers off their bounds
        scale = np.where(beta > 0.0, light / (positive or 1.0), light / (negative or 1.0))
        return np.asarray(beta * scale)

    def is_over(self, stop: StopFlag) -> bool:
        """Whether Ctrl-C or a budget ends the fit."""
        limit = self.settings.max_iter
        return bool(stop[0]) or time.perf_counter() > self.end or (limit is not None and self.steps >= limit)

    def steps_left(self, most: int) -> int:
        """How many pair steps may be taken at once."""
        limit = self.settings.max_iter
        return most if limit is None else min(most, limit - self.steps)

    def tolerance(self, look: Look) -> float:
        """Violation up to which the machine that a certificate is about is optimal."""
        tol = _CLOSE_ENOUGH * self.settings.tol
        if not self.has_margin:
            return tol
        return tol * self._rho(look)

    def gap(self, look: Look) -> tuple[float, float]:
        """Relative gap at the present point, recorded, and the value that the ascent raises."""
        v, whole = self.variables, self.all
        losses, gap = 0.0, 0.0
        for number, members in enumerate(v.groups):
            inside = members if v.is_free else members[:-1]
            b = -float(look.middle[number]) if v.is_free else 0.0
            parts = (whole.F, whole.beta, v.lower, v.upper, v.tube, v.ridge)
            terms = gap_terms(*(part if len(inside) == len(part) else part[inside] for part in parts), b)
            losses, gap = losses + terms[0], gap + terms[1]
        square = self._square()
        primal = 0.5 * square + losses
        self.history.record(self.steps, primal, primal - gap)
        # With nu this is not primal - gap, which is about the machine that nu led to; but it is what rises.
        dual = -0.5 * square + float(v.target @ whole.beta - v.tube @ np.abs(whole.beta))
        dual -= 0.5 * float(v.ridge @ np.square(whole.beta))
        return (gap / max(abs(primal), 1e-300) if self.problem.is_convex else 0.0), dual

    def is_optimal(self, look: Look, relative_gap: float) -> bool:
        """Whether gap and violation are within the tolerance."""
        return relative_gap <= _CLOSE_ENOUGH * self.settings.tol and look.violation <= self.tolerance(look)

    def is_stalled(self, dual: float, relative_gap: float) -> bool:
        """Whether for several looks neither the dual rose, beyond its rounding, nor the gap became smaller."""
        beta = self.all.beta
        rounding = _NO_RISE * abs(dual) + _ROUNDOFF * float(beta @ beta) * self._largest_value
        progress = dual > self._best_dual + rounding or relative_gap < NEARER * self._best_gap
        self._waited = 0 if progress else self._waited + 1
        self._best_dual, self._best_gap = max(self._best_dual, dual), min(self._best_gap, relative_gap)
        return self._waited > _PATIENCE

    def try_again(self) -> None:
        """Begin to wait anew."""
        self._best_dual, self._best_gap, self._waited = -math.inf, math.inf, 0

    @cached_property
    def _largest_value(self) -> float:
        """The largest |k(x_i, x_i)|."""
        return float(np.max(np.abs(self.problem.diagonal())))

    def is_point(self, share: float = _POINT) -> bool:
        """Whether w is as good as zero in a classification with nu, where it has no direction then."""
        if not self.has_margin:
            return False
        reach = float(np.sum(np.abs(self.all.beta))) * self._diameter
        return self._square() <= (share * reach) ** 2

    @property
    def has_margin(self) -> bool:
        """Whether nu leads to a margin rho, by which all is divided."""
        return self.problem.nu is not None and not isinstance(self.problem.loss, ResidualLoss)

    @cached_property
    def _diameter(self) -> float:
        """How far phi(x_i) are from each other, or from the origin where no intercept is free: the first of them."""
        diagonal = self.problem.diagonal()
        if self.problem.intercept.is_free:
            diagonal = diagonal + diagonal[0] - 2.0 * self.problem.kernel_rows(np.array([0]))[0]
        return math.sqrt(float(np.max(np.abs(diagonal))))

    def _square(self) -> float:
        """|w|^2."""
        v, whole = self.variables, self.all
        scores = whole.F + v.target - v.ridge * whole.beta
        return float((whole.beta @ scores) if v.is_free else (whole.beta[:-1] @ scores[:-1]))

    def intercept(self) -> float:
        """The intercept that the slopes tell: the middle between rises and falls where it is free."""
        v = self.variables
        if v.is_free:
            return -float(np.mean(self.all.look().middle))
        return v.constant * float(np.sum(self.all.beta[:-1]))

    def solution(self, status: Status) -> Solution:
        """Multipliers, and how they were found."""
        problem, margin, costs = self.problem, None, self.problem.costs
        beta = self.variables.combined(self.all.beta)
        if problem.nu is not None:
            beta, margin = self._scaled_by_margin(beta)
            if not isinstance(problem.loss, ResidualLoss):
                costs = (1.0 / margin) * costs  # of the machine that nu led to, rounded as its certificate rounds it
        alpha = problem.loss.multipliers(beta, problem.targets)
        box = problem.loss.dual_box(costs)
        if box is not None:
            alpha = np.clip(alpha, box.lower, box.upper)
            if problem.intercept.is_free:
                alpha = balanced(alpha, problem.coefficients(np.ones_like(alpha)), box)
        return Solution(
            alpha=alpha,
            weights=None,
            bias=None,
            status=status,
            history=self.history,
            solver=self.settings.name,
            passes=float(self.steps),
            seconds=self.history.elapsed,
            margin=margin,
        )

    def _rho(self, look: Look) -> float:
        """The margin; no less than it can be at the optimum."""
        middle = look.middle
        rho = 0.5 * float(middle[0] - middle[1]) if len(middle) == 2 else float(middle[0])
        return max(rho, self._square() / float(np.sum(np.abs(self.all.beta))))

    def _scaled_by_margin(self, beta: Vector) -> tuple[Vector, float]:
        """Coefficients of the machine that nu led to, and its margin rho or the width epsilon of its tube."""
        look = self.all.look()
        if not self.has_margin:
            epsilon = max(0.0, 0.5 * float(look.middle[1] - look.middle[0]))
            return self._flat(epsilon) or (beta, epsilon)
        if self.is_point():
            raise ParameterError(
                f"nu={self.problem.nu:g} is too small for these data: with so few margin errors allowed nothing is "
                "left to separate, and every answer is w = 0. Raise nu, or use a kernel that separates more."
            )
        rho = self._rho(look)
        if not self.problem.intercept.is_free:
            rho *= 1.0 - _HAIR
        return beta / rho, rho

    def _flat(self, epsilon: float) -> tuple[Vector, float] | None:
        """A constant, and the tube that holds all targets, where that is the answer of a regression with nu.

        Then the objective without its tube is zero at the optimum, and no gap is small beside it: only the exact answer
        will do.
        """
        y, costs = self.problem.targets, self.problem.costs
        whole = 0.5 * float(np.max(y) - np.min(y))
        share = float(np.sum(np.abs(self.all.beta)))
        gained = share * (whole - epsilon) + 0.5 * self._square()
        if self.status is not Status.STALLED or gained > self.settings.tol * share * whole:
            return None
        return np.zeros(len(costs)), float(np.nextafter(whole * (1.0 + 4.0 * _ROUNDOFF), np.inf))


def _largest(values: Vector, count: int) -> RowIndex:
    """Places of the largest values, except those that are minus infinity."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.argpartition(-values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    return places[values[places] > -np.inf]
