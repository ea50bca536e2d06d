"""The linear problem: phi(x) = x, and w is a vector one can hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import ArraySource, as_double
from maxmargin.data.source import blocks
from maxmargin.penalties import L2, Penalty
from maxmargin.problems.problem import Pieces, Problem

if TYPE_CHECKING:
    from maxmargin.data.passes import Passes

_BLOCK_BYTES = 8 << 20


def linear_scores(X: Rows, weights: Vector) -> Vector:
    """<w, x> of every row in double precision, block by block: X is never copied whole."""
    rows = max(1, _BLOCK_BYTES // (8 * max(1, X.shape[1]))) if not sparse.issparse(X) else 16384
    parts = [np.asarray(as_double(X[top : top + rows]) @ weights) for top in range(0, X.shape[0], rows)]
    return np.concatenate(parts)


@dataclass(frozen=True)
class LinearProblem(Problem):
    """Minimise penalty(w) + sum_i C_i l_{y_i}(<w, x_i> + b)."""

    source: ArraySource
    """Rows in memory; or, out of core, a source of blocks (`problems.shared`)."""
    penalty: Penalty = L2()  # noqa: RUF009 - a frozen value

    @property
    def is_convex(self) -> bool:
        """Always."""
        return True

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are at hand, and not block by block."""
        return isinstance(self.source, ArraySource)

    def coefficients(self, alpha: Vector) -> Vector:
        """Beta of alpha; out of core there is room for one vector as long, and solvers keep the coefficients."""
        return super().coefficients(alpha) if self.is_in_memory else alpha

    @cached_property
    def _passes(self) -> Passes:
        from maxmargin.data.passes import Passes  # the compiler is loaded by the first fit, not by an import

        return Passes(self.source)

    def weights_from(self, beta: Vector) -> Vector:
        """sum_i beta_i x_i in one pass, in double precision."""
        if beta.ndim == 1 and self.is_in_memory:
            return self._passes.careful_combination(beta)
        total = np.zeros((self.source.n_features, *beta.shape[1:]))
        for block in blocks(self.source):
            total += as_double(block.X).T @ beta[block.span]
        return total

    def scores(self, weights: Vector) -> Vector:
        """<w, x_i> of every row in one pass, in double precision."""
        if weights.ndim == 1 and self.is_in_memory:
            return self._passes.careful_scores(weights)
        return np.concatenate([np.asarray(as_double(block.X) @ weights) for block in blocks(self.source)])

    def combination_scores(self, beta: Vector) -> Vector:
        """Scores of w = sum_i beta_i x_i."""
        return self.scores(self.weights_from(beta))

    def gram(self, rows: RowIndex | None = None) -> Matrix:
        """<x_i, x_j> over the given rows."""
        X = as_double(self.source.take(slice(None) if rows is None else rows))
        product = X @ X.T
        return np.asarray(product.todense() if sparse.issparse(product) else product)

    def pieces(self, weights: Vector | None, beta: Vector) -> Pieces:
        """Two passes: sum_i beta_i x_i, then the scores of `weights` (that sum over the strength when None)."""
        combination = self.weights_from(beta)
        strength = self.penalty.strength if isinstance(self.penalty, L2) else 1.0
        w = combination / strength if weights is None else weights
        lengths = np.sqrt(self._passes.squared_lengths())
        length = float(np.linalg.norm(w))
        size = np.abs(beta) if beta.ndim == 1 else np.sum(np.abs(beta), axis=1)
        combined = float(size @ lengths)
        penalty, conjugate = self.penalty.value(w), self.penalty.conjugate(combination)
        return Pieces(
            scores=self.scores(w),
            penalty=penalty,
            conjugate_penalty=conjugate,
            apart=self.penalty.apart(w, combination),
            lengths=lengths,
            score_size=combined / strength if weights is None else length,
            penalty_size=combined * float(np.linalg.norm(combination)) / strength + strength * length**2
            if isinstance(self.penalty, L2)
            else sum(value for value in (penalty, conjugate) if np.isfinite(value)),
        )
