"""Steps on two multipliers at a time, which keep sum_i alpha_i y_i = 0.

    minimise over alpha   1/2 |w|^2 + 1/2 sum_i D_i alpha_i^2 - aim sum_i alpha_i      w = sum_i alpha_i y_i x_i
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
from maxmargin._types import RowIndex, Vector

_ROUNDOFF = 2.0**-52
_CANDIDATES = 16  # rows among which a partner is sought


class DualRows(NamedTuple):
    """Rows with labels and squared lengths, and the bounds U_i and terms D_i and aim of their multipliers."""

    rows: Any
    y: Vector
    squares: Vector
    upper: Vector
    diagonal: Vector
    aim: float = 1.0


@fast_loop
def _room(dual: DualRows, alpha: Vector, i: int, direction: float) -> float:
    """How far beta_i can move up (direction 1) or down (direction -1)."""
    room: float = dual.upper[i] - alpha[i] if direction * dual.y[i] > 0.0 else alpha[i]
    return room


@fast_loop
def _pull(dual: DualRows, alpha: Vector, w: Vector, i: int) -> float:
    """How fast the dual rises with beta_i."""
    pull: float = dual.y[i] * (dual.aim - dual.diagonal[i] * alpha[i]) - row_dot(dual.rows, i, w)
    return pull


@fast_loop
def _move(dual: DualRows, alpha: Vector, w: Vector, i: int, change: float) -> None:
    """beta_i += change, ending exactly on a bound where the change leads to it."""
    add_row(dual.rows, i, change, w)
    bound = dual.upper[i] if change * dual.y[i] > 0.0 else 0.0
    if abs(change) >= abs(bound - alpha[i]):
        alpha[i] = bound
    else:
        alpha[i] += change * dual.y[i]


@fast_loop
def _partner(dual: DualRows, alpha: Vector, pull: Vector, order: RowIndex, k: int) -> int:
    """Of the next rows in the order, the one whose pull, as last seen, differs most from that of row order[k].

    Only pairs that can move count; order[k] itself is returned where there is none.
    """
    i: int = order[k]
    best, widest = i, 0.0
    for ahead in range(1, min(_CANDIDATES, len(order) - 1) + 1):
        j = order[(k + ahead) % len(order)]
        direction = 1.0 if pull[i] > pull[j] else -1.0
        room = min(_room(dual, alpha, i, direction), _room(dual, alpha, j, -direction))
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
    room = min(_room(dual, alpha, up, 1.0), _room(dual, alpha, down, -1.0))
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
