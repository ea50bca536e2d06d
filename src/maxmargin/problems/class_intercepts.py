"""One intercept a class: the best ones for given scores.

Softmax. The minimum over b of sum_i C_i (log sum_k exp(f_ik + b_k) - f_iy - b_y) is where the multipliers

    beta_i = C_i (e_y - p_i),        p_i = softmax(f_i + b)

sum to zero for every class. Newton's method ends on that sum, not on the value, which is flat to eight digits there.
Far out, where every p_i is a unit vector, the curve is nearly straight and Newton's steps are useless; so the scores
are first divided by a large temperature, which is then lowered to 1.

Crammer and Singer. The minimum over b of

    sum_i C_i (max_k (g_ik + b_k) - f_iy - b_y),        g_ik = f_ik + [k != y_i]

is a linear program, the dual of a transport of the C_i to the classes. The same temperature t, lowered much further,
follows the minimum of the smooth function t sum_i C_i log sum_k exp((g_ik + b_k) / t) - sum_i C_i b_y towards a corner.
At a corner rows with several largest g_ik + b_k tie the classes to each other; the heaviest ties that make a forest
give the corner without the error of the smoothing.

The same number added to every b_k changes nothing; b is given with mean zero.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from maxmargin._types import Matrix, Vector
from maxmargin.losses import CrammerSinger, Softmax
from maxmargin.losses.multiclass import unit_vectors

_EPSILON = float(np.finfo(np.float64).eps)
_STEPS = 60
_SIZES = 0.5 ** np.arange(30)  # of Newton steps, tried in turn
_REACH = 20.0  # longest step, in units of the temperature
_COOLING = 0.3
_ROUGH = 1e-3  # relative imbalance that is good enough for the next temperature
_COLD = 1e-10  # last temperature of the linear program, in units of the spread of the scores


class Balance(NamedTuple):
    """What must be added to the scores, the multipliers there, and what is left of their sum over the rows."""

    shift: Vector
    beta: Matrix
    surplus: Vector


def row_sums(A: Matrix) -> Vector:
    """By a product: for a few columns several times faster than a sum along them."""
    sums: Vector = A @ np.ones(A.shape[1])
    return sums


def column_sums(A: Matrix) -> Vector:
    """Column by column in pairs, so that long sums keep their digits; NumPy adds row after row otherwise."""
    sums: Vector = np.sum(np.ascontiguousarray(A.T), axis=1)
    return sums


def completed(others: Matrix, own: Matrix) -> Matrix:
    """Multipliers from what rows give to other classes than their own, which are unit vectors.

    The own multiplier is summed from the others, so that a row far on its side keeps its digits.
    """
    beta: Matrix = own * row_sums(others)[:, None] - others
    return beta


def softmax_multipliers(f: Matrix, own: Matrix, C: Vector) -> tuple[Matrix, Vector]:
    """C_i (e_y - softmax(f_i)) of every row, and log sum_k exp(f_ik)."""
    largest = functools.reduce(np.maximum, f.T)
    p = np.exp(f - largest[:, None])
    total = row_sums(p)
    return completed((C / total)[:, None] * p * (1.0 - own), own), largest + np.log(total)


def balance(f: Matrix, y: Vector, C: Vector, fixed: Vector | float = 0.0, goal: float = 4.0 * _EPSILON) -> Balance:
    """Newton steps on u until fixed + sum_i C_i (e_y - softmax(f_i + u)) is zero up to `goal` times its terms.

    Scores of minus infinity are classes that a row can never take.
    """
    n_classes = f.shape[1]
    column = y.astype(np.int64)
    own = unit_vectors(y, n_classes)
    size_of_fixed = float(np.sum(np.abs(fixed)))

    def at(u: Vector) -> tuple[float, Matrix, Vector]:
        beta, logarithm = softmax_multipliers(f + u, own, C)
        value = float(C @ (logarithm - u[column])) - float(np.sum(fixed * u))
        return value, beta, column_sums(beta) + fixed

    u = np.zeros(n_classes)
    value, beta, surplus = at(u)
    for _ in range(_STEPS):
        if np.max(np.abs(surplus)) <= goal * (float(np.sum(np.abs(beta))) + size_of_fixed):
            break
        p = own - beta / C[:, None]
        newton = solved_up_to_a_constant(np.diag(C @ p) - (p * C[:, None]).T @ p, surplus)
        newton *= min(1.0, _REACH / max(float(np.max(np.abs(newton))), 1e-300))
        promised, before = float(surplus @ newton), float(np.linalg.norm(surplus))
        noise = 64.0 * _EPSILON * (abs(value) + float(np.sum(C)))
        for size in _SIZES:
            trial = at(u + size * newton)
            # Near the end the value has no digits left to fall, but the imbalance has.
            falls = float(np.linalg.norm(trial[2])) < (1.0 - 0.1 * size) * before and trial[0] <= value + noise
            if falls or trial[0] < value - 1e-4 * size * promised - noise:
                u, (value, beta, surplus) = u + size * newton, trial
                break
        else:
            break
    return Balance(u, beta, surplus)


def solved_up_to_a_constant(matrix: Matrix, right: Vector) -> Vector:
    """The solution with mean zero of a system whose matrix maps constants to zero."""
    answer: Vector = np.linalg.lstsq(matrix + np.trace(matrix) / len(matrix) ** 2, right, rcond=None)[0]
    return answer - np.mean(answer)


def best_class_intercepts(loss: Softmax | CrammerSinger, f: Matrix, y: Vector, C: Vector) -> Vector:
    """Minimiser over b of sum_i C_i l_{y_i}(f_i + b), with mean zero."""
    spread = float(np.max(np.ptp(f, axis=1), initial=0.0))
    if isinstance(loss, Softmax):
        b = _cooled(f, y, C, max(1.0, 0.1 * spread), 1.0)
        b = b + balance(f + b, y, C).shift
        return b - np.mean(b)
    raised = f + (1.0 - unit_vectors(y, f.shape[1]))
    present = np.bincount(y.astype(np.int64), minlength=f.shape[1]) > 0
    number = (np.cumsum(present) - 1).astype(np.float64)[y.astype(np.int64)]
    g = raised[:, present]
    last = _COLD * (1.0 + spread)
    smooth = _cooled(g, number, C, 1.0 + spread, last)
    corners = [_corner(g, smooth, C, last, least) for least in (1e-2, 1e-6)]
    values = [float(C @ loss.score_value(f[:, present] + b, number)) for b in (smooth, *corners)]
    b = np.empty(f.shape[1])
    b[present] = (smooth, *corners)[int(np.argmin(values))]
    # A class without rows must only stay out of the way of the others.
    highest = np.max(g + b[present], axis=1)
    b[~present] = np.min(highest[:, None] - raised[:, ~present], axis=0)
    return b - np.mean(b)


def _cooled(g: Matrix, y: Vector, C: Vector, first: float, last: float) -> Vector:
    """Minimiser of the smooth function at the last temperature, roughly, by way of the higher ones."""
    b, t = np.zeros(g.shape[1]), first
    while True:
        b = b + t * balance((g + b) / t, y, C, goal=_ROUGH).shift
        b -= np.mean(b)
        if t <= last:
            return b
        t = max(last, _COOLING * t)


def _corner(g: Matrix, b: Vector, C: Vector, t: float, least: float) -> Vector:
    """Intercepts that make the heaviest ties exact: those of rows whose share of a second class is at least `least`."""
    b = b.copy()
    share = softmax((g + b) / t, axis=1)
    top = np.argmax(share, axis=1)
    ties = []
    for k in range(g.shape[1]):
        rows = np.flatnonzero(top == k)
        if not len(rows):
            continue
        weight = np.where(share[rows] >= least, C[rows, None] * share[rows], 0.0)
        heaviest = np.argmax(weight, axis=0)
        for other, at in enumerate(heaviest):
            if other != k and weight[at, other] > 0.0:
                ties.append((float(weight[at, other]), k, other, int(rows[at])))
    group = np.arange(g.shape[1])
    for _, k, other, i in sorted(ties, reverse=True):
        if group[k] != group[other]:
            moving = group == group[other]
            b[moving] += g[i, k] + b[k] - g[i, other] - b[other]
            group[moving] = group[k]
    return b
