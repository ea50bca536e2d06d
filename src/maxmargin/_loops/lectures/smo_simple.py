"""The steps of simplified SMO: one pass over the rows, each that violates its condition with a partner drawn before.

With f_i = sum_j alpha_j y_j k_ij and E_i = f_i + b - y_i, a row violates its condition by more than tol if

    alpha_i < C_i and y_i E_i < -tol      or      alpha_i > 0 and y_i E_i > tol

On the line that keeps sum_i alpha_i y_i, where alpha_j moves by t and alpha_i by -y_i y_j t, the dual changes by

    t y_j (E_i - E_j) - 1/2 t^2 eta        eta = k_ii + k_jj - 2 k_ij

The best t, cut where either multiplier meets its bound, is taken. Then b is put where the rows that are off their
bounds have E = 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop
from maxmargin._types import Matrix, RowIndex, Vector

_ROUNDOFF = 2.0**-52


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
