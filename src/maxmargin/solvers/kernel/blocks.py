"""The default for kernel machines: working sets within working sets, and pair steps inside.

The dual is a minimum over signed coefficients (`solvers.kernel.dual_variables`). What decides is the slope of every
variable,

    F = K beta + ridge beta - target.

Three levels, each hundreds of times cheaper a step than the one around it:

    all variables    have their slope. A few thousand of them become active: those between their bounds, and those
                     that violate optimality most.
    active           have the kernel matrix among them. They are solved to a tenth of the violation around them; then
                     one sum over the rows that moved brings the slopes of all variables up to date.
    working set      a thousand of the active ones, half of it new in each round, half carried over, whose matrix
                     stays in the cache. Second-order pair steps (`_loops.kernel.pair_steps`) solve it to a tenth again.

A variable that is settled at its bound never becomes active, so it costs nothing but its slope. The gap comes with the
slopes: they are what the primal needs.

Kernel values are single (`solvers.kernel.ascent` says what becomes of precision).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import Box, pair_steps
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.scratch import scratch
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.kernel.ascent import NEARER, NEXT_TO_POINT, Ascent
from maxmargin.solvers.kernel.kernel_solver import KernelSolver, is_soft
from maxmargin.solvers.kernel.parts import Look, Part
from maxmargin.solvers.kernel.shared import with_shared_values
from maxmargin.solvers.kernel.values import ActiveRows, KernelValues
from maxmargin.solvers.kernel.whole_ascent import WholeAscent

_WHOLE = 1024
_WHOLE_STORED = 4096  # the same for a matrix that somebody stored
_BRIEF = 500  # rows up to which a fit takes milliseconds
_ACTIVE = 8192
_SHARE = 0.3  # of all variables is active at least
_SIZE = 2048
_INNER_STEPS = 20_000  # of one round: milliseconds, so that Ctrl-C and budgets are heeded
_ROUNDS = 200  # on the same active variables
_INNER = 0.1  # of the violation is left inside a working set when a round ends
_OUTER = 0.1  # of the violation is left among active variables when all slopes are formed again
_HOPELESS = 1e-5  # of the tolerance: a rise of the dual, since its slopes were last in double, that leads nowhere
_BUDGET = 1 << 30
_PAD = 16  # idle columns: lines a power of two apart would all want the same place in the cache


@dataclass(frozen=True)
class Blocks(KernelSolver):
    """Working sets with second-order pair steps.

    memory
        Bytes for kernel values that are stored.
    active
        Variables that are active, at least.
    size
        Variables in a working set.
    whole
        Rows up to which the whole kernel matrix is formed, in double precision.
    """

    memory: int | None = None
    active: int = _ACTIVE
    size: int = _SIZE
    whole: int = _WHOLE
    name: ClassVar[str] = "blocks"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the dual is a quadratic program, and not that of a hard margin."""
        return is_soft(problem)

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from beta = 0, or from the coefficients of `start`."""
        ascent = self.ascent(self.checked(problem), start)
        _, interrupted = run_until_interrupted(ascent.run, brief=problem.n_rows <= _BRIEF)
        return ascent.solution(Status.INTERRUPTED if interrupted else ascent.status)

    def ascent(self, problem: KernelProblem, start: Solution | None = None) -> WholeAscent | _Levels:
        """The ascent of a problem, before its first step."""
        problem = with_shared_values(problem)
        few = problem.n_rows <= (self.whole if problem.stored is None else _WHOLE_STORED)
        return WholeAscent(problem, self, start) if few else _Levels(problem, self, start)


class _Levels(Ascent):
    """All variables, active ones, and working sets."""

    settings: Blocks

    def __init__(self, problem: KernelProblem, settings: Blocks, start: Solution | None):
        super().__init__(problem, settings, start)
        v, budget = self.variables, settings.memory or _BUDGET
        self.values = KernelValues(problem, budget, shifted=problem.intercept.is_free)
        self.curvature = np.where(v.rows >= 0, self.values.diagonal()[v.rows] + v.constant, 0.0) + v.ridge
        # Kernel rows among the active variables, in single precision; the system gives memory when it is written to.
        self._buffer: NDArray[np.float32] = scratch("kernel rows", min(budget // 4, problem.n_rows**2))
        self._last = (-np.inf, np.inf)
        moved = np.flatnonzero(self.all.beta)
        self._follow(moved, self.all.beta[moved], self.all.which)
        self.all.F += v.ridge * self.all.beta

    def run(self, stop: StopFlag) -> None:
        """Active sets until the gap and the violation are within the tolerance."""
        whole = self.all
        self.sharper = 0.5  # of the tolerance, which the gap may ask for
        while True:
            look = whole.look()
            relative, dual = self.gap(look)
            if self.is_optimal(look, relative):
                if self.is_trusted(look):
                    self.status = Status.CONVERGED
                    return
                self.refine()
                continue
            if self.is_over(stop):
                return
            if look.violation <= self.tolerance(look):
                self.sharper = 0.3 * min(self.sharper, look.violation / self.tolerance(look))
            stalled = self.is_stalled(dual, relative)
            if not self.is_exact and (stalled or self.is_point(NEXT_TO_POINT)):
                self.refine()
                continue
            if self.is_point() or (stalled and not self._is_nearer(dual, relative)):
                self.status = Status.STALLED
                return
            if stalled:
                self.try_again()
            self._solve_active(look, stop)

    def _is_nearer(self, dual: float, relative_gap: float) -> bool:
        """Whether dual or gap, from slopes in double precision, are better than when they were last asked for."""
        (last_dual, last_gap), self._last = self._last, (dual, relative_gap)
        rise = _HOPELESS * self.settings.tol * abs(dual)
        return dual > last_dual + rise or relative_gap < NEARER * last_gap

    # The active variables -----------------------------------------------------------------------------------------

    def _solve_active(self, look: Look, stop: StopFlag) -> None:
        """Choose active variables, solve them, and bring all slopes up to date."""
        v, whole = self.variables, self.all
        which = self._activated(look)
        tolerance = max(_OUTER * look.violation, self.sharper * self.tolerance(look))
        part = Part(v, which, whole)
        before = part.beta.copy()
        self._rounds(part, tolerance, stop)
        steps = part.beta - before
        moved = np.flatnonzero(steps)
        whole.beta[which] = part.beta
        others = np.ones(len(whole.which), dtype=bool)
        others[which] = False
        self._follow(which[moved], steps[moved], np.flatnonzero(others))
        whole.F[which] = part.F  # the rounds kept these up to date

    def _activated(self, look: Look) -> RowIndex:
        """The next active variables: those between bounds and as many others, the most violating first."""
        whole = self.all
        carried, n = np.flatnonzero(whole.between()), len(whole.which)
        count = max(self.settings.active, int(_SHARE * n), 2 * len(carried) + self.settings.size)
        count = n if n <= 1.5 * count else count
        if not self.variables.is_free:
            carried = np.union1d(carried, len(whole.which) - 1)
        return np.sort(whole.most_violating(look, count, carried))

    def _follow(self, moved: RowIndex, steps: Vector, others: RowIndex) -> None:
        """Slopes of the `others` after the coefficients of some variables moved."""
        v, whole = self.variables, self.all
        given = v.rows[moved] >= 0
        moved, steps = moved[given], steps[given]
        if len(moved) == 0:
            return
        self.is_exact = False
        others = others[v.rows[others] >= 0]
        if len(others) == 0:
            return
        rows, place = np.unique(v.rows[moved], return_inverse=True)
        total = np.bincount(place, weights=steps).astype(np.float64)
        among, back = np.unique(v.rows[others], return_inverse=True)
        ready = None if len(among) == self.problem.n_rows else self.values.ready(among)
        change = self.values.change(rows, total, among, ready) + v.constant * float(np.sum(steps))
        whole.F[others] += change[back]

    # The rounds ---------------------------------------------------------------------------------------------------

    def _rounds(self, part: Part, tolerance: float, stop: StopFlag) -> None:
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
            if look.violation <= tolerance or self.is_over(stop):
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
            Q[fresh, : len(chosen)] += constant  # beyond are idle columns, whose numbers mean nothing
            old = np.setdiff1d(np.arange(len(chosen)), fresh)
            Q[np.ix_(old, fresh)] += constant
        Q[zero], Q[:, zero] = 0.0, 0.0

    def _next_set(self, part: Part, look: Look, size: int, last: RowIndex) -> tuple[RowIndex, RowIndex]:
        """The next working set, and the places in it that are new."""
        if size == len(part.which):  # in their own order, which slopes and coefficients keep
            return np.arange(size), np.arange(size)
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
        part: Part,
        active: ActiveRows,
        place: RowIndex,
        chosen: RowIndex,
        Q: NDArray[np.float32],
        tolerance: float,
        stop: StopFlag,
    ) -> bool:
        """Pair steps on a working set, then the slopes of all active variables; False where nothing moved."""
        whole = len(chosen) == len(part.which)
        beta, F = (part.beta, part.F) if whole else (part.beta[chosen], part.F[chosen])
        before = beta.copy()
        slots = np.arange(len(chosen))
        box = Box(
            part.lower[chosen],
            part.upper[chosen],
            part.tube[chosen],
            part.ridge[chosen],
            self.curvature[part.which[chosen]],
            part.group[chosen],
        )
        taken = pair_steps(Q, slots, beta, F, box, tolerance, self.steps_left(_INNER_STEPS), stop)[0]
        self.steps += taken
        if not whole:
            steps = beta - before
            moved = np.flatnonzero(steps)
            self._follow_active(part, active, place, chosen[moved], steps[moved])
            part.beta[chosen] = beta
        return taken > 0

    def _follow_active(self, part: Part, active: ActiveRows, place: RowIndex, moved: RowIndex, steps: Vector) -> None:
        """Slopes of the active variables after the coefficients of some moved."""
        part.F[moved] += part.ridge[moved] * steps
        given = moved < len(place)  # all but the row of zeros, which is the last
        rows, which = np.unique(place[moved[given]], return_inverse=True)
        total = np.bincount(which, weights=steps[given]).astype(np.float64)
        if len(active.rows) == len(part.F):
            active.add(rows, total, part.F)
        else:
            change = np.zeros(len(active.rows))
            active.add(rows, total, change)
            part.F[: len(place)] += change[place]
        if self.variables.constant:
            part.F[: len(place)] += self.variables.constant * float(np.sum(steps[given]))
