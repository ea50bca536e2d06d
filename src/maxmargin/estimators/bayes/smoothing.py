"""Smoothed shares of counts, and what they become as the smoothing goes to zero.

    P(cell | class) = (count + alpha) / (total + alpha * cells)

With alpha = 0 a cell without counts has the share 0. A row with such a cell in every class has the product 0 in every
class, and 0 / 0 is no posterior. Its limit for alpha to 0 is one. A product with z zero factors goes to 0 like

    alpha^z * product of (the other factors) * product of (1 / total) over the zero factors

so the classes with the fewest zero factors share the posterior, in proportion to the rest of that expression.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from maxmargin._types import Matrix, Rows, Vector
from maxmargin.estimators.bayes.class_sums import in_double

_SAME_COUNT = 1e-9


class Shares(NamedTuple):
    """Logarithms of shares, minus infinity where a share is 0, and of the totals that the counts were divided by."""

    log_share: Matrix
    log_total: Matrix

    @property
    def any_zero(self) -> bool:
        """Whether a share is 0."""
        return bool(np.isneginf(self.log_share.min()))

    def finite(self) -> Matrix:
        """The logarithms, with 1 / total for a share of 0."""
        return np.where(np.isneginf(self.log_share), -self.log_total, self.log_share)


def shares(smoothed: Matrix, total: Matrix, cells: int) -> Shares:
    """Smoothed counts divided by their totals; where nothing was counted at all, every cell has the same share.

    The array of counts is used up: new memory for a large one costs more than its logarithms.
    """
    empty = total == 0.0
    with np.errstate(divide="ignore"):  # the logarithm of 0 is minus infinity, and meant
        log_total = np.where(empty, np.log(cells), np.log(total))
        log_share = np.log(smoothed, out=smoothed)
    if np.any(empty):
        log_share[np.broadcast_to(empty, log_share.shape)] = 0.0
    log_share -= log_total
    return Shares(log_share, log_total)


class Scores(NamedTuple):
    """Logarithm of P(class) P(x | class) for rows and classes, and how many zero factors were replaced in it.

    `zeros` is None where there are none; otherwise `log_joint` has 1 / total in place of each zero factor.
    """

    log_joint: Matrix
    zeros: Matrix | None = None

    def exact(self) -> Matrix:
        """Logarithm of the joint probability, minus infinity for what cannot be."""
        return self.log_joint if self.zeros is None else np.where(self.zeros > 0.0, -np.inf, self.log_joint)

    def limit(self) -> Matrix:
        """What the posterior is proportional to, in logarithms: the limit for alpha to 0, so that no row has none."""
        if self.zeros is None:
            return self.log_joint
        possible = np.where(np.isneginf(self.log_joint), np.inf, self.zeros)  # a class of prior 0 stays out
        fewest = possible.min(axis=1, keepdims=True)
        return np.where(possible <= fewest * (1.0 + _SAME_COUNT), self.log_joint, -np.inf)

    def log_posterior(self) -> Matrix:
        """The limit, normalised over the classes."""
        limit = self.limit()
        below_best = limit - limit.max(axis=1, keepdims=True)  # so that the digits of the differences are kept
        posterior: Matrix = below_best - logsumexp(below_best, axis=1, keepdims=True)
        return posterior


def linear_scores(
    X: Rows, weights: Matrix, offset: Vector, zeros: Matrix | None = None, zeros_offset: Vector | float = 0.0
) -> Scores:
    """Scores that are linear in the features: log_joint = X weights + offset, zeros = X zeros + zeros_offset."""
    rows = in_double(X)
    log_joint = rows @ weights + offset
    return Scores(log_joint, None if zeros is None else rows @ zeros + zeros_offset)
