"""One training from a source: rounds, estimates between them, and exact checks.

A round is a pass of the source's blocks in random order; the trainers differ in what they do with the rows while these
are in memory. Rows are visited in random order, over all of the memory: next to each other in a file are often rows
that pull the same way, and steps on one such lot after the other would undo each other.

Each row is visited at least once a round and measured at its first visit: its loss, and its violation of the conditions
of optimality. The losses were measured while w moved, so their sum makes an estimate of P; D is computed from the
coefficients alone. When the estimated gap and the violations are within the tolerance, one pass more computes the exact
ones (`certificates.assessment`), and if these are not within it the training goes on. Where the rounds get nowhere and
features are few, it goes on with Newton steps (`newton`).

The point after any step is feasible, so a round may be left anywhere: for a budget, Ctrl-C or a checkpoint.

Sub-problems know nothing of each other's steps, so several threads can share them; a row rests when it is settled in
all of them.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maxmargin._loops.streams import Sweep, visit_rows
from maxmargin._types import Vector
from maxmargin.backends.threads import StopFlag, run_together, thread_count
from maxmargin.certificates.assessment import Assessment, assess_together, combine_together
from maxmargin.certificates.certificate import relative
from maxmargin.data import squared_norms
from maxmargin.errors import TOO_LARGE, DataError
from maxmargin.problems import History, SharedRows, Solution, Status
from maxmargin.problems.shared import MEMORY, rows_of
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.centring import far_columns
from maxmargin.solvers.streams.cache import Places, RowCache, State
from maxmargin.solvers.streams.newton import NewtonSteps, has_room
from maxmargin.solvers.streams.state import (
    BlocksLeft,
    Keeper,
    Place,
    ProgressRate,
    Standstill,
    StreamedPoint,
    begin_pass,
    end_sweep,
    new_sweep,
    share,
)

if TYPE_CHECKING:
    from maxmargin.solvers.streams.trainers import StreamSolver

_IN_PASSING = 12  # this part of the memory is left for what is computed in passing
_AT_MOST = 4  # this part, where blocks are so large beside the memory that they would leave too little for rows
_MARKS = 2  # bytes a row: whether it is in the cache, and whether it was seen in this pass
_FOR_READERS = 8  # this part of the memory, at most, is for all readers but the first
_LARGE = 1 << 26  # bytes: less is never too much
_ROUNDS = 1000
_STRICTER = 0.5  # factor on what an estimate must reach after one that was wrong
_MUCH_STRICTER = 0.02  # the same where nothing moves any more
_STRICTEST = 1e-9  # what can be asked for at all
PIECE = 50_000  # rows that are visited between two readings of the clock
SWEEPS = 10  # over what is in memory, at most, before anything else is done
_STUCK = 3  # times that Newton steps may get stuck
_SETTLED = 0.1  # of what is needed: slopes below it are left as they are


class Worker(Protocol):
    """Does the rounds of one training."""

    def round(self, stop: StopFlag) -> None:
        """One pass over the blocks that `training.blocks_left()` gives, with all training that goes with it."""


class StreamTraining:
    """The state of one training."""

    def __init__(self, solver: StreamSolver, shared: SharedRows, keeper: Keeper | None):
        self.solver, self.shared, self.keeper = solver, shared, keeper
        self.n_trainers = min(len(shared.specifications), thread_count(solver.n_jobs))
        self.memory = solver.memory or MEMORY
        self.buffers = self._new_buffers()
        first = shared.read(0, self.buffers[0])
        in_hand = self.memory // _IN_PASSING + sum(getattr(one, "n_bytes", 0) for one in self.buffers)
        in_hand += _MARKS * shared.n_rows
        self.cache = RowCache(self.memory - min(in_hand, self.memory // _AT_MOST), first.X, shared.n_rows)
        size = float(np.sqrt(np.mean(squared_norms(rows_of(first.X))))) or 1.0
        if np.isinf(size):
            raise DataError(TOO_LARGE)
        self.may_step = solver.has_newton and has_room(shared, self.memory)
        may_centre = self.may_step and shared.intercept.is_free
        self.centre = far_columns(rows_of(first.X), first.cost) if may_centre else None
        self.point = StreamedPoint.zero(shared, size, solver.random_state)
        self.place = Place()
        self.sweep = new_sweep(self.point)
        self.n_counted = shared.count()
        self.total = History()
        self.histories = [History() for _ in range(self.point.n_parts)]
        self.status = Status.BUDGET
        self.assessments: list[Assessment] | None = None
        self.certified, self.certified_intercepts = self.point.weights, self.point.intercepts
        self.needed = 1.0
        self.is_restored = keeper is not None and keeper.restore(self.point, self.place)
        self.duals = self.point.duals

    def _new_buffers(self) -> list[Any]:
        """Memory to read into, for as many readers as there are threads and room."""
        one = self.shared.buffers()
        most = max(1, self.memory // _FOR_READERS // max(1, getattr(one, "n_bytes", 0)))
        n_readers = min(self.solver.n_readers(self.n_trainers), most)
        return [one, *(self.shared.buffers() for _ in range(n_readers - 1))]

    def run(self, stop: StopFlag) -> None:
        """Rounds until the gap, a budget or Ctrl-C ends them."""
        seconds = self.solver.max_seconds
        self.end = np.inf if seconds is None else time.perf_counter() + seconds
        self.status = self._run(stop)

    def _run(self, stop: StopFlag) -> Status:
        may_step = self.may_step
        worker, rate, standstill = self.solver.worker(self), ProgressRate(), Standstill()
        is_between = self.is_restored and self.place.position == 0  # of rounds, or at the end of a training
        if is_between and (self._check() or (may_step and self.place.stiffness and self._newton(stop))):
            return Status.CONVERGED
        while not self.is_spent(stop):
            is_whole = self.place.position == 0
            moved = self._round(worker, stop)
            if self.is_over(stop):
                return Status.BUDGET
            # While the centre of a free intercept moves, rows come nearer to their conditions with the dual at rest:
            # by little where C is small, because it moves by s^2 sum_i beta_i.
            dual, violation = float(np.sum(self.point.dual_values())), float(np.max(self.sweep.violation))
            is_at_rest = standstill.has_come(dual, violation) and moved <= self.settled
            if (is_at_rest or (is_whole and self._seems_done())) and self._check():
                return Status.CONVERGED
            is_slow = is_whole and rate.is_hopeless(self._times_needed(), is_read=not self.holds_all)
            if may_step and (is_at_rest or is_slow):
                may_step, before = False, self.total.relative_gap
                if self._newton(stop):
                    return Status.CONVERGED
                if not self.is_spent(stop) and self.total.relative_gap < before:
                    return Status.STALLED  # rounds have weights of their own, and would lose it again
                standstill.forget()
            elif is_at_rest:  # rows are settled, and the gap is not: let them settle better
                if self.needed < _STRICTEST:
                    return Status.STALLED
                self.needed *= _MUCH_STRICTER
                standstill.forget()
            self.keep()
        return Status.BUDGET

    def _round(self, worker: Worker, stop: StopFlag) -> float:
        """All rows once, unless time is up; returns how far the centre of a free intercept moved."""
        begin_pass(self.sweep)
        self.cache.wake()
        self.assessments, self.certified = None, self.point.weights
        worker.round(stop)
        if self.is_over(stop):
            return 0.0
        self.place = Place(self.place.round + 1, 0, self.place.passes)
        return self.point.move_centre()

    def _times_needed(self) -> float:
        """The gap or the violation at the last evaluation, whichever is larger, by what it should be."""
        return max(self.total.relative_gap, self.total.violation or 0.0) / (self.needed * self.solver.tol)

    def _newton(self, stop: StopFlag) -> bool:
        """Newton steps in place of rounds, with a check after them; whether it finds what is needed.

        Steps that get stuck go on from there a few times: with other centres, and room for another sigma.
        """
        self.cache.give_back()
        steps = NewtonSteps(self)
        n_stuck = 0
        while n_stuck < _STUCK and not self.is_spent(stop):
            self.assessments = None
            n_stuck += not steps.run(min(1.0, self.needed) * self.solver.tol, stop)
            if not self.is_spent(stop) and self._check():
                return True
        return False

    @property
    def settled(self) -> float:
        """The slope of a row that is as good as none; less after a check that found the gap too large.

        Where C is large a gap is many times the slopes: sum_i C_i times what each row is off.
        """
        return _SETTLED * self.needed * self.solver.tol

    def is_over(self, stop: StopFlag) -> bool:
        """Whether time is up or somebody asked to stop."""
        return bool(stop[0]) or time.perf_counter() > self.end

    def is_spent(self, stop: StopFlag) -> bool:
        """Whether time is up, all passes are made, or somebody asked to stop."""
        return self.is_over(stop) or self.place.passes >= (self.solver.max_iter or _ROUNDS)

    def keep(self) -> None:
        """Save a checkpoint, if one is due."""
        if self.keeper is not None:
            self.keeper.keep(self.point, self.place)

    @property
    def holds_all(self) -> bool:
        """Whether every row that counts is in the cache, so that nothing needs to be read."""
        return self.cache.n_present == self.n_counted

    def blocks_left(self) -> BlocksLeft:
        """The blocks of this round that nobody has read, in its random order; none where the cache has all rows."""
        if self.holds_all:
            self.place.passes += 1.0
            return BlocksLeft(self.shared, [], self.place)
        order = self.shared.shuffled(self.generator(0))
        return BlocksLeft(self.shared, order[self.place.position :].tolist(), self.place)

    def generator(self, purpose: int) -> np.random.Generator:
        """Random numbers of this round, the same ones after a checkpoint."""
        return np.random.default_rng([int(self.point.random[0]), self.place.round, purpose])

    def visit(self, places: Places, stop: StopFlag) -> None:
        """Steps on the rows at the places, in this order."""
        cached, sweep = self.cache.cached, self.sweep
        n_parts, n_shares = self.point.n_parts, self.n_trainers
        found = np.zeros((n_shares, 2, len(places)))

        def visit_share(k: int, stop: StopFlag) -> None:
            parts = slice(k * n_parts // n_shares, (k + 1) * n_parts // n_shares)
            duals, part_sweep = share(self.duals, sweep, parts)
            visit_rows(cached, places, duals, part_sweep, found[k, 0], found[k, 1], stop)

        if n_shares == 1:
            visit_share(0, stop)
        else:
            run_together([partial(visit_share, k) for k in range(n_shares)])
        slack, beyond = np.min(found, axis=0)
        cached.slack[places] = np.maximum(slack, 0.0)
        cached.rests[places] = (beyond > 0.0) & self.solver.eviction
        sweep.seen[cached.number[places]] = 1

    def take_over(self, measured: Sweep) -> None:
        """Add what another thread has measured."""
        self.sweep.loss[:] += measured.loss
        np.maximum(self.sweep.violation, measured.violation, out=self.sweep.violation)

    def sweeps(self, count: int, rng: np.random.Generator, stop: StopFlag) -> None:
        """Passes over all rows in the cache, in random order, until they are settled."""
        self.sweep.limit[:] = np.inf
        self.cache.wake()
        for _ in range(count):
            places = rng.permutation(self.cache.places(State.FRESH, State.VISITED))
            for piece in np.array_split(places, 1 + len(places) // PIECE):
                if self.is_over(stop):
                    return
                self.visit(piece, stop)
            self.keep()
            steepest = float(np.max(self.sweep.steepest))
            end_sweep(self.sweep)
            if steepest <= self.settled:
                break
        for segment in self.cache.of_state(State.FRESH):
            segment.state = State.VISITED

    def _seems_done(self) -> bool:
        """Record what the round has measured; whether it is within the tolerance."""
        primal = self.point.primal_values(self.sweep.loss)
        dual = self.point.dual_values()
        self.record(primal, dual, float(np.max(self.sweep.violation)), estimated=True)
        gaps = (primal - dual) / np.maximum(np.abs(primal), 1e-300)
        bound = self.needed * self.solver.tol
        return bool(np.all(gaps <= bound) and np.all(self.sweep.violation <= bound))

    def _check(self) -> bool:
        """Compute the gap exactly; whether it is within the tolerance."""
        self.assess()
        assert self.assessments is not None
        tol, parts = self.solver.tol, self.assessments
        values = [np.array([getattr(part, name) for part in parts]) for name in ("primal", "dual")]
        self.record(values[0], values[1], max(part.kkt_violation for part in parts), estimated=False)
        self.needed *= _STRICTER
        return all(
            relative(part.gap, part.primal, part.rounding) <= tol and part.kkt_violation <= tol for part in parts
        )

    def assess(self) -> None:
        """What is exactly known of the present point; its weights are then those of its coefficients."""
        point = self.point
        point.balance()
        # The sums of a certificate take as much again as the weights.
        is_large = 2 * point.weights.nbytes > max(self.memory // _IN_PASSING, _LARGE)
        if is_large:
            self.cache.give_back()
            combine_together(self.shared, point.beta, point.weights, self.buffers[0])
            self.place.passes += 1.0
        intercepts = [float(b) for b in point.intercepts]
        found = assess_together(
            self.shared.problems, point.beta, point.weights, intercepts, self.buffers[0], are_combined=is_large
        )
        self.place.passes += 1.0
        self.assessments, self.certified, self.certified_intercepts = found.parts, point.weights, np.array(intercepts)
        point.rebuilt(found.combinations)
        self.duals = point.duals

    def record(self, primal: Vector, dual: Vector, violation: float, *, estimated: bool) -> None:
        """One check of all sub-problems; who listens hears of their sum."""
        with listening(None):
            for history, p, d in zip(self.histories, primal, dual, strict=True):
                history.record(self.place.passes, p, d, estimated=estimated)
        sums = float(np.sum(primal)), float(np.sum(dual))
        self.total.record(self.place.passes, *sums, estimated=estimated, violation=violation)

    def solutions(self, status: Status) -> list[Solution]:
        """The point reached, one solution a sub-problem, assessed."""
        if self.assessments is None:
            self.assess()
        assert self.assessments is not None
        if self.keeper is not None:
            self.keeper.keep(self.point, self.place, now=True)
        elapsed = self.total.elapsed
        return [
            Solution(
                alpha=self.point.beta[p],
                weights=self.certified[p],
                bias=float(self.certified_intercepts[p]),
                status=status,
                history=self.histories[p],
                solver=self.solver.name,
                passes=self.place.passes,
                seconds=elapsed,
                assessment=assessment,
            )
            for p, assessment in enumerate(self.assessments)
        ]
