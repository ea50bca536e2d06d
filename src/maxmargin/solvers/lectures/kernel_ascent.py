"""Ascent on the dual of a kernel machine in passes over its multipliers: what the lectures' solvers have in common.

    P = 1/2 beta' f + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i + b)            f = K beta
    D = -1/2 beta' f - 1/2 (s sum_i beta_i)^2 - sum_i C_i l_{y_i}*(-beta_i / C_i)

Passes change the multipliers alpha and the scores f together. After some of them, ever more, an evaluation forms the
scores afresh, so that the rounding of many updates does not add up, and tells by the gap and the conditions of
optimality whether to stop. The certificate at the end trusts none of it. For a kernel that is not positive semidefinite
D bounds nothing, and the conditions alone decide.

Rows of the kernel matrix are in double precision: all kept where they fit, else as many at a time as a tile holds. Kept
rows are computed when they are first asked for: a fit begins at once, and can end before the matrix is whole.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np

from maxmargin._types import Matrix, RowIndex, Vector
from maxmargin.backends.threads import StopFlag, run_until_interrupted
from maxmargin.data import as_double
from maxmargin.data.source import blocks
from maxmargin.kernels.panels import Panels
from maxmargin.losses import DualBox, ResidualLoss
from maxmargin.problems import History, KernelProblem, Solution, Status, best_intercept
from maxmargin.solvers.common.feasible import balanced, feasible
from maxmargin.solvers.common.solver import Solver

PASSES = 10_000
"""What max_iter=None means: far more than a problem needs that these solvers are for."""
MATRIX_BYTES = 1 << 30
"""A matrix of at most this size is kept: one of 11,585 rows."""
_TILE_BYTES = 1 << 25  # which a loop goes through in milliseconds
_PATIENCE = 3  # evaluations in a row that find nothing better, before it is believed


class KernelPoint(NamedTuple):
    """Feasible multipliers, and what their scores tell of them."""

    alpha: Vector
    scores: Vector
    """f_i, without the intercept."""
    bias: float
    primal: float
    dual: float
    violation: float
    is_convex: bool

    @classmethod
    def of(cls, problem: KernelProblem, alpha: Vector, scores: Vector) -> KernelPoint:
        """The point with the best intercept, where that is free."""
        loss, y, C, s = problem.loss, problem.targets, problem.costs, problem.intercept.scale
        beta = problem.coefficients(alpha)
        if problem.intercept.is_free:
            b, constant = float(np.asarray(best_intercept(loss, scores, y, C))), 0.0
        else:
            total = float(np.sum(beta))
            b, constant = s**2 * total, 0.5 * (s * total) ** 2
        half = 0.5 * float(beta @ scores) + constant
        slopes = -beta / C
        return cls(
            alpha=alpha,
            scores=scores,
            bias=b,
            primal=half + float(C @ loss.score_value(scores + b, y)),
            dual=-half - float(C @ loss.score_conjugate(slopes, y)),
            violation=float(np.max(loss.score_violation(scores + b, slopes, y))),
            is_convex=problem.is_convex,
        )

    @property
    def bound(self) -> float:
        """The dual value as a bound for the primal one: not a number where it is none."""
        return self.dual if self.is_convex else math.nan

    def is_within(self, tol: float) -> bool:
        """Whether the gap, where there is one, and the KKT violation are within the tolerance."""
        is_close = not self.is_convex or self.primal - self.dual <= tol * abs(self.primal)
        return is_close and self.violation <= tol


class KernelAscent(ABC):
    """A solver at work on one problem."""

    def __init__(self, solver: Solver, problem: KernelProblem, box: DualBox, start: Solution | None, matrix_bytes: int):
        self.history = History()
        self.solver, self.problem, self.box = solver, problem, box
        self.rows = MatrixTiles(problem, matrix_bytes)
        self.n = problem.n_rows
        self.signs = problem.coefficients(np.ones(self.n))
        self.alpha = np.zeros(self.n) if start is None else feasible(problem, start.alpha, box)
        self.scores = np.zeros(self.n)
        self.passes, self.quiet_passes = 0.0, 0
        self.moved, self.moved_in_pass = 0, 0  # steps that changed something since the last evaluation, in this pass
        self.max_passes = PASSES if solver.max_iter is None else solver.max_iter
        self.max_seconds = math.inf if solver.max_seconds is None else solver.max_seconds

    @abstractmethod
    def visit(self, rows: slice, stop: StopFlag) -> int:
        """The steps of a part of a pass; how many changed something."""

    @abstractmethod
    def end_pass(self) -> bool:
        """A whole pass is over; whether the next evaluation should come at once."""

    @abstractmethod
    def settle(self, at: KernelPoint) -> None:
        """The point from which the passes go on."""

    @abstractmethod
    def is_stuck(self) -> bool:
        """Whether the last passes show that no others will do better."""

    def climb(self) -> Solution:
        """Passes and evaluations until the tolerance is reached or something else ends them."""
        at, patience, status = self._evaluated(in_time=True), _PATIENCE, None
        try:
            while status is None:
                self.history.record(self.passes, at.primal, at.bound)
                status = self._verdict(at, patience)
                if status is not None:
                    break
                self.settle(at)
                self.moved = 0
                _, interrupted = run_until_interrupted(self._run)
                before, at = at, self._evaluated(in_time=self.history.elapsed <= self.max_seconds)
                is_better = at.dual > before.dual or at.violation < before.violation or self.moved == 0
                patience = _PATIENCE if is_better else patience - 1
                if interrupted:
                    self.history.record(self.passes, at.primal, at.bound)
                    status = Status.INTERRUPTED
        except KeyboardInterrupt:  # during an evaluation: the point before it stays
            status = Status.INTERRUPTED
        name, elapsed = self.solver.name, self.history.elapsed
        return Solution(at.alpha, None, None, status, self.history, name, self.passes, elapsed)

    def _verdict(self, at: KernelPoint, patience: int) -> Status | None:
        """How it ends here, or None where it goes on."""
        if at.is_within(self.solver.tol):
            return Status.CONVERGED
        if self._is_over():
            return Status.BUDGET
        return Status.STALLED if patience == 0 or self.is_stuck() else None

    def _is_over(self) -> bool:
        return self.passes >= self.max_passes or self.history.elapsed > self.max_seconds

    def _run(self, stop: StopFlag) -> None:
        """Passes up to the next evaluation: one at first, later a quarter of those done."""
        due = min(self.passes + max(1.0, self.passes // 4), self.max_passes)
        done = round(self.passes)
        while done < due:
            for piece in self.rows.pieces(self.n):
                if stop[0] != 0 or self._is_over():
                    return
                if piece.start == 0:
                    self.moved_in_pass = 0
                moved = self.visit(piece, stop)
                self.moved_in_pass, self.moved = self.moved_in_pass + moved, self.moved + moved
                self.passes += (piece.stop - piece.start) / self.n
            done += 1
            self.passes = float(done)
            self.quiet_passes = 0 if self.moved_in_pass else self.quiet_passes + 1
            if self.end_pass():
                return

    def _evaluated(self, *, in_time: bool) -> KernelPoint:
        """Form the scores afresh; a free intercept's balance loses the rounding of many steps, too.

        When time is up the scores that the steps kept are good enough, unless they say that it is done.
        """
        if self.problem.intercept.is_free:
            self.alpha = balanced(self.alpha, self.signs, self.box)
        if not in_time:
            at = KernelPoint.of(self.problem, self.alpha.copy(), self.scores)
            if not at.is_within(self.solver.tol):
                return at
        self.scores = self.rows.scores(self.signs * self.alpha)
        return KernelPoint.of(self.problem, self.alpha.copy(), self.scores)


def own_terms(problem: KernelProblem) -> Vector:
    """o_i of the dual: the target of a residual loss, which -l_y*(-beta / C) has as y beta, and 0 for a margin."""
    return problem.targets if isinstance(problem.loss, ResidualLoss) else np.zeros(problem.n_rows)


class Tile(NamedTuple):
    """Kernel rows for a loop: K[places[t]] is that of the t-th row asked for."""

    K: Matrix
    places: RowIndex


class MatrixTiles:
    """k(x_i, x_j) for some i and every j."""

    def __init__(self, problem: KernelProblem, matrix_bytes: int):
        self.problem, self.n = problem, problem.n_rows
        self.tile_bytes = min(_TILE_BYTES, matrix_bytes)
        self.diagonal = problem.diagonal()
        self.kept = np.empty((self.n, self.n)) if 8 * self.n**2 <= matrix_bytes else None
        self.places = np.full(self.n, -1)  # of the rows that are kept, in the order in which they were asked for
        self.n_kept = 0

    def pieces(self, n_visits: int) -> Iterator[slice]:
        """Ranges of visits for which the rows come together, short enough to look at the clock between them."""
        length = max(1, self.tile_bytes // (8 * self.n))
        return (slice(top, min(top + length, n_visits)) for top in range(0, n_visits, length))

    def tile(self, rows: RowIndex) -> Tile:
        """The kernel rows of the given rows."""
        if self.kept is None:
            return Tile(self._formed(rows), np.arange(len(rows)))
        missing = np.unique(rows[self.places[rows] < 0])
        if len(missing):
            self.places[missing] = np.arange(self.n_kept, self.n_kept + len(missing))
            self.kept[self.n_kept : self.n_kept + len(missing)] = self._formed(missing)
            self.n_kept += len(missing)
        return Tile(self.kept, self.places[rows])

    def scores(self, beta: Vector) -> Vector:
        """K beta, formed afresh."""
        if self.kept is None or self.n_kept < self.n:
            return self.problem.scores(beta)
        return np.asarray((self.kept @ beta)[self.places])

    @cached_property
    def _panels(self) -> Panels | None:
        """All rows, ready to meet some of them; None where the kernel has no fast form."""
        problem, kernel = self.problem, self.problem.kernel
        if kernel.on != "vectors":
            return None
        return Panels.of(kernel, as_double(problem.source.take(slice(None))), single=False)

    def _formed(self, rows: RowIndex) -> Matrix:
        problem, kernel, K = self.problem, self.problem.kernel, np.empty((len(rows), self.n))
        if self._panels is not None:
            self._panels.fill(self._panels.own.part(rows), K)
            return K
        if kernel.on == "matrix":
            return np.ascontiguousarray(problem.kernel_rows(rows), dtype=np.float64)
        X = as_double(problem.source.take(rows))
        for block in blocks(problem.source):
            K[:, block.span] = kernel.block(X, as_double(block.X))
        return K
