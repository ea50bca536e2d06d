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

Out of core a pass holds one block at a time. The scores of w and the sum of beta_i x_i do not depend on each other, so
one pass serves both, for all sub-problems that share the rows; the intercept must be given, because the best one for
given weights would need the scores of all rows at once. Where the weights are many, one vector of their length is all
there is room for: whoever has w only as a sum of rows lets `combine_together` form it, and asks for the numbers there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Matrix, Vector
from maxmargin.data import long_sum
from maxmargin.losses import HardMargin, Loss
from maxmargin.problems import LinearProblem, Pieces, Problem, SharedRows, TaskRows, best_intercept
from maxmargin.problems.shared import SharedBlock, rows_of

_ROUNDOFF = float(np.finfo(np.float64).eps)
_SPAN = 16_384  # rows
_MANY_BYTES = 1 << 26  # of weights: single precision will do for what rounding has taken from sums of so many columns
_COLUMNS = 1 << 16


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
    if not problem.is_in_memory:
        assert isinstance(problem, LinearProblem)
        assert weights is not None
        assert bias is not None
        return assess_together([problem], beta[None, :], weights[None, :], [float(bias)]).parts[0]
    pieces = problem.pieces(weights, beta)
    # Column by column: along the rows NumPy adds one after the other, and long sums would seem out of balance.
    total = np.sum(np.ascontiguousarray(beta.T), axis=1) if beta.ndim > 1 else long_sum(beta)
    b = _intercept(problem, pieces, total) if bias is None else bias
    rows = _row_terms(problem.loss, problem.targets, problem.costs, pieces, beta, b)
    return _put_together(problem, pieces, beta, total, b, rows)


def _put_together(
    problem: Problem,
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


def _row_terms(loss: Loss, targets: Vector, costs: Vector, pieces: Pieces, beta: Vector, b: float | Vector) -> RowTerms:
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


def _primal(problem: Problem, pieces: Pieces, b: float | Vector, rows: RowTerms) -> float:
    scale = problem.intercept.scale
    penalty = pieces.penalty
    if 0.0 < scale < np.inf:
        penalty += 0.5 * float(np.sum(np.square(b))) / scale**2
    if isinstance(problem.loss, HardMargin):
        smallest = float(np.min(problem.targets * (pieces.scores + b)))
        return penalty / min(smallest, 1.0) ** 2 if smallest > 0.0 else math.inf
    return penalty + rows.loss


def _dual(problem: Problem, pieces: Pieces, beta: Vector, total: float | Vector, rows: RowTerms) -> tuple[float, str]:
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
    problem: Problem,
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


class Together(NamedTuple):
    """An assessment of each sub-problem, and the sums that were rebuilt on the way."""

    parts: list[Assessment]
    combinations: Matrix
    """sum_i beta_i x_i, one row a sub-problem."""


def combine_together(shared: SharedRows, beta: Matrix, out: Matrix, buffers: Any = None) -> None:
    """Put sum_i beta_i x_i of every sub-problem into `out`, as a certificate reports it."""
    from maxmargin._loops.passes import careful_combination_loop
    from maxmargin.data.rows import loop_rows  # the compiler is loaded when it is needed

    out[:] = 0.0
    missed = _missed(out)
    for block in _blocks(shared, buffers):
        rows = loop_rows(rows_of(block.X))
        for coefficients, total, rest in zip(beta, out, missed, strict=True):
            careful_combination_loop(rows, coefficients[block.span], 0, len(block.cost), total, rest)
    out += missed


def assess_together(
    problems: Sequence[LinearProblem],
    beta: Matrix,
    weights: Sequence[Vector] | Matrix,
    bias: Sequence[float],
    buffers: Any = None,
    *,
    are_combined: bool = False,
) -> Together:
    """Primal, dual, gap and KKT violation of problems that share rows out of core, in one pass.

    Blocks are read into `buffers`, where somebody has some of these rows. `are_combined` says that the weights come
    from `combine_together`, with these coefficients.
    """
    gathering = [_Gathering(*point) for point in zip(problems, beta, weights, bias, strict=True)]
    shared = gathering[0].view.shared
    if are_combined:
        combinations, missed = np.asarray(weights), None
    else:
        combinations = np.zeros((len(gathering), shared.n_features))
        missed = _missed(combinations)
    for block in _blocks(shared, buffers):
        for k, part in enumerate(gathering):
            part.add(block, None if missed is None else (combinations[k], missed[k]))
    if missed is not None:
        combinations += missed
    del missed  # as large as the weights, as is what follows
    parts = [part.assessment(v) for part, v in zip(gathering, combinations, strict=True)]
    return Together(parts, combinations)


def _missed(combinations: Matrix) -> NDArray[np.floating]:
    """What rounding takes from sums, nothing to begin with."""
    kind: Any = np.float32 if combinations.nbytes > _MANY_BYTES else np.float64
    return np.zeros(combinations.shape, dtype=kind)


def _blocks(shared: SharedRows, buffers: Any) -> Iterator[SharedBlock]:
    """All blocks, unless Ctrl-C comes between two of them."""
    from maxmargin.backends.threads import raise_if_interrupted

    buffers = shared.buffers() if buffers is None else buffers
    for k in range(shared.n_blocks):
        raise_if_interrupted()
        yield shared.read(k, buffers)


class _Gathering:
    """What the numbers of one sub-problem are made of, gathered block by block."""

    def __init__(self, problem: LinearProblem, beta: Vector, w: Vector, b: float):
        assert isinstance(problem.source, TaskRows)
        self.problem, self.view = problem, problem.source
        self.beta, self.w, self.b = beta, np.asarray(w, dtype=np.float64), b
        self.length = float(np.linalg.norm(self.w))
        self.terms: list[RowTerms] = []
        self.combined = 0.0

    def add(self, block: SharedBlock, sums: tuple[Vector, NDArray[np.floating]] | None) -> None:
        """The rows of one block; `sums` are those of beta_i x_i and what they miss, where they are asked for."""
        from maxmargin._loops.passes import careful_combination_loop, careful_scores_loop, squares_loop
        from maxmargin.data.rows import loop_rows  # the compiler is loaded when it is needed

        rows, beta, n = loop_rows(rows_of(block.X)), self.beta[block.span], len(block.cost)
        scores, squares = np.empty(n), np.empty(n)
        if sums is not None:
            careful_combination_loop(rows, beta, 0, n, *sums)
        careful_scores_loop(rows, self.w, 0, n, scores)
        squares_loop(rows, 0, n, squares)
        lengths = np.sqrt(squares)
        self.combined += float(np.abs(beta) @ lengths)
        counted = block.cost > 0.0
        if not np.any(counted):
            return
        target = self.view.shared.sub_targets(self.view.part, block.target)[counted]
        pieces = self._pieces(scores[counted], lengths[counted])
        found = _row_terms(self.problem.loss, target, block.cost[counted], pieces, beta[counted], self.b)
        if found.outside is not None:
            found = found._replace(outside=block.start + int(np.flatnonzero(counted)[found.outside]))
        self.terms.append(found)

    def _pieces(self, scores: Vector, lengths: Vector, v: Vector | None = None) -> Pieces:
        """The pieces of some rows, with the penalties where the sum v of all rows is known."""
        half = 0.5 * self.length**2
        conjugate = math.nan if v is None else 0.5 * float(v @ v)
        return Pieces(
            scores=scores,
            penalty=half,
            conjugate_penalty=conjugate,
            apart=math.nan if v is None else 0.5 * _squared_distance(self.w, v),
            lengths=lengths,
            score_size=self.length,
            penalty_size=math.nan if v is None else self.combined * math.sqrt(2.0 * conjugate) + 2.0 * half,
        )

    def assessment(self, combination: Vector) -> Assessment:
        """The numbers, when all blocks were seen."""
        rows = RowTerms(
            loss=math.fsum(part.loss for part in self.terms),
            conjugate=math.fsum(part.conjugate for part in self.terms),
            violation=max((part.violation for part in self.terms), default=0.0),
            error=math.fsum(part.error for part in self.terms),
            outside=next((part.outside for part in self.terms if part.outside is not None), None),
        )
        pieces = self._pieces(np.empty(0), np.empty(0), combination)
        return _put_together(self.problem, pieces, self.beta, long_sum(self.beta), self.b, rows)


def _squared_distance(w: Vector, v: Vector) -> float:
    """|w - v|^2 without a third vector of that length."""
    spans = [slice(first, first + _COLUMNS) for first in range(0, len(w), _COLUMNS)]
    return math.fsum(float(np.sum(np.square(w[span] - v[span]))) for span in spans)
