"""From specifications to certified solutions: one sub-problem after the other, or several side by side.

The sub-problems of a classifier of many classes know nothing of each other. Side by side each has one thread and the
others have theirs, which needs no waiting; one after the other each shares its rows among all threads, which is better
only where there are fewer sub-problems than threads and enough rows for all. Side by side a sub-problem goes through
the same arithmetic for every number of threads.

Sub-problems on a source share its passes: one solver trains them together (`problems.shared`).

A budget of seconds is one for the whole fit: each sub-problem has what is left of it when its turn comes, those side by
side the same end. One whose turn comes too late stays where it began.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, Rows, Vector
from maxmargin.backends.scratch import reusing
from maxmargin.backends.threads import (
    at_most,
    one_blas_thread,
    raise_if_interrupted,
    run_apart,
    thread_count,
    undisturbed,
)
from maxmargin.certificates import Certificate, Point, certify, combine
from maxmargin.data import count_rows
from maxmargin.errors import NotSeparableError
from maxmargin.estimators.fitting.progress import Watch
from maxmargin.penalties import L1, L2
from maxmargin.problems import (
    History,
    LinearProblem,
    Problem,
    SharedRows,
    Solution,
    Specification,
    Status,
    is_source,
)
from maxmargin.solvers import Solver, untrained
from maxmargin.solvers.common.centring import Nearby
from maxmargin.solvers.reference.hard_margin import SeparabilityProof

_SHARED_ENTRIES = 2_000_000  # entries of X from which the passes of a single fit keep several threads busy
_MANY_ROWS = 20_000_000  # rows from which the vectors of one sub-problem at a time are memory enough
_FEW_KERNEL_ROWS = 500  # rows up to which a kernel problem takes a millisecond
_MANY_KERNEL_ROWS = 4000  # rows from which a kernel problem keeps several threads busy by itself
_LEAST_SECONDS = 1e-9  # a budget must be positive


def _nothing() -> None:
    pass


Certified: TypeAlias = Callable[[Specification, Problem, Solution], tuple[Specification, Problem]]
"""What a certificate is about, where that is known only with the answer."""


def as_it_is(specification: Specification, problem: Problem, solution: Solution) -> tuple[Specification, Problem]:
    """The problem that was asked for."""
    return specification, problem


@dataclass(frozen=True)
class Training:
    """Certified solutions of a fit, one a sub-problem."""

    certificates: tuple[Certificate, ...]
    histories: tuple[History, ...]
    on_end: Callable[[], None] = _nothing
    """What waits for the end of the fit, when the estimator holds its attributes."""
    in_same_passes: bool = False
    """Whether the sub-problems were trained in the same passes, which then count once."""

    @property
    def certificate(self) -> Certificate:
        """One certificate for all sub-problems."""
        total = combine(self.certificates)
        if not self.in_same_passes:
            return total
        return replace(total, passes=self.certificates[0].passes, seconds=self.certificates[0].seconds)

    @property
    def points(self) -> list[Point]:
        """The answers."""
        return [part.claim.point for part in self.certificates if part.claim is not None]


@dataclass(frozen=True)
class Trainer:
    """Data and solver of a fit."""

    X: Rows
    y: Labels
    sample_weight: Vector | None
    solver: Solver
    n_jobs: int | None
    watch: Watch
    certified: Certified = as_it_is
    end: float = math.inf
    """When the time is up."""
    several: bool = False
    """Whether there are several sub-problems, so that an error must name its own."""
    nearby: Nearby | None = None
    """The rows as solvers see them, where columns are far from zero."""
    checkpoint: str | None = None
    """Directory where a training on a source is saved."""

    def train(self, specifications: Sequence[Specification], starts: Sequence[Solution | None]) -> Training:
        """Build, solve and certify every sub-problem; after Ctrl-C the remaining ones stay untrained."""
        if is_source(self.X):
            return self._together(specifications)
        several = len(specifications) > 1
        n_threads = min(thread_count(self.n_jobs), len(specifications))
        side_by_side = n_threads > 1 and not self._shares_better(specifications)
        seconds = self.solver.max_seconds
        trainer = replace(self, end=math.inf if seconds is None else time.perf_counter() + seconds)
        if several:  # a layout that loops would have to copy is copied once, not once a sub-problem
            trainer = replace(trainer, X=_by_rows(self.X, specifications), several=True)
        if side_by_side:
            trainer = replace(trainer, solver=_alone(self.solver, n_threads))
        # Loops over rows bring their own threads; those of BLAS would only be in their way. Kernel matrices want them.
        are_linear = all(one.kernel is None for one in specifications)
        if are_linear and all(one.intercept.is_free and isinstance(one.penalty, L1 | L2) for one in specifications):
            trainer = replace(trainer, nearby=Nearby.of(trainer.X, self.sample_weight))
        one_each = are_linear or (several and (side_by_side or thread_count(self.n_jobs) == 1))
        with at_most(self.n_jobs), reusing(), one_blas_thread() if one_each else nullcontext():
            if side_by_side:
                jobs = [
                    partial(trainer._one, *job) for job in zip(range(len(starts)), specifications, starts, strict=True)
                ]
                parts = run_apart(jobs, n_threads)
            else:
                parts = trainer._in_turn(specifications, starts)
        return Training(tuple(part for part, _ in parts), tuple(history for _, history in parts))

    def _together(self, specifications: Sequence[Specification]) -> Training:
        """The sub-problems on a source, in the same passes."""
        shared = SharedRows(self.X, specifications, self.sample_weight)
        solver: Any = self.solver
        if self.checkpoint is not None:
            from maxmargin.estimators.fitting.checkpoints import Checkpoints

            solver = replace(solver, keeper=Checkpoints(self.checkpoint, shared))
        with self.watch.part(0) as ended:
            solutions = solver.solve_together(shared.problems)
            ended.append(solutions[0].status)
        certificates = [
            certify(*parts, tol=solver.tol, rows=None, n_rows=shared.n_rows, sample_weight=shared.weight)
            for parts in zip(specifications, shared.problems, solutions, strict=True)
        ]
        return Training(tuple(certificates), tuple(one.history for one in solutions), in_same_passes=True)

    def _shares_better(self, specifications: Sequence[Specification]) -> bool:
        """Whether each sub-problem should have all threads, one after the other."""
        n_rows = count_rows(self.X)
        if any(one.kernel is not None for one in specifications):
            # Many pairs of classes have few rows each, and side by side no thread waits for another; but waking one
            # takes longer than a very small fit.
            few = len(specifications) < 2 * thread_count(self.n_jobs)
            return n_rows <= _FEW_KERNEL_ROWS or (n_rows > _MANY_KERNEL_ROWS and few)
        entries = self.X.nnz if sparse.issparse(self.X) else self.X.size
        fewer = len(specifications) < thread_count(self.n_jobs)
        return n_rows > _MANY_ROWS or (fewer and entries >= _SHARED_ENTRIES)

    def _in_turn(
        self, specifications: Sequence[Specification], starts: Sequence[Solution | None]
    ) -> list[tuple[Certificate, History]]:
        parts: list[tuple[Certificate, History]] = []
        for number, (specification, start) in enumerate(zip(specifications, starts, strict=True)):
            interrupted = any(part.status is Status.INTERRUPTED for part, _ in parts)
            parts.append(self._one(number, specification, start, skip=interrupted))
        return parts

    def _one(
        self, number: int, specification: Specification, start: Solution | None, *, skip: bool = False
    ) -> tuple[Certificate, History]:
        """Certificate and history of one sub-problem, untrained where it is to be skipped or its time is up."""
        problem, rows = specification.problem(self.X, self.y, self.sample_weight)
        solution = None
        try:
            if not skip:
                raise_if_interrupted()
                with self.watch.part(number) as ended:
                    solution = self._solved(number, problem, start)
                    ended.append(solution.status)
        except KeyboardInterrupt:  # outside the loops that know how to stop: nothing was found yet
            solution = None
        except NotSeparableError as error:
            multipliers = np.zeros(len(self.y))
            multipliers[slice(None) if rows is None else rows] = error.multipliers
            proof = SeparabilityProof(specification, len(self.y), self.sample_weight)
            which = f"class {specification.task}: " if self.several else ""
            raise NotSeparableError(f"{which}{error}", multipliers, error.margin_bound, proof) from None
        with undisturbed():  # what was found is certified, also after Ctrl-C
            if solution is None:
                solution = untrained(problem, self.solver.name, Status.INTERRUPTED)
            certificate = certify(
                *self.certified(specification, problem, solution),
                solution,
                tol=self.solver.tol,
                rows=rows,
                n_rows=len(self.y),
                sample_weight=self.sample_weight,
            )
        return certificate, solution.history

    def _solved(self, number: int, problem: Problem, start: Solution | None) -> Solution:
        """The solver's answer in the time that is left; the first sub-problem always gets a try."""
        solver = self.solver
        if not math.isinf(self.end):
            left = self.end - time.perf_counter()
            if left <= 0.0 and number > 0:
                late = untrained(problem, solver.name, Status.BUDGET) if start is None else start
                return replace(late, solver=solver.name)
            solver = replace(solver, max_seconds=max(left, _LEAST_SECONDS))
        if self.nearby is None:
            return solver.solve(problem, start)
        assert isinstance(problem, LinearProblem)
        start = None if start is None else self.nearby.start(start)
        return self.nearby.solution(solver.solve(self.nearby.problem(problem), start), problem)


def _alone(solver: Solver, n_threads: int) -> Solver:
    """The solver with one thread of several, and its share of the memory."""
    names = {field.name for field in fields(solver)}
    change: dict[str, Any] = {"n_jobs": 1} if "n_jobs" in names else {}
    memory = getattr(solver, "memory", None)
    if memory is not None:
        change["memory"] = max(1, memory // n_threads)
    return replace(solver, **change)


def _by_rows(X: Rows, specifications: Sequence[Specification]) -> Rows:
    """X as loops over rows take it, so that no sub-problem copies it for itself; a kernel takes any layout."""
    if any(one.kernel is not None for one in specifications):
        return X
    if not sparse.issparse(X):
        return np.ascontiguousarray(X)
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    return sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape, copy=False)
