"""The default for kernel machines: working sets within working sets, and pair steps inside.

The dual is a minimum over signed coefficients (`solvers.dual_variables`). What decides is the slope of every variable,

    F = K beta + ridge beta - target.

Three levels, each hundreds of times cheaper a step than the one around it:

    all variables    have their slope. A few thousand of them become active: those between their bounds, and those
                     that violate optimality most.
    active           have the kernel matrix among them. They are solved to a tenth of the violation around them; then
                     one sum over the rows that moved brings the slopes of all variables up to date.
    working set      a thousand of the active ones, half of it new in each round, half carried over, whose matrix
                     stays in the cache. Second-order pair steps (`_loops.pair_steps`) solve it to a tenth again.

A variable that is settled at its bound never becomes active, so it costs nothing but its slope. The gap comes with the
slopes: they are what the primal needs.

Precision. Kernel values are single, coefficients and slopes double. Before the answer is called converged, a sample of
the slopes is compared with double precision; where they differ by more than the tolerance allows, all slopes are formed
in double and the rounds go on from there: what single precision then does to the further, small, steps no longer
matters.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.errors import ParameterError
from maxmargin.losses import ResidualLoss
from maxmargin.problems import History, KernelProblem, Problem, Solution, Status
from maxmargin.solvers.dual_variables import Variables
from maxmargin.solvers.feasible import balanced
from maxmargin.solvers.kernel_values import ActiveRows, KernelValues
from maxmargin.solvers.solver import Solver

_ACTIVE = 8192
_SIZE = 2048
_INNER_STEPS = 20_000  # of one round: milliseconds, so that Ctrl-C and budgets are heeded
_ROUNDS = 200  # on the same active variables
_INNER = 0.1  # of the violation is left inside a working set when a round ends
_OUTER = 0.1  # of the violation is left among active variables when all slopes are formed again
_SAMPLE = 64  # slopes that are compared with double precision
_TRUSTED = 0.2  # of the tolerance may be lost to single precision
_BUDGET = 1 << 30
_PATIENCE = 5  # looks without a better dual before the fit counts as stalled
_PAD = 16  # idle columns: lines a power of two apart would all want the same place in the cache


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


@dataclass(frozen=True)
class Blocks(Solver):
    """Working sets with second-order pair steps.

    memory
        Bytes for kernel values that are stored.
    active
        Variables that have kernel rows among them, at least; fewer where the memory is less.
    size
        Variables in a working set.
    """

    memory: int | None = None
    active: int = _ACTIVE
    size: int = _SIZE
    name: ClassVar[str] = "blocks"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from beta = 0, or from the coefficients of `start`."""
        if not isinstance(problem, KernelProblem):
            raise ParameterError(f"solver={self.name!r} is for kernel machines, not: {problem.objective}.")
        ascent = _Ascent(problem, self, start)
        _, interrupted = run_until_interrupted(ascent.run, brief=problem.n_rows <= 500)
        return ascent.solution(Status.INTERRUPTED if interrupted else ascent.status)


class _Part:
    """Some of the variables, with their slopes."""

    def __init__(self, variables: Variables, which: RowIndex, curvature: Vector, group: RowIndex, beta: Vector, F: Vector):
        self.which = which
        self.lower, self.upper = variables.lower[which], variables.upper[which]
        self.tube, self.ridge = variables.tube[which], variables.ridge[which]
        self.curvature, self.group, self.n_groups = curvature[which], group[which], len(variables.groups)
        self.beta, self.F = beta[which], F[which]
        self.rising, self.falling = np.empty(len(which)), np.empty(len(which))

    def look(self) -> Look:
        """Slopes in both directions."""
        from maxmargin._loops.working_sets import look

        low, high = look(self.F, self.beta, self.lower, self.upper, self.tube, self.rising, self.falling)
        if self.n_groups == 1:
            return Look(np.array([low]), np.array([high]))
        groups = [self.group == g for g in range(self.n_groups)]
        return Look(
            np.array([np.min(self.rising[g], initial=np.inf) for g in groups]),
            np.array([np.max(self.falling[g], initial=-np.inf) for g in groups]),
        )

    def most_violating(self, look: Look, count: int, carried: RowIndex) -> RowIndex:
        """`count` variables, the carried ones among them, the others the worst: half to be raised, half lowered."""
        if count >= len(self.which):
            return np.arange(len(self.which))
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


class _Ascent:
    """The state of one fit."""

    def __init__(self, problem: KernelProblem, settings: Blocks, start: Solution | None):
        self.problem, self.settings = problem, settings
        self.variables = Variables.of(problem)
        budget = settings.memory or _BUDGET
        self.values = KernelValues(problem, budget)
        self.history = History()
        self.steps, self.status = 0, Status.BUDGET
        v = self.variables
        group = np.zeros(len(v.lower), dtype=np.int64)
        for number, members in enumerate(v.groups):
            group[members] = number
        curvature = np.where(v.rows >= 0, problem.diagonal()[v.rows] + v.constant, 0.0) + v.ridge
        n = len(v.lower)
        # Kernel rows among the active variables, in single precision; the system gives memory when it is written to.
        self.most_active = min(n, max(int(math.sqrt(budget / 4)), 64))
        self._buffer: NDArray[np.float32] = np.empty(self.most_active**2, dtype=np.float32)
        self.all = _Part(v, np.arange(n), curvature, group, self._begin(start), -v.target)
        self.is_exact = not np.any(self.all.beta)
        if not self.is_exact:
            self._follow(np.flatnonzero(self.all.beta), self.all.beta[self.all.beta != 0.0])

    def _begin(self, start: Solution | None) -> Vector:
        v = self.variables
        if start is None or self.problem.nu is not None:
            return v.start.copy()
        n = len(start.alpha)
        beta = np.clip(self.problem.coefficients(start.alpha), v.lower[:n], v.upper[:n])
        if not v.is_free:
            return np.append(beta, 0.0)
        # The heavier side gives way, which no bound forbids.
        positive, negative = float(np.sum(beta[beta > 0.0])), -float(np.sum(beta[beta < 0.0]))
        light = min(positive, negative)
        scale = np.where(beta > 0.0, light / (positive or 1.0), light / (negative or 1.0))
        return beta * scale

    def run(self, stop: StopFlag) -> None:
        """Active sets until the gap and the violation are within the tolerance."""
        settings, whole = self.settings, self.all
        self.end = math.inf if settings.max_seconds is None else time.perf_counter() + settings.max_seconds
        best, waited = -math.inf, 0
        while True:
            look = whole.look()
            relative, dual = self._gap(look)
            if relative <= settings.tol and look.violation <= settings.tol:
                if self._error() <= _TRUSTED * settings.tol:
                    self.status = Status.CONVERGED
                    return
                self._refine()
                continue
            if self._is_over(stop):
                return
            waited = 0 if dual > best + 1e-13 * abs(dual) else waited + 1
            best = max(best, dual)
            if waited > _PATIENCE:
                if self.is_exact:
                    self.status = Status.STALLED
                    return
                self._refine()
                best, waited = -math.inf, 0
                continue
            self._solve_active(look, stop)

    def _is_over(self, stop: StopFlag) -> bool:
        limit = self.settings.max_iter
        return bool(stop[0]) or time.perf_counter() > self.end or (limit is not None and self.steps >= limit)

    def _gap(self, look: Look) -> tuple[float, float]:
        """Relative gap at the present point and the dual value; recorded."""
        from maxmargin._loops.working_sets import gap_terms

        v, whole = self.variables, self.all
        losses, gap = 0.0, 0.0
        for number, members in enumerate(v.groups):
            inside = members[v.rows[members] >= 0]
            b = -float(look.middle[number]) if v.is_free else 0.0
            parts = (whole.F, whole.beta, v.lower, v.upper, v.tube, v.ridge)
            terms = gap_terms(*(part if len(inside) == len(part) else part[inside] for part in parts), b)
            losses, gap = losses + terms[0], gap + terms[1]
        given = v.rows >= 0
        square = float(whole.beta[given] @ (whole.F + v.target - v.ridge * whole.beta)[given])
        primal = 0.5 * square + losses
        self.history.record(self.steps, primal, primal - gap)
        return (gap / max(abs(primal), 1e-300) if self.problem.is_convex else 0.0), primal - gap

    # The active variables -----------------------------------------------------------------------------------------

    def _solve_active(self, look: Look, stop: StopFlag) -> None:
        """Choose active variables, solve them, and bring all slopes up to date."""
        v, whole = self.variables, self.all
        which = self._activated(look)
        tolerance = max(_OUTER * look.violation, 0.5 * self.settings.tol)
        part = _Part(v, which, whole.curvature, whole.group, whole.beta, whole.F)
        if len(which) > self.most_active:
            which = np.sort(whole.most_violating(look, self.most_active, np.empty(0, dtype=np.int64)))
        before = part.beta.copy()
        self._rounds(part, tolerance, stop)
        steps = part.beta - before
        moved = np.flatnonzero(steps)
        whole.beta[part.which] = part.beta
        if len(which) == len(whole.which):  # the rounds kept all slopes
            whole.F = part.F
            self.is_exact = self.is_exact and len(moved) == 0
        else:
            self._follow(part.which[moved], steps[moved])

    def _activated(self, look: Look) -> RowIndex:
        """The next active variables: those between bounds and as many others, the most violating first."""
        whole = self.all
        carried = np.flatnonzero(whole.between())
        count = min(max(self.settings.active, 2 * len(carried) + self.settings.size), self.most_active)
        if len(carried) > 0.75 * count:
            carried = carried[np.argpartition(-whole.gain(look)[carried], int(0.75 * count))[: int(0.75 * count)]]
        if not self.variables.is_free:
            carried = np.union1d(carried, len(whole.which) - 1)
        return np.sort(whole.most_violating(look, count, carried))

    def _follow(self, moved: RowIndex, steps: Vector) -> None:
        """Slopes of all variables after the coefficients of some moved."""
        v, whole = self.variables, self.all
        given = v.rows[moved] >= 0
        moved, steps = moved[given], steps[given]
        if len(moved) == 0:
            return
        self.is_exact = False
        rows, place = np.unique(v.rows[moved], return_inverse=True)
        change = self.values.change(rows, np.bincount(place, weights=steps)) + v.constant * float(np.sum(steps))
        whole.F += change if len(change) == len(whole.F) else np.where(v.rows >= 0, change[v.rows], 0.0)
        whole.F[moved] += v.ridge[moved] * steps

    # The rounds ---------------------------------------------------------------------------------------------------

    def _rounds(self, part: _Part, tolerance: float, stop: StopFlag) -> None:
        """Working sets until the violation among the active variables is within the tolerance."""
        v, n = self.variables, len(part.which)
        rows = v.rows[part.which]
        has_zeros = rows[-1] < 0
        own, place = np.unique(rows[rows >= 0], return_inverse=True)
        active = ActiveRows(self.values, own, self._buffer)
        size = n if n <= 1.5 * self.settings.size else self.settings.size
        chosen = np.empty(0, dtype=np.int64)
        Q = np.empty((size, size + _PAD), dtype=np.float32)
        for _ in range(_ROUNDS):
            look = part.look()
            if look.violation <= tolerance or self._is_over(stop):
                return
            if size < n or len(chosen) == 0:
                chosen, fresh = self._next_set(part, look, size, chosen)
                self._fill_square(active, place, has_zeros, chosen, fresh, Q)
            inner = tolerance if size == n else max(_INNER * look.violation, 0.5 * tolerance)
            if not self._pair_steps(part, active, place, chosen, Q, inner, stop):
                return

    def _fill_square(
        self,
        active: ActiveRows,
        place: RowIndex,
        has_zeros: bool,
        chosen: RowIndex,
        fresh: RowIndex,
        Q: NDArray[np.float32],
    ) -> None:
        """Rows and columns `fresh` of the kernel matrix of a working set."""
        zero = np.flatnonzero(chosen == len(place)) if has_zeros else np.empty(0, dtype=np.int64)
        among = np.where(chosen == len(place), 0, chosen) if has_zeros else chosen
        active.fill_square(place[among], fresh, Q)
        constant = np.float32(self.variables.constant)
        if constant:
            Q[fresh] += constant
            old = np.setdiff1d(np.arange(len(chosen)), fresh)
            Q[np.ix_(old, fresh)] += constant
        Q[zero], Q[:, zero] = 0.0, 0.0

    def _next_set(self, part: _Part, look: Look, size: int, last: RowIndex) -> tuple[RowIndex, RowIndex]:
        """The next working set, and the places in it that are new."""
        if len(last) == 0:
            always = np.empty(0, dtype=np.int64) if self.variables.is_free else np.array([len(part.which) - 1])
            return part.most_violating(look, size, always), np.arange(size)
        order = np.lexsort((-part.gain(look)[last], ~part.between()[last]))
        stay = np.sort(order[: size // 2])
        if not self.variables.is_free and last[stay[0]] != len(part.which) - 1:
            stay[0] = 0  # the row of zeros, which came first
        fresh = np.setdiff1d(np.arange(size), stay)
        chosen = last.copy()
        chosen[fresh] = part.most_violating(look, size, last[stay])[len(stay) :]
        return chosen, fresh

    def _pair_steps(
        self,
        part: _Part,
        active: ActiveRows,
        place: RowIndex,
        chosen: RowIndex,
        Q: NDArray[np.float32],
        tolerance: float,
        stop: StopFlag,
    ) -> bool:
        """Pair steps on a working set, then the slopes of all active variables; False where nothing moved."""
        from maxmargin._loops.pair_steps import Box, pair_steps

        whole = len(chosen) == len(part.which)
        beta, F = (part.beta, part.F) if whole else (part.beta[chosen], part.F[chosen])
        before = beta.copy()
        limit = _INNER_STEPS
        if self.settings.max_iter is not None:
            limit = min(limit, self.settings.max_iter - self.steps)
        slots = np.arange(len(chosen))
        taken = 0
        for group in range(part.n_groups):
            box = Box(
                part.lower[chosen],
                part.upper[chosen],
                part.tube[chosen],
                part.ridge[chosen],
                part.curvature[chosen],
                part.group[chosen] == group,
            )
            taken += pair_steps(Q, slots, beta, F, box, tolerance, limit, stop)[0]
        self.steps += taken
        if not whole:
            steps = beta - before
            moved = np.flatnonzero(steps)
            self._follow_active(part, active, place, chosen[moved], steps[moved])
            part.beta[chosen] = beta
        return taken > 0

    def _follow_active(
        self, part: _Part, active: ActiveRows, place: RowIndex, moved: RowIndex, steps: Vector
    ) -> None:
        """Slopes of the active variables after the coefficients of some moved."""
        part.F[moved] += part.ridge[moved] * steps
        given = moved < len(place)  # all but the row of zeros, which is the last
        rows, which = np.unique(place[moved[given]], return_inverse=True)
        total = np.bincount(which, weights=steps[given])
        if len(active.rows) == len(part.F):
            active.add(rows, total, part.F)
        else:
            change = np.zeros(len(active.rows))
            active.add(rows, total, change)
            part.F[: len(place)] += change[place]
        if self.variables.constant:
            part.F[: len(place)] += self.variables.constant * float(np.sum(steps[given]))

    # Precision ----------------------------------------------------------------------------------------------------

    def _refine(self) -> None:
        """Form all slopes in double precision."""
        v, whole = self.variables, self.all
        combined = v.combined(whole.beta)
        scores = self.problem.scores(combined) + v.constant * float(np.sum(combined))
        whole.F = np.where(v.rows >= 0, scores[v.rows], 0.0) - v.target + v.ridge * whole.beta
        self.is_exact = True

    def _error(self) -> float:
        """Largest error of a sample of slopes."""
        if self.is_exact:
            return 0.0
        v, whole, n = self.variables, self.all, self.problem.n_rows
        combined = v.combined(whole.beta)
        sample = np.arange(0, n, max(1, n // _SAMPLE))  # variable i belongs to row i, as long as i is below n
        exact = self.problem.scores_at(sample, combined) + v.constant * float(np.sum(combined))
        found = (whole.F + v.target - v.ridge * whole.beta)[sample]
        return float(np.max(np.abs(found - exact)))

    # The answer ---------------------------------------------------------------------------------------------------

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

    def _scaled_by_margin(self, beta: Vector) -> tuple[Vector, float]:
        """Coefficients of the machine that nu led to, and its margin rho or the width epsilon of its tube."""
        middle = self.all.look().middle
        if isinstance(self.problem.loss, ResidualLoss):
            return beta, max(0.0, 0.5 * float(middle[1] - middle[0]))
        rho = 0.5 * float(middle[0] - middle[1]) if len(middle) == 2 else float(middle[0])
        if not rho > 1e-9 * float(np.max(np.abs(self.all.F))):
            raise ParameterError(
                f"nu={self.problem.nu:g} is too small for these data: with so few margin errors allowed nothing is left "
                "to separate, and every answer is w = 0. Raise nu, or use a kernel that separates more."
            )
        return beta / rho, rho


def _largest(values: Vector, count: int) -> RowIndex:
    """Places of the largest values, except those that are minus infinity."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.argpartition(-values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    return places[values[places] > -np.inf]
