"""The numbers of a certificate, from a problem and a point, trusting nothing a solver kept.

For any w, b and any multipliers the duality gap P(w, b) - D(beta) bounds how far P(w, b) is from its minimum. Here
P and D are formed from fresh scores f_i = <w, phi(x_i)> and a fresh sum_i beta_i phi(x_i):

    P = penalty(w) + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i + b)
    D = -penalty*(sum_i beta_i phi(x_i)) - 1/2 (s sum_i beta_i)^2 - sum_i C_i l_{y_i}*(-beta_i / C_i)

The gap is a sum of terms that are each zero at the optimum: C_i (l_{y_i}(f_i) + l_{y_i}*(v_i) - v_i f_i) for every row,
and that of the penalty: 1/2 |w - sum_i beta_i phi(x_i)|^2, or for L1 the sum of |w_j| - w_j sum_i beta_i x_ij. The KKT
violation is the worst of them: of the rows measured as a distance (`Loss.score_violation`), of the weights as their
share of the relative gap.

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
from maxmargin.data import long_sum
from maxmargin.losses import HardMargin, Loss
from maxmargin.problems import Pieces, Problem, StreamedProblem, best_intercept

_ROUNDOFF = float(np.finfo(np.float64).eps)
_SPAN = 16_384  # rows


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


class RowTerms(NamedTuple):
    """Sums over rows, and the worst row."""

    loss: float
    """sum_i C_i l_{y_i}(f_i)."""
    conjugate: float
    """sum_i C_i l_{y_i}*(v_i)."""
    violation: float
    error: float
    """sum_i C_i |l'| times the size of the rounding of f_i, in units of the roundoff."""
    outside: int | None
    """The first row whose multiplier is outside its bounds."""


def assess(problem: Problem, alpha: Vector, weights: Vector | None, bias: float | Vector | None) -> Assessment:
    """Primal, dual, gap and KKT violation of a point; the best intercept is taken where `bias` is None."""
    beta = problem.coefficients(alpha)
    pieces = problem.pieces(weights, beta)
    # Column by column: along the rows NumPy adds one after the other, and long sums would seem out of balance.
    total = np.sum(np.ascontiguousarray(beta.T), axis=1) if beta.ndim > 1 else long_sum(beta)
    b = _intercept(problem, pieces, total) if bias is None else bias
    rows = row_terms(problem.loss, problem.targets, problem.costs, pieces, beta, b)
    return put_together(problem, pieces, beta, total, b, rows)


def put_together(
    problem: Problem | StreamedProblem,
    pieces: Pieces,
    beta: Vector,
    total: float | Vector,
    b: float | Vector,
    rows: RowTerms,
) -> Assessment:
    """The numbers from what the penalties, the intercept and the rows contribute."""
    primal = _primal(problem, pieces, b, rows)
    dual, reason = _dual(problem, pieces, beta, total, rows)
    if not problem.is_convex:
        reason = "the kernel is not positive semidefinite, so no dual bound exists; only KKT is reported"
    return Assessment(
        bias=b,
        primal=primal,
        dual=dual,
        gap=primal - dual if problem.is_convex else math.nan,
        kkt_violation=max(rows.violation, pieces.apart / max(abs(primal), 1e-300)),
        rounding=_rounding(problem, pieces, b, total, primal, dual, rows),
        reason=reason,
    )


def row_terms(loss: Loss, targets: Vector, costs: Vector, pieces: Pieces, beta: Vector, b: float | Vector) -> RowTerms:
    """What the rows contribute, a span at a time: the numbers on the way stay in the cache."""
    n = len(costs)
    span = n if isinstance(loss, HardMargin) else _SPAN  # a wall measures multipliers by their sum over all rows
    values, conjugates, errors = [], [], []
    violation, outside = 0.0, None
    shift = float(np.max(np.abs(b)))
    for top in range(0, n, span):
        rows = slice(top, top + span)
        f, y, C = pieces.scores[rows] + b, targets[rows], costs[rows]
        v = -beta[rows] / (C if beta.ndim == 1 else C[:, None])
        conjugate = loss.score_conjugate(v, y)
        if outside is None and np.any(np.isinf(conjugate)):
            outside = top + int(np.flatnonzero(np.isinf(conjugate))[0])
        slope = np.abs(loss.score_slope(f, y))
        steepness = slope if slope.ndim == 1 else np.sum(slope, axis=1)
        values.append(float(C @ loss.score_value(f, y)))
        conjugates.append(float(C @ conjugate))
        errors.append(float((C * steepness) @ (pieces.lengths[rows] * pieces.score_size + shift)))
        violation = max(violation, float(np.max(loss.score_violation(f, v, y))))
    return RowTerms(math.fsum(values), math.fsum(conjugates), violation, math.fsum(errors), outside)


def _intercept(problem: Problem, pieces: Pieces, total: float | Vector) -> float | Vector:
    if problem.intercept.is_free:
        return best_intercept(problem.loss, pieces.scores, problem.targets, problem.costs)
    return problem.intercept.scale**2 * total


def _primal(problem: Problem | StreamedProblem, pieces: Pieces, b: float | Vector, rows: RowTerms) -> float:
    scale = problem.intercept.scale
    penalty = pieces.penalty
    if 0.0 < scale < np.inf:
        penalty += 0.5 * float(np.sum(np.square(b))) / scale**2
    if isinstance(problem.loss, HardMargin):
        smallest = float(np.min(problem.targets * (pieces.scores + b)))
        return penalty / min(smallest, 1.0) ** 2 if smallest > 0.0 else math.inf
    return penalty + rows.loss


def _dual(
    problem: Problem | StreamedProblem, pieces: Pieces, beta: Vector, total: float | Vector, rows: RowTerms
) -> tuple[float, str]:
    scale = problem.intercept.scale
    if problem.intercept.is_free:
        off, size = float(np.max(np.abs(total))), float(np.sum(np.abs(beta)))
        if off > 64.0 * _ROUNDOFF * size:
            return -math.inf, f"the multipliers are not balanced: sum_i alpha_i y_i = {off:.3g} for a free intercept"
        cost = 0.0
    else:
        cost = 0.5 * scale**2 * float(np.sum(np.square(total)))
    if rows.outside is not None:
        return -math.inf, f"the multiplier of row {rows.outside} is outside its bounds"
    dual = -pieces.conjugate_penalty - cost - rows.conjugate
    return dual, "" if math.isfinite(dual) else "sum_i beta_i x_i is outside the domain of the penalty's conjugate"


def _rounding(
    problem: Problem | StreamedProblem,
    pieces: Pieces,
    b: float | Vector,
    total: float | Vector,
    primal: float,
    dual: float,
    rows: RowTerms,
) -> float:
    terms = rows.error + pieces.penalty_size
    terms += sum(abs(value) for value in (primal, dual) if math.isfinite(value))
    # Errors of sums grow like the square root of their length when they are as often up as down.
    growth = 4.0 + math.sqrt(problem.n_rows)
    balance = float(np.sum(np.abs(b * np.asarray(total)))) if problem.intercept.is_free else 0.0
    return _ROUNDOFF * growth * terms + balance
