"""Multipliers of all classes whose sums over the rows are zero, from ones whose sums are nearly so.

A row of class y holds shares q_k >= 0 with sum_k q_k = C; its coefficients are beta = C e_y - q. A free intercept needs
sum_i beta_ik = 0 for every class: what the rows of a class give to others equals what it gets, a circulation.

    q_ik  becomes  C_i q_ik exp(u_k) / sum_l q_il exp(u_l)

keeps the sums of the rows, the zeros, and every row that gives all it has to one class. Those are the multipliers whose
conditions of optimality are strict; the ones that move belong to classes that tie, where moving costs nothing to first
order. The u that balances the classes is the best intercept of a softmax with scores log q
(`problems.class_intercepts`).

Two things can make a balance impossible. What flows from one group of classes to another and never back is set to zero.
Where too few rows have a choice, every row keeps a little for its own class, which lets all flows become smaller.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from maxmargin._types import Matrix, Vector
from maxmargin.losses.multiclass import unit_vectors
from maxmargin.problems.class_intercepts import balance, column_sums, completed

_EPSILON = float(np.finfo(np.float64).eps)
_TRIES = 12


def coefficients_of(q: Matrix, y: Vector, C: Vector) -> Matrix:
    """Coefficients C e_y - q."""
    own = unit_vectors(y, q.shape[1])
    return completed(_given(q, own, C), own)


def shares_of(beta: Matrix, y: Vector, C: Vector) -> Matrix:
    """The q of coefficients beta, brought into their bounds."""
    own = unit_vectors(y, beta.shape[1])
    others = _given(np.maximum(-beta, 0.0), own, C)
    q: Matrix = others + own * np.maximum(C - np.sum(others, axis=1), 0.0)[:, None]
    return q


def _given(q: Matrix, own: Matrix, C: Vector) -> Matrix:
    """Shares of the classes that are not the rows' own; rounding may have let their sum grow past C."""
    others = q * (1.0 - own)
    others *= np.minimum(1.0, C / np.maximum(np.sum(others, axis=1), 1e-300))[:, None]
    return others


def balanced(q: Matrix, y: Vector, C: Vector) -> Matrix:
    """Coefficients near those of q with sum_i beta_ik = 0 for every class, up to the rounding of that sum."""
    own = unit_vectors(y, q.shape[1])
    flow = own.T @ (q * (1.0 - own))
    _, group = connected_components(flow > 0.0, connection="strong")
    kept = np.where(group[y.astype(np.int64)][:, None] == group, q, 0.0)
    kept = shares_of(coefficients_of(kept, y, C), y, C)
    beta, off = _tilted(kept, y, C)
    reserve = off / max(float(np.sum(C)), 1e-300)
    for _ in range(_TRIES):
        if off <= 16.0 * _EPSILON * float(np.sum(np.abs(beta))):
            return beta
        giving = (np.sum(kept * own, axis=1) < C)[:, None]
        share = min(reserve, 1.0)
        beta, off = _tilted(np.where(giving, (1.0 - share) * kept + share * C[:, None] * own, kept), y, C)
        reserve *= 8.0
    return np.zeros_like(q)  # balanced, and a bound, if a poor one


def _tilted(q: Matrix, y: Vector, C: Vector) -> tuple[Matrix, float]:
    """Coefficients after the rows with a choice have moved, and the largest imbalance that is left."""
    beta = coefficients_of(q, y, C)
    free = np.sum(q > 0.0, axis=1) > 1
    fixed = column_sums(beta[~free])
    if np.any(free):
        with np.errstate(divide="ignore"):
            scores = np.log(q[free] / C[free, None])
        beta[free] = balance(scores, y[free], C[free], fixed).beta
    return beta, float(np.max(np.abs(column_sums(beta))))
