"""Where a kernel machine's ascent stands: coefficients, slopes, and what they tell.

    slopes     F = K beta + ridge beta - target
    optimal    where, in each group, no slope of a rise lies below a slope of a fall (`_loops.pair_steps`)
    gap        the sum over rows of the loss at the middle slope, less what beta makes of it (`_loops.working_sets`)

The tolerance is about the machine that a certificate will be about. For a margin that nu leads to, that machine is
divided by rho, and its slopes with it.
"""

from __future__ import annotations

import math
import time
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
_PATIENCE = 4  # looks without a rise of the dual before the fit counts as stalled
_DEGENERATE = 1e-9  # of the largest possible score: a margin rho that is as good as zero


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
        """The slope that separates rises from falls."""
        return 0.5 * (self.low + self.high)


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
        return np.concatenate([carried, up, down])

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
        self._best_dual, self._waited = -math.inf, 0
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
        if self.problem.nu is None or isinstance(self.problem.loss, ResidualLoss):
            return tol
        return tol * max(self._rho(look), self._smallest_margin())

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
        n = len(whole.F) if v.is_free else len(whole.F) - 1
        square = float(whole.beta[:n] @ (whole.F + v.target - v.ridge * whole.beta)[:n])
        primal = 0.5 * square + losses
        self.history.record(self.steps, primal, primal - gap)
        # With nu this is not primal - gap, which is about the machine that nu led to; but it is what rises.
        dual = -0.5 * square + float(v.target @ whole.beta - v.tube @ np.abs(whole.beta))
        dual -= 0.5 * float(v.ridge @ np.square(whole.beta))
        return (gap / max(abs(primal), 1e-300) if self.problem.is_convex else 0.0), dual

    def is_optimal(self, look: Look, relative_gap: float) -> bool:
        """Whether gap and violation are within the tolerance."""
        return relative_gap <= _CLOSE_ENOUGH * self.settings.tol and look.violation <= self.tolerance(look)

    def is_stalled(self, dual: float) -> bool:
        """Whether the dual has not risen for several looks, beyond its rounding."""
        rises = dual > self._best_dual + _NO_RISE * abs(dual)
        self._waited = 0 if rises else self._waited + 1
        self._best_dual = max(self._best_dual, dual)
        return self._waited > _PATIENCE

    def try_again(self) -> None:
        """Begin to wait anew."""
        self._best_dual, self._waited = -math.inf, 0

    def solution(self, status: Status) -> Solution:
        """Multipliers, and how they were found."""
        problem, margin = self.problem, None
        beta = self.variables.combined(self.all.beta)
        if problem.nu is not None:
            beta, margin = self._scaled_by_margin(beta)
        alpha = problem.loss.multipliers(beta, problem.targets)
        box = problem.loss.dual_box(problem.costs)
        if box is not None and problem.nu is None:
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
        middle = look.middle
        return 0.5 * float(middle[0] - middle[1]) if len(middle) == 2 else float(middle[0])

    def _smallest_margin(self) -> float:
        """A margin rho that is as good as zero, measured by the largest score that coefficients of this size can give."""
        return _DEGENERATE * float(np.sum(np.abs(self.all.beta)) * np.max(np.abs(self.problem.diagonal())))

    def _scaled_by_margin(self, beta: Vector) -> tuple[Vector, float]:
        """Coefficients of the machine that nu led to, and its margin rho or the width epsilon of its tube."""
        look = self.all.look()
        if isinstance(self.problem.loss, ResidualLoss):
            return beta, max(0.0, 0.5 * float(look.middle[1] - look.middle[0]))
        rho = self._rho(look)
        if not rho > self._smallest_margin():
            raise ParameterError(
                f"nu={self.problem.nu:g} is too small for these data: with so few margin errors allowed nothing is "
                "left to separate, and every answer is w = 0. Raise nu, or use a kernel that separates more."
            )
        return beta / rho, rho


def _largest(values: Vector, count: int) -> RowIndex:
    """Places of the largest values, except those that are minus infinity."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.argpartition(-values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    return places[values[places] > -np.inf]
