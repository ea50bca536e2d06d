"""Dual descent for Crammer and Singer's machine: one row at a time, all of its classes together, with shrinking.

A row holds q_k = C p_k >= 0 with sum_k q_k = C; its coefficients are beta = C e_y - q. With the other rows fixed and
g_k = f_k + [k != y] at the current scores, the dual is best at the solution of

    minimise over q'   1/2 A |q' - q|^2 - sum_k g_k (q'_k - q_k)      q' >= 0,  sum_k q'_k = C      A = |x|^2 + s^2

which is q'_k = max(0, q_k + (g_k - tau) / A) for the tau that keeps the sum. That tau is found by setting it for all
classes, dropping those that would fall below zero, and setting it again until none does. Only differences of g are
formed, so a large A q costs no digits.

The violation of a row is max_k g_k minus the smallest g_k with q_k > 0. A class with q_k = 0 whose g_k is below that
smallest one by more than `slack`, a share of the worst violation before, leaves the row; a row with one class left
leaves the pass. The driver brings everything back before it believes anything.

Weights are K x d for dense rows, so that a class is one vector, and d x K for sparse rows, so that the classes of a
feature are neighbours in memory.

Keerthi, Sundararajan, Chang, Hsieh and Lin, KDD 2008.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload

from maxmargin._loops.compiling import FAST, fast_loop
from maxmargin._loops.rows import DenseRows, add_row, row_dot

_POLL = 256  # rows between two checks of the stop flag
_NOTHING = 1e-14  # violations below this are rounding


def class_scores(rows: Any, i: Any, W: Any, classes: Any, count: Any, every: Any, out: Any) -> None:
    """out_a = <w_k, x_i> for the first `count` entries k of `classes`; `every` has room for all K."""
    for a in range(count):
        out[a] = row_dot(rows, i, W[classes[a]] if isinstance(rows, DenseRows) else W[:, classes[a]])


def add_to_classes(rows: Any, i: Any, W: Any, classes: Any, count: Any, change: Any) -> None:
    """w_k += change_a x_i for the first `count` entries k of `classes`."""
    for a in range(count):
        add_row(rows, i, change[a], W[classes[a]] if isinstance(rows, DenseRows) else W[:, classes[a]])


def _is_dense(rows: Any) -> bool:
    return isinstance(rows, types.BaseNamedTuple) and getattr(rows, "instance_class", None) is DenseRows


_OPTIONS: Any = {"fastmath": FAST, "nogil": True}


@overload(class_scores, jit_options=_OPTIONS, inline="never")
def _class_scores(rows: Any, i: Any, W: Any, classes: Any, count: Any, every: Any, out: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, W: Any, classes: Any, count: Any, every: Any, out: Any) -> None:
            for a in range(count):
                out[a] = row_dot(rows, i, W[classes[a]])

        return dense

    def sparse(rows: Any, i: Any, W: Any, classes: Any, count: Any, every: Any, out: Any) -> None:
        first, last = np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])
        n_classes = np.uintp(len(every))
        if 4 * count >= len(every):  # neighbours all at once are cheaper than a few picked one by one
            for k in range(n_classes):
                every[k] = 0.0
            fours = first + (last - first) // np.uintp(4) * np.uintp(4)
            for p in range(first, fours, np.uintp(4)):  # four features a time, so that the sums are fetched less often
                x, x1, x2, x3 = rows.values[p], rows.values[p + 1], rows.values[p + 2], rows.values[p + 3]
                w, w1 = W[np.uint32(rows.columns[p])], W[np.uint32(rows.columns[p + 1])]
                w2, w3 = W[np.uint32(rows.columns[p + 2])], W[np.uint32(rows.columns[p + 3])]
                for k in range(n_classes):
                    every[k] += x * w[k] + x1 * w1[k] + x2 * w2[k] + x3 * w3[k]
            for p in range(fours, last):
                x = rows.values[p]
                w = W[np.uint32(rows.columns[p])]
                for k in range(n_classes):
                    every[k] += x * w[k]
            for a in range(count):
                out[a] = every[classes[a]]
        else:
            for a in range(count):
                out[a] = 0.0
            for p in range(first, last):
                x = rows.values[p]
                w = W[np.uint32(rows.columns[p])]
                for a in range(np.uintp(count)):
                    out[a] += x * w[np.uint32(classes[a])]

    return sparse


@overload(add_to_classes, jit_options=_OPTIONS, inline="never")
def _add_to_classes(rows: Any, i: Any, W: Any, classes: Any, count: Any, change: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, W: Any, classes: Any, count: Any, change: Any) -> None:
            for a in range(count):
                add_row(rows, i, change[a], W[classes[a]])

        return dense

    def sparse(rows: Any, i: Any, W: Any, classes: Any, count: Any, change: Any) -> None:
        for p in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            x = rows.values[p]
            w = W[np.uint32(rows.columns[p])]
            for a in range(np.uintp(count)):
                w[np.uint32(classes[a])] += x * change[a]

    return sparse


@fast_loop
def best_step(g: Any, q: Any, count: int, curvature: float, step: Any) -> None:
    """step_a = q'_a - q_a for the best q' of one row; g and q hold its `count` classes; the sum of q is kept."""
    if curvature <= 0.0:  # an empty row without intercept: everything goes to the largest g
        top = 0
        total = 0.0
        for a in range(count):
            total += q[a]
            if g[a] > g[top]:
                top = a
        for a in range(count):
            step[a] = (total if a == top else 0.0) - q[a]
        return
    for a in range(count):
        step[a] = 0.0  # of a class still held; -q once it is dropped
    largest = g[0]
    for a in range(count):
        largest = max(largest, g[a])
    held = count
    freed = 0.0
    sum_g = 0.0
    for a in range(count):
        sum_g += g[a] - largest
    dropped = True
    tau = 0.0
    while dropped:
        dropped = False
        tau = (sum_g - curvature * freed) / held
        for a in range(count):
            if step[a] == 0.0 and q[a] + (g[a] - largest - tau) / curvature <= 0.0 and held > 1:
                held -= 1
                freed += q[a]
                sum_g -= g[a] - largest
                step[a] = -1.0
                dropped = True
    for a in range(count):
        step[a] = -q[a] if step[a] != 0.0 else (g[a] - largest - tau) / curvature


class ClassIterate(NamedTuple):
    """What a pass changes: shares q, weights W, and which `counts` of the `classes` rows still hold.

    The intercept of class k is centre_k + scale * constant_k. `work` is room for four rows of K numbers, `moved` for K
    integers.
    """

    q: Any
    W: Any
    constant: Any
    centre: Any
    scale: Any
    classes: Any
    counts: Any
    work: Any
    moved: Any


@fast_loop
def class_epoch(
    rows: Any, y: Any, squares: Any, order: Any, active: int, slack: float, at: ClassIterate, stop: Any
) -> Any:
    """One pass over order[:active]; returns how many are still active, the worst violation and the scores computed."""
    q, W, constant, centre, scale, classes, counts, work, moved = at
    every, g, share, step = work[0], work[1], work[2], work[3]
    worst = 0.0
    n_scores = 0
    k = 0
    steps = 0
    while k < active:
        steps += 1
        if steps % _POLL == 0 and stop[0] != 0:
            break
        i = order[k]
        count = counts[i]
        names = classes[i]
        n_scores += count
        class_scores(rows, i, W, names, count, every, g)
        high, low = -np.inf, np.inf
        for a in range(count):
            c = names[a]
            share[a] = q[i, c]
            g[a] += centre[c] + scale * constant[c]
            if c != y[i]:
                g[a] += 1.0
            high = max(high, g[a])
            if share[a] > 0.0:
                low = min(low, g[a])
        a = 0
        while a < count:
            if share[a] == 0.0 and g[a] < low - slack:
                count -= 1
                names[a], names[count] = names[count], names[a]
                g[a], share[a] = g[count], share[count]
            else:
                a += 1
        counts[i] = count
        if count <= 1:
            active -= 1
            order[k], order[active] = order[active], order[k]
            continue
        worst = max(worst, high - low)
        if high - low > _NOTHING:
            best_step(g, share, count, squares[i], step)
            n_moved = 0
            for a in range(count):
                if step[a] != 0.0:
                    c = names[a]
                    q[i, c] = max(0.0, share[a] + step[a])
                    constant[c] -= scale * step[a]
                    moved[n_moved] = c
                    step[n_moved] = -step[a]
                    n_moved += 1
            if n_moved > 0:
                add_to_classes(rows, i, W, moved, n_moved, step)
        k += 1
    return active, worst, n_scores
