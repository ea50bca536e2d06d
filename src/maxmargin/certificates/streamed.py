"""The numbers of a certificate from a source, in one pass that holds one block at a time.

The scores of w and the sum of beta_i x_i do not depend on each other, so the same pass serves both:

    for every block    v += sum_i beta_i x_i,    rows: C_i l_{y_i}(<w, x_i> + b), C_i l_{y_i}*(-beta_i / C_i), violation
    at the end         P = 1/2 |w|^2 + ... + losses,    D = -1/2 |v|^2 - ... - conjugates

as in `certificates.assessment`, of which this is the same mathematics. The intercept must be given: the best one for
given weights would need the scores of all rows at once.

Where the weights are many, one vector of their length is all there is room for. Whoever has w only as a sum of rows
lets `combine_stream` form v in its place, and asks for the numbers at w = v, which takes a second pass.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Matrix, Vector
from maxmargin.certificates.assessment import Assessment, RowTerms, put_together, row_terms
from maxmargin.data import long_sum
from maxmargin.problems import Pieces, StreamedProblem
from maxmargin.problems.streamed import StreamedRows, rows_of

_MANY_BYTES = 1 << 26  # of weights: single precision will do for what rounding has taken from sums of so many columns
_COLUMNS = 1 << 16


class StreamedAssessment(NamedTuple):
    """An assessment of each sub-problem, and the sums that were rebuilt on the way."""

    parts: list[Assessment]
    combinations: Matrix
    """sum_i beta_i x_i, one row a sub-problem."""


def combine_stream(problem: StreamedProblem, beta: Matrix, out: Matrix, buffers: Any = None) -> None:
    """Put sum_i beta_i x_i of every sub-problem into `out`, as a certificate reports it."""
    from maxmargin._loops.passes import careful_combination_loop
    from maxmargin.data.loop_rows import loop_rows  # the compiler is loaded when it is needed

    out[:] = 0.0
    missed = _missed(out)
    for block in _blocks(problem, buffers):
        rows = loop_rows(rows_of(block.X))
        for coefficients, total, rest in zip(beta, out, missed, strict=True):
            careful_combination_loop(rows, coefficients[block.span], 0, len(block.cost), total, rest)
    out += missed


def assess_stream(
    problem: StreamedProblem,
    beta: Matrix,
    weights: Sequence[Vector] | Matrix,
    bias: Sequence[float],
    buffers: Any = None,
    *,
    are_combined: bool = False,
) -> StreamedAssessment:
    """Primal, dual, gap and KKT violation of each sub-problem at its coefficients, weights and intercept.

    Blocks are read into `buffers`, where somebody has some of this problem. `are_combined` says that the weights come
    from `combine_stream`, with these coefficients.
    """
    passing = [_Passing(problem, p, beta[p], weights[p], bias[p]) for p in range(len(problem.specifications))]
    if are_combined:
        combinations, missed = np.asarray(weights), None
    else:
        combinations = np.zeros((len(passing), problem.n_features))
        missed = _missed(combinations)
    for block in _blocks(problem, buffers):
        for part in passing:
            part.add(block, None if missed is None else (combinations[part.p], missed[part.p]))
    if missed is not None:
        combinations += missed
    del missed  # as large as the weights, as is what follows
    return StreamedAssessment([part.assessment(combinations[part.p]) for part in passing], combinations)


def _missed(combinations: Matrix) -> NDArray[np.floating]:
    """What rounding takes from sums, nothing to begin with."""
    kind: Any = np.float32 if combinations.nbytes > _MANY_BYTES else np.float64
    return np.zeros(combinations.shape, dtype=kind)


def _blocks(problem: StreamedProblem, buffers: Any) -> Iterator[StreamedRows]:
    """All blocks, unless Ctrl-C comes between two of them."""
    from maxmargin.backends.threads import raise_if_interrupted

    buffers = problem.buffers() if buffers is None else buffers
    for k in range(problem.source.n_blocks):
        raise_if_interrupted()
        yield problem.read(k, buffers)


class _Passing:
    """What one sub-problem gathers during the pass."""

    def __init__(self, problem: StreamedProblem, p: int, beta: Vector, w: Vector, b: float):
        self.problem, self.p, self.beta, self.w, self.b = problem, p, beta, np.asarray(w, dtype=np.float64), b
        self.length = float(np.linalg.norm(self.w))
        self.terms: list[RowTerms] = []
        self.combined = 0.0

    def add(self, block: StreamedRows, sums: tuple[Vector, NDArray[np.floating]] | None) -> None:
        """The rows of one block; `sums` are those of beta_i x_i and what they miss, where they are asked for."""
        from maxmargin._loops.passes import careful_combination_loop, careful_scores_loop, squares_loop
        from maxmargin.data.loop_rows import loop_rows  # the compiler is loaded when it is needed

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
        target = self.problem.sub_targets(self.p, block.target)[counted]
        pieces = self._pieces(scores[counted], lengths[counted])
        found = row_terms(self.problem.loss, target, block.cost[counted], pieces, beta[counted], self.b)
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
        outside = [part.outside for part in self.terms if part.outside is not None]
        rows = RowTerms(
            loss=math.fsum(part.loss for part in self.terms),
            conjugate=math.fsum(part.conjugate for part in self.terms),
            violation=max((part.violation for part in self.terms), default=0.0),
            error=math.fsum(part.error for part in self.terms),
            outside=outside[0] if outside else None,
        )
        pieces = self._pieces(np.empty(0), np.empty(0), combination)
        return put_together(self.problem, pieces, self.beta, long_sum(self.beta), self.b, rows)


def _squared_distance(w: Vector, v: Vector) -> float:
    """|w - v|^2 without a third vector of that length."""
    spans = [slice(first, first + _COLUMNS) for first in range(0, len(w), _COLUMNS)]
    return math.fsum(float(np.sum(np.square(w[span] - v[span]))) for span in spans)
