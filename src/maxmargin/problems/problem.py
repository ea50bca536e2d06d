"""A training problem: data, loss, cost and intercept, with the pieces a certificate needs; and the linear one.

    minimise over w, b   P(w, b) = penalty(w) + 1/2 (b / s)^2 + sum_i C_i l_{y_i}(f_i)      f_i = <w, phi(x_i)> + b
    maximise over beta   D(beta) = -penalty*(sum_i beta_i phi(x_i)) - 1/2 (s sum_i beta_i)^2
                                   - sum_i C_i l_{y_i}*(-beta_i / C_i)

with s the scale of the intercept (`problems.intercept`) and beta the coefficients of the multipliers alpha
(`losses.base`). For s = infinity, the free intercept, D is finite only where sum_i beta_i = 0.

Fenchel's inequality gives P(w, b) >= D(beta) for every w, b and beta, whatever solver they come from.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import sparse

from maxmargin._loops.loss_curve import Curve
from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.data import ArraySource, Source, as_double
from maxmargin.data.source import blocks
from maxmargin.kernels import Kernel
from maxmargin.losses import HardMargin, Loss
from maxmargin.penalties import L2, Penalty
from maxmargin.problems.intercept import Intercept

if TYPE_CHECKING:
    from maxmargin.data.rows import ArrayRows

_BLOCK_BYTES = 8 << 20


class Pieces(NamedTuple):
    """What one fresh look at the data gives for a point (w, beta), all in double precision."""

    scores: Vector
    """<w, phi(x_i)>, without the intercept."""
    penalty: float
    """penalty(w)."""
    conjugate_penalty: float
    """penalty*(sum_i beta_i phi(x_i))."""
    apart: float
    """penalty(w) + penalty*(v) - <w, v> at v = sum_i beta_i phi(x_i), the part of the duality gap that is no row's.

    For the L2 penalty 1/2 |w - v|^2; for L1 the sum of |w_j| - w_j v_j."""
    lengths: Vector
    """|phi(x_i)|, for the estimate of rounding."""
    score_size: float
    """Size, per unit of |phi(x_i)|, of the largest number met while a score was summed."""
    penalty_size: float
    """Size of the numbers that were summed for the penalties."""


class ProblemKind:
    """What a solver needs to know of a problem before it takes one, with or without the data.

    `Problem` has rows, `Specification` has none yet. It is linear and without nu unless a subclass says otherwise.
    """

    loss: Loss
    C: float
    intercept: Intercept

    @property
    def penalty(self) -> Penalty:
        """The penalty on w."""
        return L2()

    @property
    def kernel(self) -> Kernel | None:
        """The kernel, None for a linear problem."""
        return None

    @property
    def nu(self) -> float | None:
        """Share of rows that may be margin errors, where that is given in place of C (or of epsilon)."""
        return None

    @property
    def curve(self) -> Curve:
        """The loss as compiled loops know it; for problems with one that they do know."""
        curve = self.loss.curve
        assert curve is not None
        return curve

    @property
    def objective(self) -> str:
        """What is minimised, in words."""
        is_hard = isinstance(self.loss, HardMargin)
        loss = "subject to y_i f_i >= 1" if is_hard else f"+ {self.C:.6g} sum_i {self.loss.written}"
        where = "linear" if self.kernel is None else f"kernel {self.kernel}"
        return f"{self.penalty.words} {loss}, {where}, {self.intercept.words}"


@dataclass(frozen=True)
class Problem(ProblemKind, ABC):
    """Data, loss, cost and intercept; the subclasses say what phi is."""

    source: Source
    loss: Loss
    C: float
    intercept: Intercept

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.source.n_rows

    @property
    def is_in_memory(self) -> bool:
        """Whether all rows are at hand, and not block by block."""
        return True

    @property
    def targets(self) -> Vector:
        """y_i of every row: -1 or +1, a number, or the number of a class."""
        return self.source.y

    @cached_property
    def costs(self) -> Vector:
        """C_i = C times the weight of the row; 1 for a hard margin, which has no cost."""
        if isinstance(self.loss, HardMargin):
            return np.ones(self.n_rows)
        return self.C * self.source.weight

    @property
    @abstractmethod
    def is_convex(self) -> bool:
        """Whether the penalty is convex, so that a duality gap exists; not so for an indefinite kernel."""

    @abstractmethod
    def pieces(self, weights: Vector | None, beta: Vector) -> Pieces:
        """Scores and penalties of (weights, beta), rebuilt from the data."""

    @abstractmethod
    def gram(self, rows: RowIndex | None = None) -> Matrix:
        """Inner products of phi(x_i) over the given rows (None for all), in double: for small sets of rows only."""

    @abstractmethod
    def combination_scores(self, beta: Vector) -> Vector:
        """<sum_j beta_j phi(x_j), phi(x_i)> of every row, without an intercept."""

    def coefficients(self, alpha: Vector) -> Vector:
        """Beta of alpha, so that w = sum_i beta_i phi(x_i)."""
        return self.loss.coefficients(alpha, self.targets)


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
    def _passes(self) -> ArrayRows:
        from maxmargin.data.rows import ArrayRows  # the compiler is loaded by the first fit, not by an import

        return ArrayRows(self.source)

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
