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
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from maxmargin._types import Vector
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


class _Direction(NamedTuple):
    w: Vector
    b: float
    margin: Vector
    alpha: Vector
    g: Vector
    xi: Vector


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
        self.history = History()
        self.n_passes = 0.0
        self._begin(y)

    def _begin(self, y: Vector) -> None:
        self.w, self.b = np.zeros(self.passes.n_features), 0.0
        height = 1.0 if self.problem.loss.name == "hinge" else max(float(np.std(y)), 1e-300)
        if self.problem.loss.name != "hinge" and self.scale > 0.0:
            self.b = float(np.median(y)) if np.isinf(self.scale) else 0.0
        self.alpha = 0.5 * self.C  # the middle of the box: the products alpha g and (C - alpha) xi are alike
        self.margin = self.s * self.b - self.t  # s f - t, from which g - xi must not differ
        self.xi = np.maximum(-self.margin, 0.0) + height
        self.g = self.margin + self.xi
        self.v = self._combined(self.s * self.alpha)

    def _by_row(self, r: Vector) -> Vector:
        """Sums over the constraints of each row."""
        return r if len(r) == self.n else r[: self.n] + r[self.n :]

    def _combined(self, coefficients: Vector) -> Vector:
        self.n_passes += 1.0
        return self.passes.combination(self._by_row(coefficients))

    def _scores(self, w: Vector) -> Vector:
        self.n_passes += 1.0
        f = self.passes.scores(w)
        return f if len(self.s) == self.n else np.concatenate([f, f])

    def run(self, tol: float, max_steps: int, max_seconds: float | None) -> Status:
        """Walk until the gap of the rounded point is within the tolerance."""
        end = np.inf if max_seconds is None else time.perf_counter() + max_seconds
        best, idle = np.inf, 0
        for _ in range(max_steps):
            gap = self._look()
            if gap <= 0.1 * tol and self._row_violation() <= 0.5 * tol:
                return Status.CONVERGED
            mu = self._mu()
            idle = 0 if mu < 0.9 * best else idle + 1
            best = min(best, mu)
            if time.perf_counter() > end:
                return Status.BUDGET
            try:
                if idle >= 5:
                    raise np.linalg.LinAlgError
                self._step()
            except KeyboardInterrupt:
                return Status.INTERRUPTED
            except np.linalg.LinAlgError:  # double precision has no more to give
                return Status.CONVERGED if gap <= tol else Status.STALLED
        return Status.BUDGET

    def _row_violation(self) -> float:
        """Worst row; the gap is an average over all of them and runs ahead."""
        problem, n = self.problem, self.n
        f = self.s[:n] * (self.margin[:n] + self.t[:n])
        v = -self._by_row(self.s * self.alpha) / problem.costs
        return float(np.max(problem.loss.score_violation(f, v, problem.targets)))

    def _mu(self) -> float:
        """Mean of the products that are to vanish."""
        return (float(self.alpha @ self.g) + float((self.C - self.alpha) @ self.xi)) / (2 * len(self.s))

    def _look(self) -> float:
        """Relative gap, with the surplus of a free intercept's multipliers counted at its price."""
        shortfall = np.maximum(-self.margin, 0.0)
        total = float(self.s @ self.alpha)
        free = np.isinf(self.scale)
        penalty = 0.0 if free or self.scale == 0.0 else 0.5 * (self.b / self.scale) ** 2
        dual_penalty = 0.0 if free else 0.5 * (self.scale * total) ** 2
        primal = 0.5 * float(self.w @ self.w) + penalty + float(self.C @ shortfall)
        dual = float(self.t @ self.alpha) - 0.5 * float(self.v @ self.v) - dual_penalty
        self.history.record(self.n_passes, primal, dual)
        price = abs(total) * (1.0 + abs(self.b)) if free else 0.0
        return (abs(primal - dual) + price) / max(abs(primal), 1e-300)

    def _step(self) -> None:
        above = self.C - self.alpha
        theta = 1.0 / (self.g / self.alpha + self.xi / above)
        solve = self._factored(theta)
        mu = self._mu()

        # Predictor: as far as the conditions lead when mu is forgotten.
        ahead = solve(-self.alpha * self.g, -above * self.xi)
        reach = self._longest(ahead)
        left = float((self.alpha + reach * ahead.alpha) @ (self.g + reach * ahead.g))
        left += float((above - reach * ahead.alpha) @ (self.xi + reach * ahead.xi))
        sigma = (left / (2 * len(self.s)) / mu) ** 3

        # Corrector: towards the middle as far as the predictor was blocked, with its curvature taken out.
        way = solve(
            sigma * mu - self.alpha * self.g - ahead.alpha * ahead.g,
            sigma * mu - above * self.xi + ahead.alpha * ahead.xi,
        )
        step = min(1.0, _TO_THE_WALL * self._longest(way))
        self.w = self.w + step * way.w
        self.b += step * way.b
        self.margin = self.margin + step * way.margin
        self.alpha = self.alpha + step * way.alpha
        self.g = self.g + step * way.g
        self.xi = self.xi + step * way.xi
        self.v = self._combined(self.s * self.alpha)

    def _factored(self, theta: Vector) -> Any:
        """A function from the right-hand sides of the two products to the direction."""
        by_row = self._by_row(theta)
        H = self.passes.products(by_row)
        self.n_passes += 1.0
        H[np.diag_indices(len(H))] += 1.0
        edge, corner = None, 0.0
        if self.scale > 0.0:
            edge = self.passes.combination(by_row)
            corner = float(np.sum(by_row)) + 1.0 / self.scale**2
            H -= np.outer(edge, edge / corner)
        factor = PositiveFactor(H)
        above = self.C - self.alpha
        off = self.v - self.w

        def solve(product: Vector, product_above: Vector) -> _Direction:
            q = product / self.alpha - product_above / above
            pushed = self.s * theta * q
            right = self._combined(pushed) + off
            if edge is None:
                w, b = factor.solve(right), 0.0
            else:
                balance = float(np.sum(pushed)) + float(self.s @ self.alpha)
                balance -= self.b / self.scale**2
                w = factor.solve(right - edge * (balance / corner))
                b = (balance - float(edge @ w)) / corner
            margin = self.s * (self._scores(w) + b)
            alpha = theta * (q - margin)
            g = (product - self.g * alpha) / self.alpha
            xi = (product_above + self.xi * alpha) / above
            return _Direction(w, b, margin, alpha, g, xi)

        return solve

    def _longest(self, way: _Direction) -> float:
        """Longest step, at most 1 / _TO_THE_WALL, that keeps multipliers and slacks positive."""
        longest = 1.0 / _TO_THE_WALL
        pairs = ((self.alpha, way.alpha), (self.C - self.alpha, -way.alpha), (self.g, way.g), (self.xi, way.xi))
        for value, change in pairs:
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.where(change < 0.0, value / -change, np.inf)
            longest = min(longest, float(np.min(ratio)))
        return longest

    def solution(self, status: Status, name: str) -> Solution:
        """The point reached, with multipliers put onto the bounds they are heading for."""
        share = self.alpha / self.C
        height = 1.0 if self.problem.loss.name == "hinge" else max(float(np.std(self.problem.targets)), 1e-300)
        beyond, short = self.g / height, self.xi / height
        alpha = np.where(share < beyond, 0.0, np.where(1.0 - share < short, self.C, self.alpha))
        alpha = np.where((share >= beyond) | (share < 1e-3), alpha, self.alpha)
        alpha = np.where((1.0 - share >= short) | (1.0 - share < 1e-3), alpha, self.alpha)
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
