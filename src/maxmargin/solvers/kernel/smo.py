"""Sequential minimal optimisation with the second-order choice, shrinking and a cache of kernel rows.

The dual as a minimum over signed coefficients (`solvers.kernel.dual`), and the slope of every variable:

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

is most likely settled at its bound or its kink. It becomes idle: its slope is not kept up to date, and the cached rows
are cut to the columns of the others. Near the end, at the end, and every ten steps a variable on the way, the slopes of
all are formed afresh, in double precision, and the steps go on from there: no idle variable is trusted, nor what single
precision did meanwhile. Gap and violation are those of all variables.

It is the classic, for teaching and comparison. `Blocks`, the default, takes the same steps on small sets of variables
whose kernel matrix stays in the processor's cache.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.pair_steps import pair_steps
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.losses import Squared
from maxmargin.problems import KernelProblem, Problem, ProblemKind, Solution
from maxmargin.solvers.kernel.driver import KernelDriver
from maxmargin.solvers.kernel.dual import Extremes, KernelSolver, Variables, box_with_maximum, is_soft
from maxmargin.solvers.kernel.engine import ActiveSet, EnginePace, KernelWorkingSet
from maxmargin.solvers.kernel.host import HostEngine, HostSet
from maxmargin.solvers.kernel.values import KernelValues

_CACHE_BYTES = 200_000_000  # as in LIBSVM
_BATCH = 16  # rows that are computed at a time
_SHARE = 8  # a batch takes at most one row in so many of the cache
_PERIOD = 1000  # steps between two shrinkings
_NEAR = 10.0  # times the tolerance: there idle variables are looked at for the first time
_LEAST_STEPS, _STEPS_A_ROW = 10_000, 10  # after which all slopes are formed afresh at the latest


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
        box_with_maximum(self.name, problem)
        driver = self.driver(problem, start)
        driver.run_until_interrupted()
        return driver.solution()

    def driver(self, problem: KernelProblem, start: Solution | None = None) -> KernelDriver:
        """The driver of a problem, before its first step."""
        variables = Variables.of(problem)
        memory = _CACHE_BYTES if self.memory is None else self.memory
        engine = CachedKernelRows(problem, variables, variables.beginning(problem, start), memory, self.shrinking)
        return KernelDriver(problem, engine, self)


class CachedKernelRows(HostEngine, ActiveSet):
    """All variables; kernel rows of those that take part in steps."""

    def __init__(self, problem: KernelProblem, variables: Variables, beta: Vector, memory: int, shrinking: bool):
        v = variables
        curvature = np.where(v.rows >= 0, problem.diagonal()[v.rows] + v.constant, 0.0) + v.ridge
        super().__init__(problem, variables, curvature)
        self.pace = EnginePace(max(_LEAST_STEPS, _STEPS_A_ROW * self.size), first=_NEAR if shrinking else 0.0)
        self.cache, self.shrinking = KernelRowCache(problem, variables, memory), shrinking
        self.begin(beta)

    def begin(self, beta: Vector) -> None:
        """Slopes of these coefficients, in double precision."""
        self.beta = beta
        self.refine()

    def active(self, at: Extremes) -> CachedKernelRows:
        """All variables."""
        return self

    def working_set(self, at: Extremes) -> KernelWorkingSet:
        """The variables that are not idle."""
        return _NotIdle(self)


class _NotIdle(KernelWorkingSet):
    """Variables that take part in steps, ever fewer; the cache has kernel rows among them, or some of these."""

    def __init__(self, engine: CachedKernelRows):
        self._part: HostSet = engine
        self._engine, self._which = engine, np.arange(engine.size)
        self._until_shrinking = 0
        self._take(self._which)

    def _take(self, places: RowIndex) -> None:
        """Go on with the variables at these places, with coefficients and slopes of their own."""
        engine, part = self._engine, self._part
        self._which, self.size = self._which[places], len(places)
        box, rows = part.box.only(places), part.rows[places]
        self._part = HostSet(box, part.beta[places], part.F[places], rows, engine.n_groups)
        engine.cache.activate(self._which)

    def extremes(self) -> Extremes:
        """Smallest rise and largest fall of each group."""
        return self._part.extremes()

    def pair_steps(self, goal: float, limit: int, stop: StopFlag) -> tuple[int, bool]:
        """Pair steps until a row is missing, which is computed with some that will be next, or shrinking is due."""
        if self._until_shrinking == 0:
            self._until_shrinking = _PERIOD
            if self._engine.shrinking:
                left = self._part.unsettled(self._part.extremes(), 0.0)
                if 0 < len(left) < self.size:
                    self._take(left)
        cache, part = self._engine.cache, self._part
        before, limit = part.beta.copy(), min(limit, self._until_shrinking)
        taken, _, missing = pair_steps(cache.rows, cache.slots, part.beta, part.F, part.box, goal, limit, stop)
        self._until_shrinking -= taken
        self._engine.beta[self._which] = part.beta
        if missing < 0 and taken < limit:
            return taken, True
        cache.touch(np.flatnonzero(part.beta != before))
        if missing >= 0:
            self._fetch(missing)
        return taken, False

    def _fetch(self, missing: int) -> None:
        """The row that is missing, and those of the variables that violate most among the others without a row."""
        cache, part = self._engine.cache, self._part
        at = part.extremes()
        cache.touch(np.array([np.argmin(part.rising)]))  # which the next step will raise
        others = cache.batch - 1
        wanted = np.array([missing])
        if others > 0:
            gain: Vector = np.where(cache.slots < 0, part.gain(at), -np.inf)
            gain[missing] = -np.inf
            best = np.argpartition(-gain, others - 1)[:others] if others < len(gain) else np.arange(len(gain))
            wanted = np.append(wanted, best[gain[best] > 0.0])
        cache.fetch(wanted)

    def close(self) -> None:
        """Idle variables have no slopes, so that all are formed afresh."""
        self._engine.refine()


class KernelRowCache:
    """Kernel rows of some variables among each other, those that were used last."""

    def __init__(self, problem: KernelProblem, variables: Variables, memory: int):
        n = len(variables.rows)
        self._variables = variables
        self._values = KernelValues(problem, 0)  # which stores nothing itself
        self._buffer: NDArray[np.float32] = np.empty(min(max(memory // 4, 2 * n), n * n), dtype=np.float32)
        self._clock = 0
        self._begin(np.arange(n))

    def _begin(self, which: RowIndex) -> None:
        """No rows, and room for those of the given variables."""
        n = len(which)
        self.which = which
        self.rows = self._buffer[: min(n, len(self._buffer) // n) * n].reshape(-1, n)
        """Row of a variable in `slots`; one column a variable."""
        self.slots = np.full(n, -1, dtype=np.int64)
        """Where the row of each variable is; -1 for nowhere."""
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
        """Change the variables: rows are cut to their columns where they have all of these, or dropped."""
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
        """The rows of these variables were used now."""
        self._clock += 1
        slots = self.slots[places]
        self._used[slots[slots >= 0]] = self._clock

    def fetch(self, places: RowIndex) -> None:
        """Compute the rows of these variables, in place of those that were used longest ago."""
        slots = np.argsort(self._used, kind="stable")[: len(places)]
        gone = self._owner[slots]
        self.slots[gone[gone >= 0]] = -1
        self._owner[slots], self.slots[places] = places, slots
        rows = self._variables.rows[self.which[places]]
        given, n = rows >= 0, len(self._columns)
        self._values.fill(rows[given], self._columns, self.rows, slots[given], self._ready)
        if self._variables.constant:
            self.rows[slots[given], :n] += np.float32(self._variables.constant)
        self.rows[slots, n:] = 0.0  # the column of the row of zeros, where there is one
        self.rows[slots[~given]] = 0.0
        self.touch(places)
