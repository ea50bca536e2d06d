"""The reference solver: an interior-point method, then active-set polish. Slow, and trusted.

The dual form (kernel matrix formed whole, n variables) or, for linear problems with fewer features than rows, the
primal form (`solvers.reference.qp_forms`). Hard margins go through the nearest points of convex hulls
(`solvers.reference.hard_margin`). An L1 penalty has the primal form alone, and its multipliers are scaled into their
domain (`solvers.common.feasible`).
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from maxmargin._types import Vector
from maxmargin.certificates import assess
from maxmargin.errors import NotSeparableError, ParameterError
from maxmargin.losses import DualBox, HardMargin, SquaredEpsilonInsensitive, SquaredHinge
from maxmargin.penalties import L1, L2
from maxmargin.problems import History, KernelProblem, LinearProblem, Problem, ProblemKind, Solution, Status
from maxmargin.solvers.common.candidate import Candidate
from maxmargin.solvers.common.feasible import balanced, feasible, into_domain
from maxmargin.solvers.common.polish import polish
from maxmargin.solvers.common.solver import Solver, is_quadratic
from maxmargin.solvers.reference.hard_margin import hull_distance, is_proof, nearest_points, sharpened_proof
from maxmargin.solvers.reference.qp_forms import InteriorPoint, has_primal_form, solve_dual, solve_primal

_INSIDE = 1e-5  # share of the strength by which a sum of multipliers must miss it for its weight to be zero
_OPTIMAL = 1e-10  # a relative gap below which exact zeros are worth more than another digit
_GOOD = 1e-9  # a relative gap that asks for no second opinion
_OVER = (Status.CONVERGED, Status.STALLED)
_MAX_GRAM = 4000  # rows up to which a whole kernel matrix is worth one


@dataclass(frozen=True)
class QP(Solver):
    """Quadratic programming by clarabel.

    form is "dual", "primal", or "auto": primal for linear problems with fewer features than rows, otherwise dual, and
    the other form as a second opinion where rounding defeated the first.
    """

    form: Literal["auto", "dual", "primal"] = "auto"
    name: ClassVar[str] = "qp"

    def takes(self, problem: ProblemKind) -> bool:
        """Whether the dual is a quadratic program, or with an L1 penalty the primal."""
        if problem.nu is not None or not is_quadratic(problem.loss):
            return False
        is_primal = has_primal_form(problem) and not isinstance(problem.loss, HardMargin)
        return problem.penalty == L2() or (isinstance(problem.penalty, L1) and is_primal)

    def refusal(self, problem: ProblemKind) -> str:
        """What does not suit: the loss, or the penalty."""
        if not is_quadratic(problem.loss):
            return f"solver='qp' cannot solve the {problem.loss.name} loss, whose dual is not a quadratic program."
        return (
            "solver='qp' is for the penalty 1/2 |w|^2, and for an L1 penalty with the hinge or the tube, also "
            f"squared, not for: {problem.objective}."
        )

    def solve(self, problem: Problem, start: Solution | None = None) -> Solution:
        """Solve to the last digits; an interior-point method has no use for a start.

        max_seconds may be overrun by one iteration, for which a matrix with one row a variable is factored. Where time
        is up with nothing better, the answer is alpha = 0.
        """
        self.check(problem)
        box = problem.loss.dual_box(problem.costs)
        assert box is not None
        if isinstance(problem, KernelProblem) and not (problem.is_convex or problem.is_convex_here()):
            raise ParameterError(
                f"solver='qp' needs a kernel matrix without negative eigenvalues, and these data give it some: the "
                f"dual has no maximum for {problem.objective}. See `maxmargin.kernels.mercer_check`."
            )
        history = History()
        end = math.inf if self.max_seconds is None else time.perf_counter() + self.max_seconds
        if isinstance(problem, LinearProblem) and problem.penalty != L2():
            answer = self._sparse(problem, box, history, end)
        elif isinstance(problem.loss, HardMargin):
            answer = self._hard_margin(problem, box, history, end)
        else:
            answer = self._soft_margin(problem, box, history, end)
        iterations = float(answer.point.iterations)
        return answer.at.solution(answer.point.status, history, self.name, iterations)

    def _soft_margin(self, problem: Problem, box: DualBox, history: History, end: float) -> _Answer:
        forms = self._forms(problem)
        answer = self._solve_form(forms[0], problem, box, history, end)
        if len(forms) > 1 and answer.point.status in _OVER and answer.at.gap > _GOOD:
            other = self._solve_form(forms[1], problem, box, history, end)
            answer = min(answer, other, key=_difference)
        return answer

    def _sparse(self, problem: LinearProblem, box: DualBox, history: History, end: float) -> _Answer:
        assert isinstance(problem.penalty, L1)
        if self.form == "dual":
            raise ParameterError(
                "form='dual' is for the penalty 1/2 |w|^2; an L1 penalty is solved in its primal form."
            )
        alpha, weights, point = solve_primal(problem, self.max_iter, end)
        alpha = into_domain(problem, feasible(problem, alpha, box))
        # Off the faces of the cube a weight is zero; what the interior point has there is how far it was from the end.
        inside = problem.penalty.strength - np.abs(problem.weights_from(problem.coefficients(alpha)))
        snapped = np.where(inside > _INSIDE * problem.penalty.strength, 0.0, weights)
        candidates = []
        for w in (snapped, weights):
            candidates.append(_answer(problem, alpha, w, point))
            if isinstance(problem.loss, (SquaredHinge, SquaredEpsilonInsensitive)):
                fresh = into_domain(problem, _from_scores(problem, candidates[-1], box))
                candidates.append(_answer(problem, fresh, w, point))
        # The first of those that are as good as optimal, so that weights which are zero are exactly so.
        answer = min(candidates, key=lambda one: max(one.at.seen.difference, _OPTIMAL * abs(one.at.seen.primal)))
        history.record(point.iterations, answer.at.seen.primal, answer.at.seen.dual)
        return answer

    def _forms(self, problem: Problem) -> list[str]:
        """Forms to try, in order."""
        if self.form not in ("auto", "dual", "primal"):
            raise ParameterError(f"form must be 'auto', 'dual' or 'primal', got form={self.form!r}.")
        if self.form == "primal" and not has_primal_form(problem):
            raise ParameterError(f"form='primal' is for the hinge and the tube, not: {problem.objective}.")
        if self.form != "auto":
            return [self.form]
        if not has_primal_form(problem):
            return ["dual"]
        fewer_features = isinstance(problem, LinearProblem) and problem.source.n_features < problem.n_rows
        if not fewer_features:
            return ["dual", "primal"]
        return ["primal", "dual"] if problem.n_rows <= _MAX_GRAM else ["primal"]

    def _solve_form(self, form: str, problem: Problem, box: DualBox, history: History, end: float) -> _Answer:
        weights = None
        if form == "primal":
            alpha, weights, point = solve_primal(problem, self.max_iter, end)
        else:
            alpha, point = solve_dual(problem, box, self.max_iter, end)
        alpha = feasible(problem, alpha, box)
        candidates = [_answer(problem, alpha, None, point)]
        history.record(point.iterations, candidates[0].at.seen.primal, candidates[0].at.seen.dual)
        if point.status is Status.BUDGET and np.any(alpha):
            candidates.append(_answer(problem, np.zeros_like(alpha), None, point))
        if point.status is not Status.INTERRUPTED and time.perf_counter() <= end:
            polished, _ = polish(problem, alpha, box, _diagonal(problem), end)
            candidates.append(_answer(problem, polished, None, point))
            if isinstance(problem.loss, (SquaredHinge, SquaredEpsilonInsensitive)):
                candidates.append(_answer(problem, _from_scores(problem, candidates[-1], box), None, point))
        if weights is not None and isinstance(problem, LinearProblem):
            # Where C is large and features are badly scaled, w = sum_i beta_i x_i loses digits that w itself has.
            best = max(candidates, key=lambda one: one.at.seen.dual)
            candidates.append(_answer(problem, best.at.alpha, weights, point))
        answer = min(candidates, key=_difference)
        history.record(point.iterations, answer.at.seen.primal, answer.at.seen.dual)
        return answer

    def _hard_margin(self, problem: Problem, box: DualBox, history: History, end: float) -> _Answer:
        lam, point = nearest_points(problem, self.max_iter, end)
        distance = hull_distance(problem, lam)
        alpha = lam / distance**2 if distance > 0.0 else np.zeros_like(lam)
        answer = _answer(problem, alpha, None, point)
        is_over = point.status in _OVER
        if is_over and not np.isfinite(answer.at.seen.primal):
            proof = sharpened_proof(problem, lam)
            if is_proof(problem, proof) or not has_primal_form(problem):
                raise _not_separable(problem, proof)
            answer = self._solve_form("primal", problem, box, history, end)  # no proof either way: a second opinion
            if not np.isfinite(answer.at.seen.primal) and answer.point.status in _OVER:
                raise _not_separable(problem, proof)
            alpha = answer.at.alpha
        if np.isfinite(answer.at.seen.primal) and point.status is not Status.INTERRUPTED:
            history.record(point.iterations, answer.at.seen.primal, answer.at.seen.dual)
            alpha, _ = polish(problem, alpha, box, _diagonal(problem), end)
            answer = _answer(problem, _scaled_to_margin_one(problem, alpha), None, point)
            if answer.at.gap > _GOOD:  # a margin far smaller than the hulls are wide
                answer = min(answer, self._solve_form("primal", problem, box, history, end), key=_difference)
            history.record(point.iterations, answer.at.seen.primal, answer.at.seen.dual)
        return answer


class _Answer(NamedTuple):
    """A point, and how the program ended that led to it."""

    at: Candidate
    point: InteriorPoint


def _difference(answer: _Answer) -> float:
    return answer.at.seen.difference


def _answer(problem: Problem, alpha: Vector, weights: Vector | None, point: InteriorPoint) -> _Answer:
    if weights is None and isinstance(problem, LinearProblem):
        weights = problem.weights_from(problem.coefficients(alpha))
    return _Answer(Candidate.evaluated(problem, alpha, weights), point)


def _diagonal(problem: Problem) -> Vector:
    """k(x_i, x_i)."""
    return np.square(problem.pieces(None, np.zeros(problem.n_rows)).lengths)


def _from_scores(problem: Problem, answer: _Answer, box: DualBox) -> Vector:
    """For a smooth loss the scores determine the multipliers: alpha_i = -C_i l'(z_i)."""
    if isinstance(problem, LinearProblem) and answer.at.weights is not None:
        f = problem.scores(answer.at.weights) + answer.at.seen.bias
    else:
        f = problem.combination_scores(problem.coefficients(answer.at.alpha)) + answer.at.seen.bias
    alpha = problem.loss.multipliers(-problem.costs * problem.loss.score_slope(f, problem.targets), problem.targets)
    return balanced(alpha, problem.coefficients(np.ones_like(alpha)), box) if problem.intercept.is_free else alpha


def _scaled_to_margin_one(problem: Problem, alpha: Vector) -> Vector:
    """Alpha scaled so that the smallest margin is 1: a feasible hard margin, not one that is short by rounding."""
    seen = assess(problem, alpha, None, None)
    f = problem.combination_scores(problem.coefficients(alpha)) + seen.bias
    smallest = float(np.min(problem.targets * f))
    return alpha / smallest if 0.5 < smallest < 2.0 else alpha


def _not_separable(problem: Problem, lam: Vector) -> NotSeparableError:
    bound = hull_distance(problem, lam)
    found = "no hyperplane separates the classes" if is_proof(problem, lam) else "no separating hyperplane was found"
    return NotSeparableError(
        f"{found}: {np.count_nonzero(lam)} rows contradict each other "
        f"(every separating hyperplane would have a margin of at most {bound:.2g}). "
        "Use a finite C, for example C=1, to allow slack, or a richer kernel.",
        multipliers=lam,
        margin_bound=bound,
    )
