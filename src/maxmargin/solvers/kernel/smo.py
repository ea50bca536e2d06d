"""Sequential minimal optimisation with the second-order choice, shrinking and a cache of kernel rows.

The dual as a minimum over signed coefficients (`solvers.kernel.dual_variables`), and the slope of every variable:

    minimise over beta    1/2 beta' K beta - target' beta + sum_i tube_i |beta_i| + 1/2 sum_i ridge_i beta_i^2
    subject to            lower_i <= beta_i <= upper_i, the sum of beta kept

    F = K beta + ridge beta - target

Platt's method, with the choice of Fan, Chen and Lin (JMLR 2005) that LIBSVM made the standard:

    repeat
        i <- the variable with the smallest slope of a rise
        j <- the variable whose fall, paired with the rise of i, promises most
        raise i and lower j by the best length, cut at their bounds
        F <- F + length (K_i - K_j)
    until no rise lies below a fall by more than the tolerance

A step needs two rows of K. They are computed on demand and kept in `memory` bytes, single precision; when those are
full, the row that was used longest ago gives way. Whenever one is missing, a few of those that will be asked for next
come with it, because a batch costs far less than its rows one by one.

Shrinking. A variable that no violating pair can contain,

    slope of its rise > largest slope of a fall, and slope of its fall < smallest slope of a rise,

is most likely settled at its bound or its kink. It becomes idle: its slope is not followed, and the cached rows are cut
to the columns of the others. Near the end, at the end, and every ten steps a variable on the way, the slopes of all are
formed afresh, in double precision, and the steps go on from there: no idle variable is trusted, nor what single
precision did meanwhile. Gap and violation are those of all variables.

It is the classic, for teaching and comparison. `solvers.kernel.blocks`, the default, takes the same steps on small sets
of variables whose kernel matrix stays in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import Box, pair_steps
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.errors import ParameterError
from maxmargin.losses import Squared
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.kernel.ascent import Ascent, Look, Part
from maxmargin.solvers.kernel.dual_variables import Variables
from maxmargin.solvers.kernel.kernel_solver import KernelSolver, is_definite, is_soft
from maxmargin.solvers.kernel.values import KernelValues

_CACHE_BYTES = 200_000_000  # as in LIBSVM
_BATCH = 16  # rows that are computed at a time
_SHARE = 8  # a batch takes at most one row in so many of the cache
_PERIOD = 1000  # steps between two shrinkings
_NEAR = 10.0  # times the tolerance: there idle variables are looked at for the first time
_FURTHER = 0.5  # of the violation at which the gap, which follows it, would be within the tolerance
_LEAST_STEPS, _STEPS_A_ROW = 10_000, 10  # after which all slopes are formed afresh at the latest
_BRIEF = 500  # rows up to which a fit takes milliseconds


@dataclass(frozen=True)
class SMO(KernelSolver):
    """Pair steps among all variables, with kernel rows from a cache.

    memory
        Bytes for kernel rows; 200 MB when None. Two rows are always kept.
    shrinking
        Whether variables that seem settled are left aside until the end.

    max_iter is a number of pair steps; no limit when None.
    """

    memory: int | None = None
    shrinking: bool = True
    name: ClassVar[str] = "smo"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the dual has multipliers that come to rest: those of squared errors never do."""
        return is_soft(problem) and problem.nu is None and not isinstance(problem.loss, Squared)

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit."""
        if problem.nu is None:
            return super().refusal(problem)
        return (
            "solver='smo' is for machines with a cost C, not for those with nu (NuSVC, NuSVR, OneClassSVM). "
            "Use solver='auto' for these."
        )

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from beta = 0, or from the coefficients of `start`."""
        problem = self.checked(problem)
        ascent = _Steps(problem, self, start)
        if np.any(np.isinf(ascent.all.upper[: problem.n_rows])) and not is_definite(problem):
            raise ParameterError(
                f"solver='smo' needs a kernel matrix without negative eigenvalues for the {problem.loss.name} loss, "
                f"whose multipliers have no bounds: the dual of {problem.objective} may have no maximum. Use the "
                "hinge or the epsilon-insensitive loss, or another kernel. See `maxmargin.kernels.mercer_check`."
            )
        _, interrupted = run_until_interrupted(ascent.run, brief=problem.n_rows <= _BRIEF)
        return ascent.solution(Status.INTERRUPTED if interrupted else ascent.status)


class RowCache:
    """Kernel rows of active variables among each other, those that were used last."""

    def __init__(self, problem: KernelProblem, variables: Variables, memory: int):
        n = len(variables.rows)
        self._variables = variables
        self._values = KernelValues(problem, 0)  # which stores nothing itself
        self._buffer: NDArray[np.float32] = np.empty(min(max(memory // 4, 2 * n), n * n), dtype=np.float32)
        self._clock = 0
        self.computed = 0
        """Rows that were computed."""
        self._begin(np.arange(n))

    def _begin(self, which: RowIndex) -> None:
        """No rows, and room for those of the given variables."""
        n = len(which)
        self.which = which
        self.rows = self._buffer[: min(n, len(self._buffer) // n) * n].reshape(-1, n)
        """Row of a variable in `slots`; one column an active variable."""
        self.slots = np.full(n, -1, dtype=np.int64)
        """Where the row of each active variable is; -1 for nowhere."""
        self._owner = np.full(len(self.rows), -1, dtype=np.int64)
        self._used = np.full(len(self.rows), -1, dtype=np.int64)
        given = self._variables.rows[which]
        self._columns = given[given >= 0]
        self._ready = self._values.ready(self._columns)

    @property
    def batch(self) -> int:
        """Rows to compute at a time, few enough that none of the last batch gives way to them."""
        return max(1, min(_BATCH, len(self.rows) // _SHARE))

    def activate(self, which: RowIndex) -> None:
        """Change the active variables: rows are cut to their columns where they have all of these, or dropped."""
        if np.array_equal(which, self.which):
            return
        places = np.minimum(np.searchsorted(self.which, which), len(self.which) - 1)
        slots, rows, used = self.slots[places], self.rows, self._used
        has_all = bool(np.all(self.which[places] == which))
        self._begin(which)
        if not has_all:
            return
        owners = np.flatnonzero(slots >= 0)
        owners = owners[np.argsort(slots[owners])]
        # A row moves to the left, over places that were read before.
        for slot, owner in enumerate(owners):
            self.rows[slot] = rows[slots[owner]][places]
        self.slots[owners] = np.arange(len(owners))
        self._owner[: len(owners)], self._used[: len(owners)] = owners, used[slots[owners]]

    def touch(self, places: RowIndex) -> None:
        """The rows of these active variables were used now."""
        self._clock += 1
        slots = self.slots[places]
        self._used[slots[slots >= 0]] = self._clock

    def fetch(self, places: RowIndex) -> None:
        """Compute the rows of these active variables, in place of those that were used longest ago."""
        slots = np.argsort(self._used, kind="stable")[: len(places)]
        gone = self._owner[slots]
        self.slots[gone[gone >= 0]] = -1
        self._owner[slots], self.slots[places] = places, slots
        rows = self._variables.rows[self.which[places]]
        given, n = rows >= 0, len(self._columns)
        self._values.fill_ready(rows[given], self._ready, self._columns, self.rows, slots[given])
        if self._variables.constant:
            self.rows[slots[given], :n] += np.float32(self._variables.constant)
        self.rows[slots, n:] = 0.0  # the column of the row of zeros, where there is one
        self.rows[slots[~given]] = 0.0
        self.computed += len(places)
        self.touch(places)


class _Steps(Ascent):
    """Pair steps among the active variables, and the look at all."""

    settings: SMO

    def __init__(self, problem: KernelProblem, settings: SMO, start: Solution | None):
        super().__init__(problem, settings, start)
        v, memory = self.variables, settings.memory
        self.cache = RowCache(problem, v, _CACHE_BYTES if memory is None else memory)
        self.curvature = np.where(v.rows >= 0, problem.diagonal()[v.rows] + v.constant, 0.0) + v.ridge

    def run(self, stop: StopFlag) -> None:
        """Searches until the gap and the violation of all variables are within the tolerance."""
        while not stop[0]:
            self._form_slopes()
            look = self.all.look()
            relative, dual = self.gap(look)
            if self.is_optimal(look, relative):
                self.status = Status.CONVERGED
                return
            if self.is_over(stop):
                return
            before = self.steps
            if not self.is_stalled(dual, relative):
                self._search(self._goal(look, relative), stop)
            if self.steps == before and not self.is_over(stop):
                self.status = Status.STALLED
                return

    def _form_slopes(self) -> None:
        """Slopes of all variables, afresh and in double precision."""
        v, whole = self.variables, self.all
        beta = v.combined(whole.beta)
        scores = self.problem.scores(beta) + v.constant * float(np.sum(beta))
        whole.F = np.where(v.rows >= 0, scores[v.rows], 0.0) - v.target + v.ridge * whole.beta

    def _goal(self, look: Look, relative_gap: float) -> float:
        """Violation at which the next search ends."""
        tolerance = self.tolerance(look)
        if look.violation <= tolerance:  # it is the gap that asks for more
            return _FURTHER * look.violation * min(1.0, self.settings.tol / relative_gap)
        is_far = self.settings.shrinking and look.violation > _NEAR * tolerance
        return _NEAR * tolerance if is_far else tolerance

    def _search(self, goal: float, stop: StopFlag) -> None:
        """Steps until the violation among the active variables is down to the goal, or a look at all is due."""
        whole, cache = self.all, self.cache
        n = len(whole.which)
        # From zero, slopes tell nothing yet about who will be settled.
        part = whole if self.steps == 0 else self._shrunk(whole)
        next_shrinking = self.steps + _PERIOD
        last = self.steps + max(_LEAST_STEPS, _STEPS_A_ROW * n)
        box = self._activate(part)
        while self.steps < last and not self.is_over(stop):
            before = part.beta.copy()
            most = self.steps_left(next_shrinking - self.steps)
            taken, _, missing = pair_steps(cache.rows, cache.slots, part.beta, part.F, box, goal, most, stop)
            self.steps += taken
            whole.beta[part.which] = part.beta
            if missing < 0 and taken < most:
                return
            cache.touch(np.flatnonzero(part.beta != before))
            if missing >= 0:
                self._fetch(part, missing)
            if self.steps >= next_shrinking:
                next_shrinking += _PERIOD
                part = self._shrunk(part)
                box = self._activate(part)

    def _shrunk(self, part: Part) -> Part:
        """The part without the variables that no violating pair can contain."""
        if not self.settings.shrinking:
            return part
        look = part.look()
        is_idle = (part.rising > look.high[0]) & (part.falling < look.low[0])
        if not np.any(is_idle) or np.all(is_idle):
            return part
        smaller = Part(self.variables, part.which[~is_idle], self.all)
        smaller.F = part.F[~is_idle]  # `all` has the slopes of the last look
        return smaller

    def _activate(self, part: Part) -> Box:
        """Room in the cache for the rows of a part, and its bounds."""
        self.cache.activate(part.which)
        return Box(part.lower, part.upper, part.tube, part.ridge, self.curvature[part.which], part.group)

    def _fetch(self, part: Part, missing: int) -> None:
        """The row that is missing, and those of the variables that violate most among the others without a row."""
        cache = self.cache
        look = part.look()
        cache.touch(np.array([np.argmin(part.rising)]))  # which the next step will raise
        others = cache.batch - 1
        wanted = np.array([missing])
        if others > 0:
            gain: Vector = np.where(cache.slots < 0, part.gain(look), -np.inf)
            gain[missing] = -np.inf
            best = np.argpartition(-gain, others - 1)[:others] if others < len(gain) else np.arange(len(gain))
            wanted = np.append(wanted, best[gain[best] > 0.0])
        cache.fetch(wanted)
