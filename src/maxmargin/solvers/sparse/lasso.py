"""Lasso and elastic net for squared errors.

    minimise over w, b    l1 |w|_1 + l2/2 |w|^2 + sum_i C_i 1/2 (<w, x_i> + b - y_i)^2        b free, or 0

    dual      maximise over beta    sum_i (y_i beta_i - beta_i^2 / (2 C_i)) - penalty*(sum_i beta_i x_i)
              with sum_i beta_i = 0 where b is free; without l2 penalty* is 0 where |sum_i beta_i x_ij| <= l1 for every
              column j, else infinite
    optimum   beta_i = C_i (y_i - f_i);  sum_i beta_i x_ij - l2 w_j = l1 sign(w_j) where w_j is not zero, and within
              +-l1 where it is (only at most l1 where weights must not be negative)

Three files tell how: `lasso_design` has the columns with the intercept taken out, `lasso_search` the evaluations, the
dual point, the screening and the choice of columns, `l1_model` the minimum over a few columns.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from maxmargin._types import Vector
from maxmargin.backends.threads import one_blas_thread
from maxmargin.data import long_sum
from maxmargin.losses import Squared
from maxmargin.penalties import L1, ElasticNet, Penalty, PositiveElasticNet
from maxmargin.problems import History, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.problems.solution import listening
from maxmargin.solvers.common.solver import Solver
from maxmargin.solvers.sparse.lasso_design import design_of
from maxmargin.solvers.sparse.lasso_search import LassoSearch, Strength

_MAX_EVALUATIONS = 1000
_WEAKER = 0.2  # factor from one strength to the next on the way down
_ROUGH = 0.1  # relative gap at which a strength on the way is left
_FEW = 3  # or after so many evaluations
_NEGLIGIBLE = 1e-10  # share of l1 by which multipliers may be scaled without another evaluation
_EPSILON = float(np.finfo(np.float64).eps)


def strength_of(penalty: Penalty) -> Strength | None:
    """What the penalty charges; None where it is of another kind, or none of it is proportional to |w|_1."""
    if isinstance(penalty, L1) and penalty.strength > 0.0:
        return Strength(penalty.strength, 0.0)
    if isinstance(penalty, (ElasticNet, PositiveElasticNet)) and penalty.l1 > 0.0:
        return Strength(penalty.l1, penalty.l2)
    return None


@dataclass(frozen=True)
class LassoDescent(Solver):
    """Working sets of columns, each solved to its minimum; `max_iter` bounds the evaluations of all columns."""

    n_jobs: int | None = None
    name: ClassVar[str] = "lasso"
    suits: ClassVar[str] = (
        "linear problems with the squared loss, an L1 penalty or an elastic net, and a free intercept or none"
    )

    def takes(self, problem: ProblemKind) -> bool:
        """Whether squared errors have a penalty of which some is proportional to |w|_1."""
        is_linear = problem.kernel is None and isinstance(problem.loss, Squared)
        has_intercept = problem.intercept.is_free or problem.intercept.scale == 0.0
        return is_linear and has_intercept and strength_of(problem.penalty) is not None

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve from the weights of `start`, or from zero."""
        self.check(problem)
        strength = strength_of(problem.penalty)
        assert isinstance(problem, LinearProblem)
        assert strength is not None
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        left = self.max_iter or _MAX_EVALUATIONS
        source, positive = problem.source, isinstance(problem.penalty, PositiveElasticNet)
        with one_blas_thread():  # passes have threads of their own, and small products lose by them
            design = design_of(
                source.take(slice(None)), source.y, problem.costs, free=problem.intercept.is_free, n_jobs=self.n_jobs
            )
            search = LassoSearch(design, positive=positive)
            try:
                if start is not None and start.weights is not None:
                    search.start(np.maximum(start.weights, 0.0) if positive else start.weights)
                elif design.n_features > problem.n_rows:
                    left -= _come_down(search, strength, left - 1, end)
                status = search.run(strength, self.tol, self.tol, left, end)
            except KeyboardInterrupt:
                status = Status.INTERRUPTED
            alpha = _multipliers(problem, search, strength)
        weights, bias, history = search.set.weights(), None if problem.intercept.is_free else 0.0, search.history
        return Solution(alpha, weights, bias, status, history, self.name, design.n_passes, history.elapsed)


def _come_down(search: LassoSearch, target: Strength, most: int, end: float) -> int:
    """Solve larger strengths first, roughly; returns how many evaluations that took.

    With more columns than rows the minimum over a working set that was chosen far from the answer gives weight to far
    too many of them. This way the weights grow in number as they are needed. Nobody listens: the gaps are those of
    other problems.
    """
    history, search.history = search.history, History()
    l1 = _WEAKER * search.largest
    with listening(None):
        while l1 > target.l1 and len(search.history) + _FEW < most and time.perf_counter() < end:
            search.run(Strength(l1, target.l2), _ROUGH, max_iter=_FEW, end=end)
            l1 *= _WEAKER
    spent, search.history = len(search.history), history
    return spent


def _multipliers(problem: LinearProblem, search: LassoSearch, strength: Strength) -> Vector:
    """Multipliers of the dual point, balanced for a free intercept, and feasible as the certificate will see them.

    Without l2 the sum over every column must be within l1. A few roundings of the numbers that go into it are left as a
    margin. Where that is a share of l1 that matters, the sums are taken as carefully as the certificate takes them.
    """
    design = search.design
    beta: Vector = design.root * search.theta
    if design.free:
        for _ in range(2):
            beta = beta - design.C * (long_sum(beta) / design.mass)
    if strength.l2 > 0.0:
        return beta

    def largest(sums: Vector, margin: Vector) -> float:
        return float(np.max((sums if search.positive else np.abs(sums)) + margin, initial=0.0))

    theta = beta / design.root
    size = float(np.linalg.norm(theta)) * design.sizes  # at least sum_i |beta_i x_ij|
    sums = design.correlations(theta) if np.any(search.screened) else search.point.v
    found = largest(sums, (8.0 + math.sqrt(len(beta))) * _EPSILON * size)
    if found > (1.0 + _NEGLIGIBLE) * strength.l1:
        found = largest(problem.weights_from(beta), _EPSILON * size)  # scaling rounds every term
    return beta if found <= strength.l1 else beta * (strength.l1 / found)
