"""Steps on one or two multipliers of a dual at a time: coordinate ascent, simplified SMO, pairs.

One multiplier with a kernel, the scores f of all rows kept. The others fixed, -D is a parabola plus
absolute_i |alpha_i| on an interval (`DualBox`). With signs s_i, targets t_i = linear_i + o_i and c the square of the
scale of the constant feature, the slope and the curvature of the parabola are

    G_i = s_i (f_i + c sum_j beta_j) - t_i + diagonal_i alpha_i
    q_i = k_ii + c + diagonal_i

and the best value is soft(alpha_i - G_i / q_i, absolute_i / q_i), clipped to the box. A change of alpha_i by delta is
a change of all scores, f += s_i delta K_i: a step that moves costs O(n), one that does not costs nothing.

L4's update of one coefficient at a time, for kernel regression, is a step of gradient descent on a row instead.

Simplified SMO: one pass over the rows, each that violates its condition with a partner drawn before. With
f_i = sum_j alpha_j y_j k_ij and E_i = f_i + b - y_i, a row violates its condition by more than tol if

    alpha_i < C_i and y_i E_i < -tol      or      alpha_i > 0 and y_i E_i > tol

On the line that keeps sum_i alpha_i y_i, where alpha_j moves by t and alpha_i by -y_i y_j t, the dual changes by

    t y_j (E_i - E_j) - 1/2 t^2 eta        eta = k_ii + k_jj - 2 k_ij

The best t, cut where either multiplier meets its bound, is taken. Then b is put where the rows that are off their
bounds have E = 0.

Pairs of a linear machine, which keep sum_i alpha_i y_i = 0, with w = sum_i alpha_i y_i x_i kept:

    minimise over alpha   1/2 |w|^2 + 1/2 sum_i D_i alpha_i^2 - aim sum_i alpha_i
    subject to            0 <= alpha_i <= U_i,   sum_i alpha_i y_i = 0

    hinge:          U_i = C_i,       D_i = 0,              aim = 1
    squared hinge:  U_i = infinity,  D_i = 1 / (2 C_i),    aim = 1

The pull of a row is how fast D rises with beta_i = y_i alpha_i:

    pull_i = aim y_i - <w, x_i> - D_i beta_i

A step raises beta of the row with the larger pull and lowers beta of the other by the same amount,

    change = (pull_i - pull_j) / (|x_i - x_j|^2 + D_i + D_j),

as far as both stay in their boxes: the best change for this pair, so the dual never falls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.rows import add_row, row_dot
from maxmargin._types import Matrix, RowIndex, Vector

_ROUNDOFF = 2.0**-52
_CANDIDATES = 16  # rows among which a partner is sought

# One multiplier at a time, with a kernel ------------------------------------------------------------------------------


class DualTerms(NamedTuple):
    """What the dual has of each row beside the kernel matrix, in the letters above."""

    signs: Vector
    targets: Vector
    lower: Vector
    upper: Vector
    absolute: Vector
    diagonal: Vector
    curvature: Vector


@fast_loop
def _rise(slope: float, curvature: float, absolute: float, a: float, new: float) -> float:
    """How much -D rises from a to `new`."""
    step = new - a
    rise: float = (slope + 0.5 * curvature * step) * step + absolute * (abs(new) - abs(a))
    return rise


@fast_loop
def best_value(slope: float, curvature: float, absolute: float, lower: float, upper: float, a: float) -> float:
    """Where a multiplier that is at a should be."""
    if curvature > 0.0:
        heading = a - slope / curvature
        shrunk = max(abs(heading) - absolute / curvature, 0.0)
        return min(max(shrunk if heading > 0.0 else -shrunk, lower), upper)
    # An empty row, or an indefinite kernel: straight or bent the wrong way on either side of zero, so an end is best.
    best, lowest = a, 0.0
    for end in (lower, 0.0, upper):
        if np.isfinite(end):
            rise = _rise(slope, curvature, absolute, a, end)
            if rise < lowest:
                best, lowest = end, rise
    return best


@fast_loop
def descent_pass(
    K: Matrix,
    places: RowIndex,
    order: RowIndex,
    dual: DualTerms,
    constant: float,
    total: float,
    alpha: Vector,
    scores: Vector,
    stop: NDArray[np.uint8],
) -> tuple[int, float]:
    """Take the multipliers of `order` in turn to their best values; K[places[t]] is the kernel row of order[t].

    `constant` is c, `total` the sum of beta. Changes alpha and scores, the f_i, in place; returns how many multipliers
    moved, and the new total.
    """
    moved = 0
    for t in range(len(order)):
        if stop[0] != 0:
            break
        i = order[t]
        a, sign = alpha[i], dual.signs[i]
        slope = sign * (scores[i] + constant * total) - dual.targets[i] + dual.diagonal[i] * a
        new = best_value(slope, dual.curvature[i], dual.absolute[i], dual.lower[i], dual.upper[i], a)
        if new == a:
            continue
        change = sign * (new - a)
        row = K[places[t]]
        for j in range(len(scores)):
            scores[j] += change * row[j]
        total += change
        alpha[i] = new
        moved += 1
    return moved, total


@fast_loop
def update_one_at_a_time(
    K: Vector, right: Vector, diagonal: Vector, rates: Vector, order: RowIndex, beta: Vector
) -> None:
    """beta_i <- beta_i + rate_i (t_i - sum_j K_ij beta_j - diagonal_i beta_i) for the rows i of `order`, in place."""
    n = len(beta)
    for i in order:
        score = 0.0
        for j in range(n):
            score += K[i, j] * beta[j]
        beta[i] += rates[i] * (right[i] - score - diagonal[i] * beta[i])


# Two at a time, with a kernel -----------------------------------------------------------------------------------------


class PairRows(NamedTuple):
    """Labels, costs C_i and k(x_i, x_i) of the rows."""

    y: Vector
    upper: Vector
    diagonal: Vector


@fast_loop
def _room(upper: float, a: float, direction: float) -> float:
    """How far a multiplier at a can move up (direction > 0) or down."""
    return upper - a if direction > 0.0 else a


@fast_loop
def _moved(upper: float, a: float, direction: float, step: float) -> float:
    """Where a multiplier at a comes to be; exactly on a bound where the step leads to it."""
    if step >= _room(upper, a, direction):
        return upper if direction > 0.0 else 0.0
    return a + step if direction > 0.0 else a - step


@fast_loop
def best_step(pull: float, eta: float, size: float, up: float, down: float) -> float:
    """The best change t of alpha_j: `pull` is the slope of the dual, `up` and `down` the room on either side.

    `size` is k_ii + k_jj: an eta below its rounding error is taken for zero, and then the line leads to its end.
    """
    if eta < -8.0 * _ROUNDOFF * size:  # an indefinite kernel: the better end of a line that is bent the wrong way
        gain_up, gain_down = (pull - 0.5 * eta * up) * up, (-pull - 0.5 * eta * down) * down
        return up if gain_up >= gain_down else -down
    room = up if pull > 0.0 else down
    floor = _ROUNDOFF * size
    curvature = eta if eta > floor else floor
    length = abs(pull) / curvature if abs(pull) < room * curvature else room
    return length if pull > 0.0 else -length


@fast_loop
def simple_pass(
    first: Matrix,
    first_places: RowIndex,
    second: Matrix,
    second_places: RowIndex,
    order: RowIndex,
    partners: RowIndex,
    rows: PairRows,
    tol: float,
    b: float,
    alpha: Vector,
    scores: Vector,
    stop: NDArray[np.uint8],
) -> tuple[int, int, float]:
    """Visit the rows of `order`; first[first_places[t]] is the kernel row of order[t], second[...] of partners[t].

    Changes alpha and scores, the f_i, in place; returns how many rows violated their condition, how many of them moved,
    and b.
    """
    violators, moved = 0, 0
    y, upper = rows.y, rows.upper
    for t in range(len(order)):
        if stop[0] != 0:
            break
        i, j = order[t], partners[t]
        error_i = scores[i] + b - y[i]
        short = y[i] * error_i
        if not ((alpha[i] < upper[i] and short < -tol) or (alpha[i] > 0.0 and short > tol)):
            continue
        violators += 1
        error_j = scores[j] + b - y[j]
        row_i = first[first_places[t]]
        size = rows.diagonal[i] + rows.diagonal[j]
        same = y[i] * y[j]
        # Where alpha_j goes up, alpha_i goes down for equal labels and up for different ones.
        up = min(_room(upper[j], alpha[j], 1.0), _room(upper[i], alpha[i], -same))
        down = min(_room(upper[j], alpha[j], -1.0), _room(upper[i], alpha[i], same))
        step = best_step(y[j] * (error_i - error_j), size - 2.0 * row_i[j], abs(size), up, down)
        new_i = _moved(upper[i], alpha[i], -same * step, abs(step))
        new_j = _moved(upper[j], alpha[j], step, abs(step))
        if step == 0.0 or (new_i == alpha[i] and new_j == alpha[j]):
            continue
        change_i, change_j = y[i] * (new_i - alpha[i]), y[j] * (new_j - alpha[j])
        row_j = second[second_places[t]]
        for k in range(len(scores)):
            scores[k] += change_i * row_i[k] + change_j * row_j[k]
        alpha[i], alpha[j] = new_i, new_j
        moved += 1
        b_i, b_j = y[i] - scores[i], y[j] - scores[j]
        if 0.0 < new_i < upper[i]:
            b = b_i
        elif 0.0 < new_j < upper[j]:
            b = b_j
        else:
            b = 0.5 * (b_i + b_j)
    return violators, moved, b


# Two at a time, of a linear machine -----------------------------------------------------------------------------------


class DualRows(NamedTuple):
    """Rows with labels and squared lengths, and the bounds U_i and terms D_i and aim of their multipliers."""

    rows: Any
    y: Vector
    squares: Vector
    upper: Vector
    diagonal: Vector
    aim: float = 1.0


@fast_loop
def _pull(dual: DualRows, alpha: Vector, w: Vector, i: int) -> float:
    """How fast the dual rises with beta_i."""
    pull: float = dual.y[i] * (dual.aim - dual.diagonal[i] * alpha[i]) - row_dot(dual.rows, i, w)
    return pull


@fast_loop
def _move(dual: DualRows, alpha: Vector, w: Vector, i: int, change: float) -> None:
    """beta_i += change, ending exactly on a bound where the change leads to it."""
    add_row(dual.rows, i, change, w)
    alpha[i] = _moved(dual.upper[i], alpha[i], change * dual.y[i], abs(change))


@fast_loop
def _room_for_both(dual: DualRows, alpha: Vector, up: int, down: int) -> float:
    """How far beta can move up in one row and down in the other."""
    room: float = min(_room(dual.upper[up], alpha[up], dual.y[up]), _room(dual.upper[down], alpha[down], -dual.y[down]))
    return room


@fast_loop
def _partner(dual: DualRows, alpha: Vector, pull: Vector, order: RowIndex, k: int) -> int:
    """Of the next rows in the order, the one whose pull, as last seen, differs most from that of row order[k].

    Only pairs that can move count; order[k] itself is returned where there is none.
    """
    i: int = order[k]
    best, widest = i, 0.0
    for ahead in range(1, min(_CANDIDATES, len(order) - 1) + 1):
        j = order[(k + ahead) % len(order)]
        room = _room_for_both(dual, alpha, i, j) if pull[i] > pull[j] else _room_for_both(dual, alpha, j, i)
        if room > 0.0 and abs(pull[i] - pull[j]) > widest:
            best, widest = j, abs(pull[i] - pull[j])
    return best


@fast_loop
def pair_step(dual: DualRows, i: int, j: int, alpha: Vector, w: Vector, pull: Vector, room_for_row: Vector) -> float:
    """The best step on rows i and j, whose pulls are current; returns the difference of their pulls, or 0 if stuck.

    `room_for_row` is a vector of zeros, one a feature, and is left as such.
    """
    up, down = (i, j) if pull[i] > pull[j] else (j, i)
    difference: float = pull[up] - pull[down]
    room = _room_for_both(dual, alpha, up, down)
    if not (difference > 0.0 and room > 0.0):
        return 0.0
    add_row(dual.rows, up, 1.0, room_for_row)
    product = row_dot(dual.rows, down, room_for_row)
    add_row(dual.rows, up, -1.0, room_for_row)
    # |x_i - x_j|^2 of rows that are nearly equal is rounding below this size.
    squares = dual.squares[up] + dual.squares[down]
    curvature = max(squares - 2.0 * product, _ROUNDOFF * squares) + dual.diagonal[up] + dual.diagonal[down]
    change = difference / curvature if difference < room * curvature else room
    _move(dual, alpha, w, up, change)
    _move(dual, alpha, w, down, -change)
    pull[up] -= change * (dual.squares[up] - product + dual.diagonal[up])
    pull[down] += change * (dual.squares[down] - product + dual.diagonal[down])
    return difference


@fast_loop
def pair_sweep(
    dual: DualRows,
    order: RowIndex,
    alpha: Vector,
    w: Vector,
    pull: Vector,
    room_for_row: Vector,
    stop: NDArray[np.uint8],
) -> float:
    """One step for each row of `order` with a partner from the rows after it; returns the widest difference met."""
    widest = 0.0
    for k in range(len(order)):
        if stop[0] != 0:
            break
        i = order[k]
        pull[i] = _pull(dual, alpha, w, i)
        j = _partner(dual, alpha, pull, order, k)
        if j != i:
            pull[j] = _pull(dual, alpha, w, j)
            widest = max(widest, pair_step(dual, i, j, alpha, w, pull, room_for_row))
    return widest
