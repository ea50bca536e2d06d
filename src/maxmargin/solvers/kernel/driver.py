"""Pair steps on the dual of a kernel machine, whatever engine holds its numbers (`solvers.kernel.engine`).

    repeat
        extremes, gap <- of all variables
        stop where both are within the tolerance, and slopes are precise enough to say so
        working sets <- variables that still compete; solve them; bring all slopes up to date

Where the engine has active sets, these are solved to a tenth of the violation around them, in rounds: a working set,
chosen anew in each, is solved to a tenth again. Otherwise a working set is solved to the end at once.

The tolerance is about the machine that a certificate will be about. For a margin that nu leads to, that machine is
divided by rho, and its slopes with it. At the optimum

    nu n rho = |w|^2 + sum_i c_i max(0, rho - y_i (<w, phi(x_i)> + b)),

so rho is never taken to be less than |w|^2 / (nu n). Where w = 0, nothing can be divided: nu is too small for the data.

The gap may ask for more than the violation does; then steps go on to a smaller one. A fit is stalled where for several
evaluations neither the dual rose by more than its rounding nor the gap became smaller.

Precision. Slopes may know of kernel values in single precision. Before an answer is called converged, a sample of them
is compared with double. Where they differ by more than the tolerance allows, or the fit is stalled, all slopes are
formed in double and the steps go on from there: what single precision then does to the further, small, steps no longer
matters. So it goes as long as each such beginning led to something.

Where all values are at hand in double, steps are so cheap that a fit which is within its tolerance goes on for a
fraction of a millisecond. For a few hundred rows that is often enough to come next to rounding, where all ways to the
answer agree: weights and repeated rows, one order of the rows and another. Pair steps find out which variables are
between their bounds; a Newton step, which makes the slopes of these equal, goes the rest of the way.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, TypeGuard

import numpy as np

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.errors import ParameterError
from maxmargin.losses import ResidualLoss
from maxmargin.problems import History, KernelProblem, Solution, Status, best_intercept
from maxmargin.solvers.common.feasible import balanced
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.kernel.dual import Extremes, Terms, Variables
from maxmargin.solvers.kernel.engine import EngineAtHand, KernelEngine, KernelWorkingSet

_CLOSE_ENOUGH = 0.75  # of the tolerance: the rest is for what rounding may add
_FURTHER = 0.3  # of the violation at which the gap was not small enough
_BRIEF = 500  # rows up to which a fit takes milliseconds
_MOST_STEPS, _MOST_STEPS_A_ROW = 10_000_000, 5000
_TRUSTED = 0.1  # of the tolerance may be lost to single precision
_ROUNDOFF = float(np.finfo(np.float64).eps)

_NO_RISE = 1e-13  # relative
_NEARER = 0.9  # of the smallest gap so far: a gap below it is progress
_PATIENCE = 4  # evaluations without progress before the fit counts as stalled
_HOPELESS = 1e-5  # of the tolerance: a rise of the dual, since its slopes were last in double, that leads nowhere
_POINT = 3e-5  # of what coefficients of the same size could give: |w| that is as good as zero
_NEXT_TO_POINT = 1e-4  # the same, where single precision no longer tells
_HAIR = 1e-9  # by which one class is wider than its margin rows: rounding must not decide whether they are in it

_OUTER = 0.1  # of the violation is left among active variables when all slopes are brought up to date
_INNER = 0.1  # of the violation is left inside a working set when a round ends
_EXTRA = 400_000  # slopes that are brought up to date after the tolerance is met
_FINEST = 1e-12  # of the largest slope: a violation that is rounding


class KernelEvaluation(NamedTuple):
    """What slopes and coefficients tell of a point."""

    extremes: Extremes
    terms: Terms
    primal: float
    dual: float
    """What the steps raise. With nu this is not primal - gap, which is about the machine that nu leads to."""
    relative_gap: float

    @property
    def violation(self) -> float:
        """How far the worst pair is from optimal."""
        return self.extremes.violation


class KernelDriver:
    """One fit."""

    def __init__(self, problem: KernelProblem, engine: KernelEngine, settings: Solver):
        self.problem, self.engine, self.settings = problem, engine, settings
        self.history = History()
        self.steps, self.status = 0, Status.BUDGET
        self.patience = math.inf
        """Steps after which the fit counts as stalled, because another way is quicker."""
        self.is_for_scores = False
        """Whether the answer is used for scores alone, for which single precision will do."""
        self.end = math.inf if settings.max_seconds is None else time.perf_counter() + settings.max_seconds
        self._best_dual, self._best_gap, self._waited = -math.inf, math.inf, 0

    # From a beginning to an end ---------------------------------------------------------------------------------------

    def begin(self, start: Solution) -> None:
        """Go on from the multipliers of another solver."""
        self.engine.begin(Variables.of(self.problem).beginning(self.problem, start))

    def begin_near(self, other: KernelDriver) -> None:
        """Begin where the fit of another cost ended, with all coefficients scaled by the best factor s.

        The dual is s gain - 1/2 s^2 |w|^2 there, and bounds grow with the cost.
        """
        terms = other.engine.terms(np.zeros(self.engine.n_groups))
        best = terms.gain / terms.square if terms.square > 0.0 else math.inf
        self.engine.begin_near(other.engine, min(self.problem.C / other.problem.C, best))

    def run(self, stop: StopFlag) -> None:
        """Steps until gap and violation are within the tolerance, or something else ends them."""
        engine, sharpness, last = self.engine, self.engine.pace.sharpness, (-math.inf, math.inf)
        is_refined, has_moved = False, True
        self.status = Status.BUDGET
        self._try_again()
        while True:
            at = self.evaluate()
            self._record(at)
            if self._is_optimal(at):
                if self._is_trusted(at):
                    self.status = Status.CONVERGED
                    self._finish(at, stop)
                    return
                engine.refine()
                is_refined = True
                continue
            if self.is_over(stop):
                return
            stalled = self._is_stalled(at) or not has_moved
            if not engine.is_exact and (stalled or self._is_point(at, _NEXT_TO_POINT)):
                engine.refine()
                is_refined = True
                continue
            if stalled and is_refined:  # again? then it matters whether anything came of the last time
                rise = _HOPELESS * self.settings.tol * abs(at.dual)
                stalled = at.dual <= last[0] + rise and at.relative_gap >= _NEARER * last[1]
                last = at.dual, at.relative_gap
                self._try_again()
            if stalled or self._is_point(at) or self.steps > self.patience:
                self.status = Status.STALLED
                return
            tolerance, before = self._tolerance(at), self.steps
            if at.violation <= tolerance:
                sharpness = _FURTHER * min(sharpness, at.violation / tolerance)
            self._improve(at, tolerance, sharpness, stop)
            has_moved = self.steps > before
            is_refined = is_refined and not has_moved

    def run_until_interrupted(self) -> None:
        """`run`, with Ctrl-C as one of the ends."""
        _, interrupted = run_until_interrupted(self.run, brief=self.problem.n_rows <= _BRIEF)
        if interrupted:
            self.status = Status.INTERRUPTED

    def is_over(self, stop: StopFlag) -> bool:
        """Whether Ctrl-C or a budget ends the fit."""
        return bool(stop[0]) or time.perf_counter() > self.end or self._steps_left(1) < 1

    def _steps_left(self, most: int) -> int:
        """How many pair steps may be taken at once; where no limit is given, one that only a hopeless fit meets."""
        limit = self.settings.max_iter
        if limit is None:
            limit = max(_MOST_STEPS, _MOST_STEPS_A_ROW * self.problem.n_rows)
        return min(most, limit - self.steps)

    def _improve(self, at: KernelEvaluation, tolerance: float, sharpness: float, stop: StopFlag) -> None:
        """Steps in one working set, or in several from the same active set, and all slopes after them."""
        engine, pace, goal = self.engine, self.engine.pace, sharpness * tolerance
        active = engine.active(at.extremes)
        if pace.rounds == 1:
            goal = pace.first * tolerance if at.violation > pace.first * tolerance > 0.0 else goal
            is_there = self._solve(active.working_set(at.extremes), goal, pace.steps, stop)
            active.close()
            if not is_there or sharpness < 1.0:
                engine.refresh()
            return
        goal = max(_OUTER * at.violation, goal)
        for _ in range(pace.rounds):
            now, before = active.extremes(), self.steps
            if now.violation <= goal or self.is_over(stop):
                break
            part = active.working_set(now)
            inner = goal if part.size == active.size else max(_INNER * now.violation, 0.5 * goal)
            self._solve(part, inner, pace.steps, stop)
            if self.steps == before:
                break
        active.close()

    def _solve(self, part: KernelWorkingSet, goal: float, limit: int, stop: StopFlag) -> bool:
        """Pair steps in a working set, which is then closed; whether they came to their end before the limit."""
        last, is_there = self.steps + limit, False
        while not is_there and self.steps < last and not self.is_over(stop):
            taken, is_there = part.pair_steps(goal, self._steps_left(last - self.steps), stop)
            self.steps += taken
        part.close()
        return is_there

    def _finish(self, at: KernelEvaluation, stop: StopFlag) -> None:
        """Some more steps, if they lead to an answer that is no worse: on the way the violation may rise again."""
        begun, finest = self.engine, _FINEST * at.terms.largest
        limit = self._steps_left(_EXTRA // begun.size)
        if not _has_digits(begun) or limit <= 0 or at.violation <= finest:
            return
        for by_pairs in (True, False):
            self.engine = further = begun.copy()
            if by_pairs:
                self._solve(further.active(at.extremes).working_set(at.extremes), finest, limit, stop)
            elif self._steps_left(1) > 0 and further.newton_step():
                self.steps += 1
            now = self.evaluate()
            if now.violation >= at.violation or not self._is_optimal(now):
                self.engine = begun
                continue
            self._record(now)
            begun, at = further, now
            if now.violation <= finest:
                return

    # Conclusions ------------------------------------------------------------------------------------------------------

    def evaluate(self) -> KernelEvaluation:
        """The point as it is, with the intercepts that its slopes tell."""
        extremes = self.engine.extremes()
        terms = self.engine.terms(-extremes.middle if self.engine.is_free else np.zeros(1))
        primal = 0.5 * terms.square + terms.losses
        relative = terms.gap / max(abs(primal), 1e-300) if self.problem.is_convex else 0.0
        return KernelEvaluation(extremes, terms, primal, terms.gain - 0.5 * terms.square, relative)

    def _record(self, at: KernelEvaluation) -> None:
        self.history.record(self.steps, at.primal, at.primal - at.terms.gap)

    def _tolerance(self, at: KernelEvaluation) -> float:
        """Violation up to which the machine that a certificate is about is optimal."""
        tol = _CLOSE_ENOUGH * self.settings.tol
        return tol * self._rho(at) if self._has_margin else tol

    def _is_optimal(self, at: KernelEvaluation) -> bool:
        """Whether gap and violation are within the tolerance."""
        return at.relative_gap <= _CLOSE_ENOUGH * self.settings.tol and at.violation <= self._tolerance(at)

    def _is_trusted(self, at: KernelEvaluation) -> bool:
        """Whether single precision left the slopes, and the gap that is made of them, as precise as the tolerance."""
        if self.engine.is_exact or self.is_for_scores:
            return True
        error, allowed = self.engine.sample_error(), self.settings.tol * abs(at.primal)
        return error <= _TRUSTED * self._tolerance(at) and error * at.terms.steepness <= _TRUSTED * allowed

    def _is_stalled(self, at: KernelEvaluation) -> bool:
        """Whether for several evaluations neither the dual rose, beyond its rounding, nor the gap became smaller."""
        rounding = _NO_RISE * abs(at.dual) + _ROUNDOFF * at.terms.squares * self.engine.largest_value
        progress = at.dual > self._best_dual + rounding or at.relative_gap < _NEARER * self._best_gap
        self._waited = 0 if progress else self._waited + 1
        self._best_dual, self._best_gap = max(self._best_dual, at.dual), min(self._best_gap, at.relative_gap)
        return self._waited > _PATIENCE

    def _try_again(self) -> None:
        """Begin to wait anew."""
        self._best_dual, self._best_gap, self._waited = -math.inf, math.inf, 0

    def _is_point(self, at: KernelEvaluation, share: float = _POINT) -> bool:
        """Whether w is as good as zero in a classification with nu, where it has no direction then."""
        return self._has_margin and at.terms.square <= (share * at.terms.size * self.engine.diameter) ** 2

    @property
    def _has_margin(self) -> bool:
        """Whether nu leads to a margin rho, by which all is divided."""
        return self.problem.nu is not None and not isinstance(self.problem.loss, ResidualLoss)

    def _rho(self, at: KernelEvaluation) -> float:
        """The margin; no less than it can be at the optimum."""
        middle = at.extremes.middle
        rho = 0.5 * float(middle[0] - middle[1]) if len(middle) == 2 else float(middle[0])
        return max(rho, at.terms.square / at.terms.size)

    # The answer -------------------------------------------------------------------------------------------------------

    def solution(self, status: Status | None = None) -> Solution:
        """Multipliers, and how they were found."""
        problem, margin, costs, at = self.problem, None, self.problem.costs, self.evaluate()
        beta = self.engine.coefficients()
        if problem.nu is not None:
            beta, margin = self._scaled_by_margin(beta, at)
            if self._has_margin:
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
            bias=self._known_bias(at) if margin is None else None,
            status=status or self.status,
            history=self.history,
            solver=self.settings.name,
            passes=float(self.steps),
            seconds=self.history.elapsed,
            margin=margin,
        )

    def _known_bias(self, at: KernelEvaluation) -> float | None:
        """The best intercept where the slopes tell it up to rounding, else None: a certificate will find it."""
        is_told = self.problem.intercept.is_free and at.violation <= _FINEST * at.terms.largest
        if not is_told or not _has_digits(self.engine) or not self.engine.tells_intercept():
            return None
        return -float(at.extremes.middle[0])

    def _scaled_by_margin(self, beta: Vector, at: KernelEvaluation) -> tuple[Vector, float]:
        """Coefficients of the machine that nu led to, and its margin rho or the width epsilon of its tube."""
        if not self._has_margin:
            middle = at.extremes.middle
            epsilon = max(0.0, 0.5 * float(middle[1] - middle[0]))
            return self._constant(at, epsilon) or (beta, epsilon)
        if self._is_point(at):
            raise ParameterError(
                f"nu={self.problem.nu:g} is too small for these data: with so few margin errors allowed nothing is "
                "left to separate, and every answer is w = 0. Raise nu, or use a kernel that separates more."
            )
        rho = self._rho(at)
        if not self.problem.intercept.is_free:
            rho *= 1.0 - _HAIR
        return beta / rho, rho

    def _constant(self, at: KernelEvaluation, epsilon: float) -> tuple[Vector, float] | None:
        """A constant, and the tube that holds all targets, where that is the answer of a regression with nu.

        Then the objective without its tube is zero at the optimum, and no gap is small beside it: only the exact answer
        will do.
        """
        y = self.problem.targets
        whole = 0.5 * float(np.max(y) - np.min(y))
        gained = at.terms.size * (whole - epsilon) + 0.5 * at.terms.square
        if self.status is not Status.STALLED or gained > self.settings.tol * at.terms.size * whole:
            return None
        return np.zeros(len(y)), float(np.nextafter(whole * (1.0 + 4.0 * _ROUNDOFF), np.inf))

    # For scores alone -------------------------------------------------------------------------------------------------

    def intercept(self) -> float:
        """The intercept as a certificate chooses it: in the middle, where coefficients leave an interval."""
        return self._intercept_of(self.engine, np.arange(self.problem.n_rows))

    def score_without(self, i: int, limit: int) -> float | None:
        """Score of row i by the machine without it, in at most so many steps; None where these were too few.

        The machine is one with a cost, and its values are at hand.
        """
        assert isinstance(self.engine, EngineAtHand)
        rest = self.engine.without(i, _CLOSE_ENOUGH * self.settings.tol, limit)
        if rest is None or not rest.is_free:
            return None if rest is None else float(rest.scores()[i])
        return float(rest.scores()[i]) + self._intercept_of(rest, np.delete(np.arange(self.problem.n_rows), i))

    def _intercept_of(self, engine: KernelEngine, rows: RowIndex) -> float:
        """The intercept for these rows."""
        problem = self.problem
        if not self.engine.is_free:
            return self.problem.intercept.scale**2 * float(np.sum(engine.coefficients()))
        if engine.tells_intercept():
            return -float(np.mean(engine.extremes().middle))
        scores, y, costs = engine.scores()[rows], problem.targets[rows], problem.costs[rows]
        return float(np.asarray(best_intercept(problem.loss, scores, y, costs)))


def _has_digits(engine: KernelEngine) -> TypeGuard[EngineAtHand]:
    """Whether more steps than were asked for cost next to nothing, and lead further."""
    return isinstance(engine, EngineAtHand) and engine.is_double
