"""Interior points for the hinge and the tube with few features: about twenty steps, whatever C is.

Every row gives one constraint (hinge) or two (the walls of the tube), with sign s, aim t and slack xi:

    minimise    1/2 |w|^2 + 1/2 (b / scale)^2 + sum_r C_r xi_r
    subject to  s_r (<w, x_r> + b) + xi_r - t_r = g_r,     g_r >= 0,  xi_r >= 0

    hinge       s = y, t = 1
    tube        s = +1, t = y - epsilon   and   s = -1, t = -(y + epsilon)

With multipliers 0 <= alpha_r <= C_r the optimum satisfies w = sum_r s_r alpha_r x_r, alpha_r g_r = 0 and
(C_r - alpha_r) xi_r = 0. The products are held at mu > 0 and mu is driven to zero by Newton steps. Eliminating all but
w and b from such a step leaves, with theta_r = 1 / (g_r / alpha_r + xi_r / (C_r - alpha_r)),

    [ I + X' diag(theta) X    X' theta                     ]
    [ theta' X                sum_r theta_r + 1 / scale^2  ]

the matrix of Newton's method with theta for the curvature: a few passes over the data a step, and a d x d factor.

Each step is a predictor and a corrector (Mehrotra). Ferris and Munson, SIAM J. Optim. 2002, on support vector machines.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from maxmargin._loops.interior import ahead_loop, direction_loop, move_loop, push_loop, weights_loop
from maxmargin._types import Vector
from maxmargin.backends.threads import over_ranges
from maxmargin.data.passes import Passes
from maxmargin.errors import ParameterError
from maxmargin.losses import EpsilonInsensitive, Hinge
from maxmargin.penalties import L2
from maxmargin.problems import History, LinearProblem, Problem, Solution, Status
from maxmargin.solvers.feasible import balanced
from maxmargin.solvers.positive_factor import PositiveFactor
from maxmargin.solvers.solver import Solver

_TO_THE_WALL = 0.995  # share of the longest step that keeps everything positive
_MAX_STEPS = 100
_SERIAL_ROWS = 50_000  # constraints below which a second thread costs more than it brings


def solves(problem: Problem) -> bool:
    """Whether `Interior` is for this problem."""
    kinds = (Hinge, EpsilonInsensitive)
    return isinstance(problem, LinearProblem) and isinstance(problem.loss, kinds) and problem.penalty == L2()


@dataclass(frozen=True)
class Interior(Solver):
    """Primal-dual interior-point method on the weights of a linear problem."""

    n_jobs: int | None = None
    name: ClassVar[str] = "interior"

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the middle of the box; an interior-point method has no use for a start."""
        if not solves(problem):
            raise ParameterError(
                "solver='interior' is for linear problems with hinge or epsilon-insensitive loss and an L2 penalty, "
                f"not: {problem.objective}."
            )
        assert isinstance(problem, LinearProblem)
        walk = _Walk(problem, Passes(problem.source, self.n_jobs))
        status = walk.run(self.tol, self.max_iter or _MAX_STEPS, self.max_seconds)
        return walk.solution(status, self.name)


class _Walk:
    """The state of the walk: weights, intercept, multipliers and slacks, strictly inside."""

    def __init__(self, problem: LinearProblem, passes: Passes):
        self.problem, self.passes = problem, passes
        self.scale = problem.intercept.scale
        y, C = problem.targets, problem.costs
        self.n = len(y)
        epsilon = getattr(problem.loss, "epsilon", None)
        if epsilon is None:
            self.s, self.t, self.C = y, np.ones(self.n), C
        else:  # the two walls of the tube, one after the other
            self.s = np.concatenate([np.ones(self.n), -np.ones(self.n)])
            self.t, self.C = np.concatenate([y - epsilon, -y - epsilon]), np.concatenate([C, C])
        self.height = 1.0 if epsilon is None else max(float(np.std(y)), 1e-300)
        self.history = History()
        self.n_passes = 0.0
        self._begin(float(np.median(y)) if epsilon is not None and np.isinf(self.scale) else 0.0)

    def _begin(self, b: float) -> None:
        size = len(self.s)
        self.w, self.b = np.zeros(self.passes.n_features), b
        self.alpha = 0.5 * self.C  # the middle of the box: the products alpha g and (C - alpha) xi are alike
        self.above = self.C - self.alpha
        self.margin = self.s * b - self.t  # s f - t, from which g - xi never differs
        self.xi = np.maximum(-self.margin, 0.0) + self.height
        self.g = self.margin + self.xi
        self.theta, self.q, self.signed = np.empty(size), np.empty(size), self.s * self.alpha
        self.d_margin, self.d_alpha, self.d_g, self.d_xi = (np.zeros(size) for _ in range(4))
        self.loss = float(self.C @ np.maximum(-self.margin, 0.0))
        self.total, self.gained = float(np.sum(self.signed)), float(self.t @ self.alpha)
        self.v = self._combined(self.signed)

    def _over(self, loop: Callable[..., Any], *arguments: Any, after: tuple[Any, ...] = ()) -> list[Any]:
        """Run a loop over all constraints, shared among threads."""
        jobs = 1 if len(self.s) < _SERIAL_ROWS else self.passes.n_jobs
        return over_ranges(lambda first, last, stop: loop(*arguments, first, last, *after), len(self.s), jobs)

    def _by_row(self, r: Vector) -> Vector:
        """Sums over the constraints of each row."""
        return r if len(r) == self.n else r[: self.n] + r[self.n :]

    def _combined(self, coefficients: Vector) -> Vector:
        self.n_passes += 1.0
        return self.passes.combination(self._by_row(coefficients))

    def run(self, tol: float, max_steps: int, max_seconds: float | None) -> Status:
        """Walk until the gap of the rounded point is within the tolerance."""
        end = np.inf if max_seconds is None else time.perf_counter() + max_seconds
        best, idle = np.inf, 0
        for _ in range(max_steps):
            gap = self._look()
            if gap <= 0.1 * tol and self._row_violation() <= 0.5 * tol:
                return Status.CONVERGED
            if time.perf_counter() > end:
                return Status.BUDGET
            try:
                mu = self._step()
                idle = 0 if mu < 0.9 * best else idle + 1
                best = min(best, mu)
                if idle >= 5:
                    raise np.linalg.LinAlgError
            except KeyboardInterrupt:
                return Status.INTERRUPTED
            except np.linalg.LinAlgError:  # double precision has no more to give
                return Status.CONVERGED if gap <= tol else Status.STALLED
        return Status.BUDGET

    def _row_violation(self) -> float:
        """Worst row; the gap is an average over all of them and runs ahead."""
        problem, n = self.problem, self.n
        f = self.s[:n] * (self.margin[:n] + self.t[:n])
        v = -self._by_row(self.signed) / problem.costs
        return float(np.max(problem.loss.score_violation(f, v, problem.targets)))

    def _look(self) -> float:
        """Relative gap, with the surplus of a free intercept's multipliers counted at its price."""
        free = np.isinf(self.scale)
        penalty = 0.0 if free or self.scale == 0.0 else 0.5 * (self.b / self.scale) ** 2
        dual_penalty = 0.0 if free else 0.5 * (self.scale * self.total) ** 2
        primal = 0.5 * float(self.w @ self.w) + penalty + self.loss
        dual = self.gained - 0.5 * float(self.v @ self.v) - dual_penalty
        self.history.record(self.n_passes, primal, dual)
        price = abs(self.total) * (1.0 + abs(self.b)) if free else 0.0
        return (abs(primal - dual) + price) / max(abs(primal), 1e-300)

    def _step(self) -> float:
        """One predictor and corrector; returns the mean product it began with."""
        point = (self.alpha, self.g, self.xi, self.above)
        way = (self.d_alpha, self.d_g, self.d_xi)
        mu = sum(self._over(weights_loop, *point, after=(self.theta,))) / (2 * len(self.s))
        self._factor()

        # Predictor: as far as the conditions lead when mu is forgotten.
        for change in way:
            change[:] = 0.0
        _, _, longest = self._direction(0.0)
        ahead = sum(self._over(ahead_loop, min(1.0, longest), *point, *way))
        sigma = (ahead / (2 * len(self.s)) / mu) ** 3

        # Corrector: towards the middle as far as the predictor was blocked, with its curvature taken out.
        dw, db, longest = self._direction(sigma * mu)
        step = min(1.0, _TO_THE_WALL * longest)
        moved = self._over(
            move_loop,
            step,
            self.margin,
            *point,
            self.C,
            self.s,
            self.t,
            self.d_margin,
            *way,
            after=(self.signed,),
        )
        self.loss, self.total, self.gained = (float(sum(column)) for column in zip(*moved, strict=True))
        self.w = self.w + step * dw
        self.b += step * db
        self.v = self._combined(self.signed)
        return float(mu)

    def _factor(self) -> None:
        by_row = self._by_row(self.theta)
        H = self.passes.products(by_row)
        self.n_passes += 1.0
        H[np.diag_indices(len(H))] += 1.0
        if self.scale > 0.0:
            self.edge = self.passes.combination(by_row)
            self.corner = float(np.sum(by_row)) + 1.0 / self.scale**2
            H -= np.outer(self.edge, self.edge / self.corner)
        self.factor = PositiveFactor(H)

    def _direction(self, middle: float) -> tuple[Vector, float, float]:
        """Direction of w and b and the longest step along it, for products that go to `middle`."""
        point = (self.alpha, self.g, self.xi, self.above)
        way = (self.d_alpha, self.d_g, self.d_xi)
        pushed = np.empty(len(self.s))
        self._over(push_loop, middle, self.s, *point, self.theta, *way, after=(self.q, pushed))
        right = self._combined(pushed) + (self.v - self.w)
        db = 0.0
        if self.scale == 0.0:
            dw = self.factor.solve(right)
        else:
            balance = float(np.sum(pushed)) + self.total - self.b / self.scale**2
            dw = self.factor.solve(right - self.edge * (balance / self.corner))
            db = (balance - float(self.edge @ dw)) / self.corner
        self.n_passes += 1.0
        f = self.passes.scores(dw)
        arguments = (middle, f, db, self.s, *point, self.theta, self.q)
        blocked = max(self._over(direction_loop, *arguments, after=(self.d_margin, *way)))
        return dw, db, 1.0 / max(blocked, 1e-300)

    def solution(self, status: Status, name: str) -> Solution:
        """The point reached, with multipliers put onto the bounds they are heading for."""
        share, left = self.alpha / self.C, self.above / self.C
        beyond, short = self.g / self.height, self.xi / self.height
        alpha = np.where(share < beyond, 0.0, np.where(left < short, self.C, self.alpha))
        alpha = np.where((share >= beyond) | (share < 1e-3), alpha, self.alpha)
        alpha = np.where((left >= short) | (left < 1e-3), alpha, self.alpha)
        problem = self.problem
        signed = self._by_row(self.s * alpha)  # coefficients; the two walls of a tube never both hold
        rows = problem.loss.multipliers(signed, problem.targets)
        box = problem.loss.dual_box(problem.costs)
        assert box is not None
        rows = np.clip(rows, box.lower, box.upper)
        if np.isinf(self.scale):
            rows = balanced(rows, problem.coefficients(np.ones_like(rows)), box)
        return Solution(
            alpha=rows,
            weights=self.w,
            bias=None if np.isinf(self.scale) else self.b,
            status=status,
            history=self.history,
            solver=name,
            passes=self.n_passes,
            seconds=self.history.elapsed,
        )
