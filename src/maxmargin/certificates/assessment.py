"""The numbers of a certificate, from a problem and a point, trusting nothing a solver kept.

For any w, b and any multipliers the duality gap P(w, b) - D(beta) bounds how far P(w, b) is from its minimum. Here
P and D are formed from fresh scores f_i = <w, phi(x_i)> and a fresh sum_i beta_i phi(x_i):

    P = penalty(w) + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i + b)
    D = -penalty*(sum_i beta_i phi(x_i)) - 1/2 (s sum_i beta_i)^2 - sum_i C_i l_{y_i}*(-beta_i / C_i)

The gap is a sum of terms that are each zero at the optimum: C_i (l_{y_i}(f_i) + l_{y_i}*(v_i) - v_i f_i) for every row,
and 1/2 |w - sum_i beta_i phi(x_i)|^2. The KKT violation is the worst of them: of the rows measured as a distance
(`Loss.score_violation`), of the weights as their share of the relative gap.

A hard margin is finite only where every margin is at least 1. A point with a smallest margin m in (0, 1) is scaled by
1 / m, which makes it feasible, before P is taken; at m <= 0 P is infinite.

`rounding` estimates the error of P - D itself: the unit roundoff times the sizes of the numbers that were added on the
way, which can be far larger than their sum (|phi(x_i)| sum_j |beta_j| |phi(x_j)| for a score of a kernel machine).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from maxmargin._types import Vector
from maxmargin.losses import HardMargin
from maxmargin.problems import Pieces, Problem, best_intercept

_ROUNDOFF = float(np.finfo(np.float64).eps)


class Assessment(NamedTuple):
    """Primal and dual value of a point, and how well it satisfies the conditions of optimality."""

    bias: float | Vector
    primal: float
    dual: float
    gap: float
    kkt_violation: float
    rounding: float
    reason: str
    """Why the gap is not a number or infinite, else empty."""

    @property
    def difference(self) -> float:
        """Primal - dual, whether or not it bounds anything."""
        return self.primal - self.dual


def assess(problem: Problem, alpha: Vector, weights: Vector | None, bias: float | Vector | None) -> Assessment:
    """Primal, dual, gap and KKT violation of a point; the best intercept is taken where `bias` is None."""
    beta = problem.coefficients(alpha)
    pieces = problem.pieces(weights, beta)
    b = _intercept(problem, pieces, beta) if bias is None else bias
    primal = _primal(problem, pieces, b)
    # Column by column: along the rows NumPy adds one after the other, and long sums would seem out of balance.
    total = np.sum(np.ascontiguousarray(beta.T), axis=1) if beta.ndim > 1 else math.fsum(beta)
    dual, reason = _dual(problem, pieces, beta, total)
    rounding = _rounding(problem, pieces, b, total, primal, dual)
    if not problem.is_convex:
        reason = "the kernel is not positive semidefinite, so no dual bound exists; only KKT is reported"
    return Assessment(
        bias=b,
        primal=primal,
        dual=dual,
        gap=primal - dual if problem.is_convex else math.nan,
        kkt_violation=_violation(problem, pieces, beta, b, primal),
        rounding=rounding,
        reason=reason,
    )


def _intercept(problem: Problem, pieces: Pieces, beta: Vector) -> float | Vector:
    if problem.intercept.is_free:
        return best_intercept(problem.loss, pieces.scores, problem.targets, problem.costs)
    return problem.intercept.scale**2 * (np.sum(beta, axis=0) if beta.ndim > 1 else math.fsum(beta))


def _primal(problem: Problem, pieces: Pieces, b: float | Vector) -> float:
    scale = problem.intercept.scale
    penalty = pieces.penalty
    if 0.0 < scale < np.inf:
        penalty += 0.5 * float(np.sum(np.square(b))) / scale**2
    if isinstance(problem.loss, HardMargin):
        smallest = float(np.min(problem.targets * (pieces.scores + b)))
        return penalty / min(smallest, 1.0) ** 2 if smallest > 0.0 else math.inf
    return penalty + float(problem.costs @ problem.loss.score_value(pieces.scores + b, problem.targets))


def _dual(problem: Problem, pieces: Pieces, beta: Vector, total: float | Vector) -> tuple[float, str]:
    scale = problem.intercept.scale
    size = float(np.sum(np.abs(beta)))
    if problem.intercept.is_free:
        off = float(np.max(np.abs(total)))
        if off > 64.0 * _ROUNDOFF * size:
            return -math.inf, f"the multipliers are not balanced: sum_i alpha_i y_i = {off:.3g} for a free intercept"
        cost = 0.0
    else:
        cost = 0.5 * scale**2 * float(np.sum(np.square(total)))
    conjugate = problem.loss.score_conjugate(_slopes(problem, beta), problem.targets)
    outside = np.flatnonzero(np.isinf(conjugate))
    if len(outside):
        return -math.inf, f"the multiplier of row {outside[0]} is outside its bounds"
    dual = -pieces.conjugate_penalty - cost - float(problem.costs @ conjugate)
    return dual, "" if math.isfinite(dual) else "sum_i beta_i x_i is outside the domain of the penalty's conjugate"


def _slopes(problem: Problem, beta: Vector) -> Vector:
    """v_i = -beta_i / C_i."""
    costs = problem.costs if beta.ndim == 1 else problem.costs[:, None]
    return -beta / costs


def _violation(problem: Problem, pieces: Pieces, beta: Vector, b: float | Vector, primal: float) -> float:
    rows = problem.loss.score_violation(pieces.scores + b, _slopes(problem, beta), problem.targets)
    return max(float(np.max(rows)), pieces.apart / max(abs(primal), 1e-300))


def _rounding(
    problem: Problem, pieces: Pieces, b: float | Vector, total: float | Vector, primal: float, dual: float
) -> float:
    slope = problem.loss.score_slope(pieces.scores + b, problem.targets)
    steepness = np.abs(slope) if slope.ndim == 1 else np.sum(np.abs(slope), axis=1)
    score_error = pieces.lengths * pieces.score_size + float(np.max(np.abs(b)))
    terms = float((problem.costs * steepness) @ score_error) + pieces.penalty_size
    terms += sum(abs(value) for value in (primal, dual) if math.isfinite(value))
    # Errors of sums grow like the square root of their length when they are as often up as down.
    growth = 4.0 + math.sqrt(problem.n_rows)
    balance = float(np.sum(np.abs(b * np.asarray(total)))) if problem.intercept.is_free else 0.0
    return _ROUNDOFF * growth * terms + balance
