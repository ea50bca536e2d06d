"""Where a kernel machine's ascent stands: coefficients, slopes, and what they tell.

    slopes     F = K beta + ridge beta - target
    optimal    where, in each group, no slope of a rise lies below a slope of a fall (`_loops.kernel.pair_steps`)
    gap        the sum over rows of the loss at the middle slope, less what beta makes of it (`working_sets`)

The tolerance is about the machine that a certificate will be about. For a margin that nu leads to, that machine is
divided by rho, and its slopes with it. At the optimum

    nu n rho = |w|^2 + sum_i c_i max(0, rho - y_i (<w, phi(x_i)> + b)),

so rho is never taken to be less than |w|^2 / (nu n). Where w = 0, nothing can be divided: nu is too small for the data.

A fit is stalled where for several looks neither the dual rose by more than its rounding nor the gap became smaller.

Precision. Kernel values may be single; coefficients and slopes are double. Before an answer is called converged, a
sample of the slopes is compared with double precision. Where they differ by more than the tolerance allows, all slopes
are formed in double and the steps go on from there: what single precision then does to the further, small, steps no
longer matters.
"""

from __future__ import annotations

import math
import time
from functools import cached_property

import numpy as np

from maxmargin._loops.kernel.working_sets import gap_terms
from maxmargin._types import Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.errors import ParameterError
from maxmargin.losses import ResidualLoss
from maxmargin.problems import History, KernelProblem, Solution, Status
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.kernel.dual_variables import Variables
from maxmargin.solvers.kernel.parts import Look, Part

__all__ = ["NEARER", "NEXT_TO_POINT", "Ascent", "Look", "Part"]

_CLOSE_ENOUGH = 0.75  # of the tolerance: the rest is for what rounding may add
_NO_RISE = 1e-13  # relative
NEARER = 0.9  # of the smallest gap so far: a gap below it is progress
_PATIENCE = 4  # looks without progress before the fit counts as stalled
_MOST_STEPS, _MOST_STEPS_A_ROW = 10_000_000, 5000
_POINT = 3e-5  # of what coefficients of the same size could give: |w| that is as good as zero
NEXT_TO_POINT = 1e-4  # the same, where single precision no longer tells
_HAIR = 1e-9  # by which one class is wider than its margin rows: rounding must not decide whether they are in it
_SAMPLE = 64  # slopes that are compared with double precision
_TRUSTED = 0.1  # of the tolerance may be lost to single precision
_ROUNDOFF = float(np.finfo(np.float64).eps)


class Ascent:
    """The state of one fit; subclasses move it."""

    curvature: Vector
    """Diagonal of the quadratic part, with the ridge."""

    def __init__(self, problem: KernelProblem, settings: Solver, start: Solution | None):
        self.problem, self.settings = problem, settings
        self.variables = Variables.of(problem)
        self.history = History()
        self.steps, self.status = 0, Status.BUDGET
        self.all = Part(self.variables, np.arange(len(self.variables.lower)))
        if start is not None and problem.nu is None:
            self.all.beta = self._feasible(start)
        self.is_exact = True  # whether the slopes know of no single precision
        self.is_for_scores = False  # whether the answer is used for scores alone, for which single precision will do
        self._best_dual, self._best_gap, self._waited = -math.inf, math.inf, 0
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

    def go_on_from(self, other: Ascent) -> None:
        """Begin where the ascent of another cost ended, with all coefficients scaled by the best factor s.

        The dual is s gain - 1/2 s^2 |w|^2 there, and bounds grow with the cost. Slopes follow without the kernel.
        """
        v, old, new = self.variables, other.all, self.all
        scores = old.F + v.target - other.variables.ridge * old.beta
        gain = float(v.target @ old.beta - v.tube @ np.abs(old.beta))
        square = other._square()
        s = min(self.problem.C / other.problem.C, gain / square if square > 0.0 else math.inf)
        new.beta = np.clip(s * old.beta, v.lower, v.upper)
        new.F = s * scores - v.target + v.ridge * new.beta
        self.is_exact = other.is_exact

    def is_over(self, stop: StopFlag) -> bool:
        """Whether Ctrl-C or a budget ends the fit."""
        return bool(stop[0]) or time.perf_counter() > self.end or self.steps >= self._most_steps

    def steps_left(self, most: int) -> int:
        """How many pair steps may be taken at once."""
        return min(most, self._most_steps - self.steps)

    @property
    def _most_steps(self) -> int:
        """Where no limit is given, one that only a fit without hope meets."""
        limit = self.settings.max_iter
        return max(_MOST_STEPS, _MOST_STEPS_A_ROW * self.problem.n_rows) if limit is None else limit

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
            columns = (whole.F, whole.beta, v.lower, v.upper, v.tube, v.ridge)
            F, beta, lower, upper, tube, ridge = (x if len(inside) == len(x) else x[inside] for x in columns)
            terms = gap_terms(F, beta, lower, upper, tube, ridge, b)
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

    def is_trusted(self, look: Look) -> bool:
        """Whether single precision left the slopes, and the gap that is made of them, as precise as the tolerance."""
        if self.is_exact or self.is_for_scores:
            return True
        error, whole = self._error(), self.all
        steepness = np.where(whole.beta == 0.0, 0.0, np.maximum(np.abs(whole.lower), np.abs(whole.upper)))
        steepness = np.where(np.isfinite(steepness), steepness, np.abs(whole.beta))
        allowed = self.settings.tol * abs(self.history.primal[-1])
        return error <= _TRUSTED * self.tolerance(look) and error * float(np.sum(steepness)) <= _TRUSTED * allowed

    def _error(self) -> float:
        """Largest error of a sample of slopes."""
        v, whole, n = self.variables, self.all, self.problem.n_rows
        combined = v.combined(whole.beta)
        sample = np.arange(0, n, max(1, n // _SAMPLE))  # variable i belongs to row i, as long as i is below n
        exact = self.problem.scores_at(sample, combined) + v.constant * float(np.sum(combined))
        error = (whole.F + v.target - v.ridge * whole.beta)[sample] - exact
        if self.problem.intercept.is_free:  # what all slopes have in common is the intercept's
            error -= np.median(error)
        return float(np.max(np.abs(error)))

    def refine(self) -> None:
        """Form all slopes in double precision."""
        v, whole = self.variables, self.all
        combined = v.combined(whole.beta)
        scores = self.problem.scores(combined) + v.constant * float(np.sum(combined))
        whole.F = np.where(v.rows >= 0, scores[v.rows], 0.0) - v.target + v.ridge * whole.beta
        self.is_exact = True

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
        """The largest |k(x_i, x_i)|, or more by a ridge."""
        return float(np.max(np.abs(self.curvature)))

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

    def _known_bias(self) -> float | None:
        """The best intercept where the slopes tell it up to rounding, else None: a certificate will find it."""
        return None

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
            bias=self._known_bias() if margin is None else None,
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
