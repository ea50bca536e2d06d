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
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from maxmargin._types import RowIndex, Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.penalties import L1
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.feasible import into_domain, scale_into_domain
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.linear.newton import RowsInMemory
from maxmargin.solvers.linear.newton_method import At, Evaluation
from maxmargin.solvers.sparse.l1_model import MAX_GRAM, LocalModel

_FIRST_COLUMNS = 100
_NEAR = 0.1  # columns this share of the strength short of entering may join the working set
_MODEL_GOAL = 1e-1  # share of the present violation to which the model is minimised
_WEAKER = 0.1  # factor from one strength to the next
_LOOSE = 0.4  # relative gap at which a strength that is only on the way is left
_LINE_STEPS = 60
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
        descent = _ProximalNewton(problem, self.n_jobs, self.tol)
        with one_blas_thread():  # passes have threads of their own
            status = descent.run(None if start is None else start.weights, self.max_iter or 500, self.max_seconds)
            return descent.solution(status, self.name)


class _L1Point(NamedTuple):
    """A point that was evaluated, and what follows at the strength of the penalty."""

    seen: Evaluation
    slope: Vector
    """C_i times the slope of each row's loss."""
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
    """The state of one search; `at` is the point with the smallest gap."""

    def __init__(self, problem: LinearProblem, n_jobs: int | None, tol: float):
        assert isinstance(problem.penalty, L1)
        self.problem, self.tol = problem, tol
        self.rows = RowsInMemory(problem, problem.curve, n_jobs)
        self.passes, self.scale = self.rows.passes, problem.intercept.scale
        self.target = self.strength = problem.penalty.strength
        self.history = History()
        self.at: _L1Point | None = None

    def run(self, weights: Vector | None, max_iter: int, max_seconds: float | None) -> Status:
        """Step until gap and violations are within the tolerance, nothing moves, or the budget is spent."""
        end = np.inf if max_seconds is None else time.perf_counter() + max_seconds
        try:
            self.lengths = np.sqrt(self.passes.squared_combination(self.problem.costs))
            at = self.at = self._begin(weights)
            if weights is None and self.passes.n_features > self.passes.n_rows:
                self.strength = max(self.target, _WEAKER * float(np.max(np.abs(at.seen.combination), initial=0.0)))
            idle = 0
            for _ in range(max_iter):
                if time.perf_counter() > end:
                    return Status.BUDGET
                if self.strength > self.target and (at.gap <= _LOOSE or idle == _PATIENCE):
                    self.strength = max(self.target, _WEAKER * self.strength)
                    at, idle = self._point(at.seen), 0
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

    def _begin(self, weights: Vector | None) -> _L1Point:
        w = np.zeros(self.passes.n_features) if weights is None else weights
        return self._point(self.rows.answer(At(w, 0.0)))

    def _point(self, seen: Evaluation) -> _L1Point:
        """What follows from an evaluation of the rows where they are."""
        w, b, sums, slope = seen.w, seen.b, seen.combination, self.rows.slope.copy()
        C, y, loss = self.problem.costs, self.problem.targets, self.problem.loss

        def bounds(strength: float) -> tuple[float, float, float]:
            """Factor on the multipliers, primal and dual value."""
            factor = scale_into_domain(float(np.max(np.abs(sums), initial=0.0)), strength)
            penalty = strength * float(np.sum(np.abs(w))) + (0.5 * (b / self.scale) ** 2 if self.scale > 0.0 else 0.0)
            shift = 0.0 if np.isinf(self.scale) else self.scale * seen.surplus * factor
            conjugate = float(C @ loss.score_conjugate(factor * slope / C, y))
            return factor, penalty + seen.loss, -0.5 * shift**2 - conjugate

        factor, primal, dual = bounds(self.strength)
        reported = bounds(self.target)[1:] if self.strength > self.target else (primal, dual)
        self.history.record(self.rows.n_passes, *reported)
        off = np.where(w != 0.0, np.abs(sums - self.strength * np.sign(w)), np.abs(sums) - self.strength)
        return _L1Point(seen, slope, factor, primal, dual, float(np.max(off, initial=0.0)))

    def _rows_off(self, at: _L1Point) -> float:
        """Largest distance of a row from its condition, for the scaled multipliers: as a certificate will see it."""
        v = at.factor * at.slope / self.problem.costs
        return float(np.max(self.problem.loss.score_violation(self.rows.f + at.seen.b, v, self.problem.targets)))

    def _working_set(self, at: _L1Point) -> RowIndex:
        """Columns with a weight, and those that promise most, sorted."""
        sizes = np.abs(at.seen.combination)
        with np.errstate(divide="ignore", invalid="ignore"):
            promise = (sizes - self.strength) / self.lengths
        kept = at.seen.w != 0.0
        n_kept = int(np.count_nonzero(kept))
        room = max(_FIRST_COLUMNS, 2 * n_kept)
        if n_kept < MAX_GRAM:
            room = min(room, MAX_GRAM)  # a model with H at hand, as long as the weights themselves allow it
        candidates = np.flatnonzero(~kept & (sizes > (1.0 - _NEAR) * self.strength))
        extra = max(room - n_kept, 1)
        if len(candidates) > extra:
            candidates = candidates[np.argpartition(-promise[candidates], extra - 1)[:extra]]
        return np.sort(np.concatenate([np.flatnonzero(kept), candidates]))

    def _step(self, at: _L1Point) -> _L1Point | None:
        """One step of the method; None where rounding leaves no way down."""
        chosen, seen = self._working_set(at), at.seen
        bias = None
        if self.scale > 0.0:
            ridge = 1.0 / self.scale**2  # zero for a free intercept, whose scale is infinite
            bias = seen.b * ridge - seen.surplus, ridge
        here, g = seen.w[chosen], -seen.combination[chosen]
        model = LocalModel(self.passes, chosen, here, g, self.rows.curvature, bias, self.strength)
        there, shift = model.minimise(_MODEL_GOAL * at.violation)
        direction = np.zeros_like(seen.w)
        direction[chosen] = there - here
        moved = self.passes.scores(direction)
        self.rows.n_passes += 2.0
        t = self._best_step(at, here, there, shift, moved)
        if t == 0.0:
            return None
        w = seen.w.copy()
        w[chosen] = there if t == 1.0 else here + t * (there - here)
        return self._point(self.rows.move(w, t * moved, t * shift))

    def _best_step(self, at: _L1Point, here: Vector, there: Vector, shift: float, moved: Vector) -> float:
        """A t in (0, 1] near the minimum of the objective along the direction, rather before it than behind."""
        step = there - here
        ridge = 1.0 / self.scale**2 if 0.0 < self.scale < np.inf else 0.0

        def penalty_slope(signs: Vector, t: float) -> float:
            """Slope of the penalties along the direction, of weights with those signs."""
            return self.strength * float(np.sign(signs) @ step) + ridge * (at.seen.b + t * shift) * shift

        begin = (
            float(at.slope @ moved) - at.seen.surplus * shift + penalty_slope(np.where(here == 0.0, step, here), 0.0)
        )
        if not begin < 0.0:
            return 0.0
        low, high, t = 0.0, 1.0, 1.0
        for _ in range(_LINE_STEPS):
            first, second = self.rows.slopes_along(moved, 1.0, shift, t)
            point = there if t == 1.0 else here + t * step
            # From the left: a weight that arrives at zero still moves towards it.
            slope = first + penalty_slope(np.where(point == 0.0, -step, point), t)
            if slope <= 0.05 * abs(begin) and (t == 1.0 or slope >= -0.5 * abs(begin)):
                return t
            low, high = (low, t) if slope > 0.0 else (t, high)
            following = t - slope / second if second > 0.0 else 0.5 * t
            t = following if low < following < high else 0.5 * (low + high)
        return low

    def solution(self, status: Status, name: str) -> Solution:
        """The point with the smallest gap, with the multipliers of its slopes taken into their domain."""
        at = self._begin(None) if self.at is None else self.at  # interrupted before the first evaluation
        alpha, history = into_domain(self.problem, self.rows.multipliers(-at.slope)), self.history
        w, b = at.seen.w, at.seen.b
        return Solution(alpha, w, b, status, history, name, self.rows.n_passes, history.elapsed)
