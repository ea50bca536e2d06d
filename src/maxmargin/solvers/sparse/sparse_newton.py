"""Proximal Newton with working sets, for smooth losses and an L1 penalty.

    minimise over w, b     strength |w|_1 + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i)        f = X w + b
    maximise over beta     -1/2 (s sum_i beta_i)^2 - sum_i C_i l_{y_i}*(-beta_i / C_i)
    subject to             |sum_i beta_i x_ij| <= strength for every column j, and sum_i beta_i = 0 for a free intercept

Optimal are w and beta_i = -C_i l'(f_i) with sum_i beta_i x_ij = strength sign(w_j) where w_j is not zero, and within
+-strength where it is.

An evaluation. A free intercept is first set to its exact best for the current scores. One pass then gives the sums
v_j = sum_i beta_i x_ij of all columns. The multipliers, scaled by min(1, strength / max_j |v_j|), are feasible
(`solvers.common.feasible`), so every evaluation has a duality gap.

A step. The working set is every column with a weight, and the columns that promise most: largest (|v_j| - strength) by
the length of the column, up to as many again. On it the quadratic model of the losses is minimised together with the
penalty (`l1_model`), which gives a direction with exact zeros at its end. The objective along it is a convex function
of one number, whose slope costs no pass over the data; the full step is taken unless that slope says it went too far.

The way there. With more columns than rows a model far from the answer gives weight to far too many of them. So larger
strengths come first, each ten times the next and solved roughly, and the weights grow in number as they are needed.

Model and line search: Yuan, Ho and Lin, JMLR 2012 (newGLMNET). Working sets: Massias, Gramfort and Salmon, ICML 2018.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from maxmargin._loops.curves import evaluate_loop, line_loop
from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import one_blas_thread, over_ranges
from maxmargin.data.passes import Passes
from maxmargin.penalties import L1
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.feasible import balanced, into_domain, scale_into_domain
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.sparse.l1_model import MAX_GRAM, LocalModel

_FIRST_COLUMNS = 100
_NEAR = 0.1  # columns this share of the strength short of entering may join the working set
_MODEL_GOAL = 1e-1  # share of the present violation to which the model is minimised
_WEAKER = 0.1  # factor from one strength to the next
_LOOSE = 0.4  # relative gap at which a strength that is only on the way is left
_LINE_STEPS = 60
_BIAS_STEPS = 60
_SERIAL_ROWS = 50_000  # rows below which a second thread costs more than it brings
_PATIENCE = 3  # evaluations without progress before the search is called stalled


@dataclass(frozen=True)
class SparseNewton(Solver):
    """Proximal Newton steps on a working set of columns, for the L1 penalty."""

    n_jobs: int | None = None
    name: ClassVar[str] = "sparse"
    suits: ClassVar[str] = (
        "linear problems with a smooth loss (squared hinge, logistic, squared or squared epsilon-insensitive) "
        "and an L1 penalty"
    )

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the loss has a slope everywhere, and w pays for |w|_1."""
        curve, penalty = problem.loss.curve, problem.penalty
        is_smooth = problem.kernel is None and curve is not None and not curve.has_kinks
        return is_smooth and isinstance(penalty, L1) and penalty.strength > 0.0

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the weights of `start`, or from zero."""
        self.check(problem)
        assert isinstance(problem, LinearProblem)
        descent = _ProximalNewton(problem, Passes(problem.source, self.n_jobs), self.tol)
        with one_blas_thread():  # passes have threads of their own
            status = descent.run(None if start is None else start.weights, self.max_iter or 500, self.max_seconds)
            return descent.solution(status, self.name)


@dataclass(frozen=True)
class _L1Point:
    """A point, and everything that follows from its weights and scores."""

    w: Vector
    b: float
    f: Vector
    slope: Vector
    """C_i times the slope of each row's loss."""
    curvature: Vector
    sums: Vector
    """sum_i beta_i x_ij of every column."""
    total: float
    """Sum of the slopes."""
    factor: float
    """What scales the multipliers into their domain."""
    primal: float
    dual: float
    violation: float
    """Largest distance of a column from its condition of optimality."""

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return (self.primal - self.dual) / max(abs(self.primal), 1e-300)


class _ProximalNewton:
    """The state of one search."""

    def __init__(self, problem: LinearProblem, passes: Passes, tol: float):
        assert isinstance(problem.penalty, L1)
        self.problem, self.passes, self.tol = problem, passes, tol
        self.target = self.strength = problem.penalty.strength
        self.numbers = tuple(problem.curve)
        self.y, self.C = problem.targets, problem.costs
        self.scale = problem.intercept.scale
        self.history = History()
        self.n_passes = 0.0
        self.at: _L1Point | None = None

    def run(self, weights: Vector | None, max_iter: int, max_seconds: float | None) -> Status:
        """Step until gap and violations are within the tolerance, nothing moves, or the budget is spent."""
        end = np.inf if max_seconds is None else time.perf_counter() + max_seconds
        try:
            self.lengths = np.sqrt(self.passes.squared_combination(self.C))
            w = np.zeros(self.passes.n_features) if weights is None else np.array(weights, dtype=np.float64)
            f = np.zeros(self.passes.n_rows) if weights is None else self.passes.scores(w)
            at = self.at = self._evaluate(w, 0.0, f)
            if weights is None and self.passes.n_features > self.passes.n_rows:
                self.strength = max(self.target, _WEAKER * float(np.max(np.abs(at.sums), initial=0.0)))
            idle = 0
            for _ in range(max_iter):
                if time.perf_counter() > end:
                    return Status.BUDGET
                if self.strength > self.target and (at.gap <= _LOOSE or idle == _PATIENCE):
                    self.strength = max(self.target, _WEAKER * self.strength)
                    at, idle = self._evaluate(at.w, at.b, at.f), 0
                    self.at = at
                if self.strength == self.target and at.gap <= self.tol and self._rows_off(at) <= self.tol:
                    return Status.CONVERGED
                following = self._step(at) if idle < _PATIENCE else None
                if following is None:
                    if self.strength == self.target:
                        return Status.STALLED
                    idle = _PATIENCE
                    continue
                idle = 0 if following.gap < at.gap or following.primal < at.primal else idle + 1
                at = following
                if at.gap < self.at.gap:
                    self.at = at
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.BUDGET

    def _sums(self, work: Callable[[int, int], tuple[float, ...]]) -> list[float]:
        """Sums over all rows of what `work` returns for a range of them."""
        jobs = 1 if self.passes.n_rows < _SERIAL_ROWS else self.passes.n_jobs
        parts = over_ranges(lambda first, last, stop: work(first, last), self.passes.n_rows, jobs)
        return [float(np.sum(column)) for column in zip(*parts, strict=True)]

    def _evaluate(self, w: Vector, b: float, f: Vector) -> _L1Point:
        """All about w and its scores f, in one pass over the data."""
        if np.isinf(self.scale):
            b = self._best_bias(f, b)
        slope, curvature = np.empty_like(f), np.empty_like(f)
        y, C = self.y, self.C
        loss, _, total, _ = self._sums(
            lambda first, last: evaluate_loop(self.numbers, f, b, y, C, first, last, slope, curvature)
        )
        sums = -self.passes.combination(slope)
        self.n_passes += 1.0

        def bounds(strength: float) -> tuple[float, float, float]:
            """Factor on the multipliers, primal and dual value."""
            factor = scale_into_domain(float(np.max(np.abs(sums), initial=0.0)), strength)
            penalty = strength * float(np.sum(np.abs(w))) + (0.5 * (b / self.scale) ** 2 if self.scale > 0.0 else 0.0)
            shift = 0.0 if np.isinf(self.scale) else self.scale * total * factor
            conjugate = float(C @ self.problem.loss.score_conjugate(factor * slope / C, y))
            return factor, penalty + loss, -0.5 * shift**2 - conjugate

        factor, primal, dual = bounds(self.strength)
        self.history.record(
            self.n_passes, *(bounds(self.target)[1:] if self.strength > self.target else (primal, dual))
        )
        off = np.where(w != 0.0, np.abs(sums - self.strength * np.sign(w)), np.abs(sums) - self.strength)
        violation = float(np.max(off, initial=0.0))
        return _L1Point(w, b, f, slope, curvature, sums, total, factor, primal, dual, violation)

    def _best_bias(self, f: Vector, b: float) -> float:
        """Newton steps on the intercept alone, kept inside a bracket: the loss is convex in it."""
        low, high = -np.inf, np.inf
        for _ in range(_BIAS_STEPS):
            slope, curvature = self._sums(partial(line_loop, self.numbers, f, b, f, 0.0, 1.0, 0.0, self.y, self.C))
            low, high = (low, b) if slope > 0.0 else (b, high)
            following = b - (slope / curvature if curvature > 0.0 else float(np.sign(slope)))
            if not low <= following <= high:
                # A step out of an open bracket doubles; inside a closed one the middle is safe.
                following = 0.5 * (low + high) if np.isfinite(high - low) else b - 2.0 * np.sign(slope) * (1.0 + abs(b))
            if abs(following - b) <= 1e-15 * max(1.0, abs(b)):
                break
            b = float(following)
        return b

    def _rows_off(self, at: _L1Point) -> float:
        """Largest distance of a row from its condition, for the scaled multipliers: as a certificate will see it."""
        v = at.factor * at.slope / self.C
        return float(np.max(self.problem.loss.score_violation(at.f + at.b, v, self.y)))

    def _working_set(self, at: _L1Point) -> RowIndex:
        """Columns with a weight, and those that promise most, sorted."""
        with np.errstate(divide="ignore", invalid="ignore"):
            promise = (np.abs(at.sums) - self.strength) / self.lengths
        kept = at.w != 0.0
        n_kept = int(np.count_nonzero(kept))
        room = max(_FIRST_COLUMNS, 2 * n_kept)
        if n_kept < MAX_GRAM:
            room = min(room, MAX_GRAM)  # a model with H at hand, as long as the weights themselves allow it
        candidates = np.flatnonzero(~kept & (np.abs(at.sums) > (1.0 - _NEAR) * self.strength))
        extra = max(room - n_kept, 1)
        if len(candidates) > extra:
            candidates = candidates[np.argpartition(-promise[candidates], extra - 1)[:extra]]
        return np.sort(np.concatenate([np.flatnonzero(kept), candidates]))

    def _step(self, at: _L1Point) -> _L1Point | None:
        """One step of the method; None where rounding leaves no way down."""
        chosen = self._working_set(at)
        bias = None
        if self.scale > 0.0:
            ridge = 1.0 / self.scale**2  # zero for a free intercept, whose scale is infinite
            bias = at.total + at.b * ridge, ridge
        here = at.w[chosen]
        model = LocalModel(self.passes, chosen, here, -at.sums[chosen], at.curvature, bias, self.strength)
        there, shift = model.minimise(_MODEL_GOAL * at.violation)
        direction = np.zeros_like(at.w)
        direction[chosen] = there - here
        moved = self.passes.scores(direction) + shift
        self.n_passes += 2.0
        t = self._best_step(at, here, there, shift, moved)
        if t == 0.0:
            return None
        w = at.w.copy()
        w[chosen] = there if t == 1.0 else here + t * (there - here)
        # The intercept is a part of `moved`; the scores keep only what is not.
        return self._evaluate(w, at.b + t * shift, at.f + t * (moved - shift))

    def _best_step(self, at: _L1Point, here: Vector, there: Vector, shift: float, moved: Vector) -> float:
        """A t in (0, 1] near the minimum of the objective along the direction, rather before it than behind."""
        step = there - here
        begin = float(at.slope @ moved) + self._penalty_slope(at, np.where(here == 0.0, step, here), step, shift, 0.0)
        if not begin < 0.0:
            return 0.0
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(_LINE_STEPS):
            first, second = self._slopes_along(at, moved, t)
            point = there if t == 1.0 else here + t * step
            # From the left: a weight that arrives at zero still moves towards it.
            slope = first + self._penalty_slope(at, np.where(point == 0.0, -step, point), step, shift, t)
            if slope <= 0.05 * abs(begin) and (t == 1.0 or slope >= -0.5 * abs(begin)):
                return t
            low, high = (low, t) if slope > 0.0 else (t, high)
            following = t - slope / second if second > 0.0 else 0.5 * t
            t = following if low < following < high else 0.5 * (low + high)
        return low

    def _penalty_slope(self, at: _L1Point, signs: Vector, step: Vector, shift: float, t: float) -> float:
        """Slope of the penalties along the direction, of weights with those signs."""
        ridge = (at.b + t * shift) * shift / self.scale**2 if 0.0 < self.scale < np.inf else 0.0
        return self.strength * float(np.sign(signs) @ step) + ridge

    def _slopes_along(self, at: _L1Point, moved: Vector, t: float) -> list[float]:
        y, C = self.y, self.C
        return self._sums(
            lambda first, last: line_loop(self.numbers, at.f, at.b, moved, 1.0, 0.0, t, y, C, first, last)
        )

    def solution(self, status: Status, name: str) -> Solution:
        """The point with the smallest gap, with the multipliers of its slopes taken into their domain."""
        at, loss = self.at, self.problem.loss
        if at is None:  # interrupted before the first evaluation
            at = self._evaluate(np.zeros(self.passes.n_features), 0.0, np.zeros(self.passes.n_rows))
        alpha = loss.multipliers(-at.slope, self.y)
        if np.isinf(self.scale):
            box = loss.domain(self.C)
            alpha = balanced(alpha, self.problem.coefficients(np.ones_like(alpha)), box)
        alpha, history = into_domain(self.problem, alpha), self.history
        return Solution(alpha, at.w, at.b, status, history, name, self.n_passes, history.elapsed)
