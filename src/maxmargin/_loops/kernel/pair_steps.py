"""Pair steps with the second-order choice, on a block of variables whose kernel matrix is at hand; what surrounds them.

The dual, as a minimum over signed coefficients:

    1/2 beta' Q beta + 1/2 sum_k ridge_k beta_k^2 - t' beta + sum_k tube_k |beta_k|,    lower <= beta <= upper,

with the sum of beta kept. F = Q beta + ridge beta - t is the slope without the tube; raising beta_k meets the slope
F_k + rise_k, lowering it F_k + fall_k, where rise = tube or -tube by the sign of beta_k and infinite at the upper
bound, fall likewise and minus infinity at the lower. The point is optimal where no rise lies below a fall.

A step raises i, the smallest slope of a rise, and lowers the j that promises most:

    (F_j + fall_j - F_i - rise_i)^2 / (Q_ii + Q_jj - 2 Q_ij)

by the exact minimum along the pair, cut at bounds and at zero, where a tube has its kink.

Where there are several groups, each proposes a pair and the best is taken.

Smallest and largest are found first block by block of 64, which vector instructions do, then inside the best block.

Around the steps of a block: sums over all variables, the matrix of a block, and the change of slopes.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import fast_loop, loop, search_loop
from maxmargin._loops.extremes import larger, smaller
from maxmargin._types import RowIndex, Vector

Values: TypeAlias = NDArray[Any]
"""Kernel values, single or double."""
Flag: TypeAlias = NDArray[np.uint8]
"""Raised where a loop should stop."""

_BLOCK = 64
_LEAST_SINGLE = np.float32(1e-12)
_LEAST = 1e-12  # curvature that a pair is taken to have


class PairBox(NamedTuple):
    """Bounds, kinks and curvature of the variables of a block."""

    lower: Vector
    upper: Vector
    tube: Vector
    ridge: Vector
    curvature: Vector
    """Diagonal of Q, with the ridge."""
    group: RowIndex
    """Pairs are formed inside groups."""

    def only(self, which: RowIndex) -> PairBox:
        """Those of some variables."""
        lower, upper, tube, ridge, curvature = (x[which] for x in self[:-1])
        return PairBox(lower, upper, tube, ridge, curvature, self.group[which])


@search_loop
def rise_of(beta: float, upper: float, tube: float) -> float:
    """What raising beta adds to the slope."""
    if beta >= upper:
        return np.inf
    return tube if beta >= 0.0 else -tube


@search_loop
def fall_of(beta: float, lower: float, tube: float) -> float:
    """What lowering beta adds to the slope."""
    if beta <= lower:
        return -np.inf
    return tube if beta > 0.0 else -tube


@search_loop
def _lowest(F: Vector, rise: Vector) -> int:
    """Where F + rise is smallest."""
    best, at = np.inf, -1
    for k in range(F.shape[0]):
        value = F[k] + rise[k]
        if value < best:
            best, at = value, k
    return at


@search_loop
def _partner(
    F: Vector, fall: Vector, slope: float, row: Values, own: float, curvature: NDArray[np.float32]
) -> tuple[int, float, float]:
    """The j that promises most when it is lowered while i is raised, the largest violation, and what j promises."""
    n = F.shape[0]
    best_gain, best_start, widest = np.float32(0.0), -1, np.float32(0.0)
    bend = np.float32(own)
    for start in range(0, n, _BLOCK):
        end = min(start + _BLOCK, n)
        gain, wide = np.float32(0.0), np.float32(0.0)
        # Views, so that the compiler sees indices that cannot be negative.
        f, lowered, q, c = F[start:end], fall[start:end], row[start:end], curvature[start:end]
        for k in range(f.shape[0]):
            apart = larger(np.float32(f[k] + lowered[k] - slope), np.float32(0.0))
            quadratic = larger(bend + c[k] - np.float32(2.0) * np.float32(q[k]), _LEAST_SINGLE)
            gain = larger(gain, apart * apart / quadratic)
            wide = larger(wide, apart)
        widest = larger(widest, wide)
        if gain > best_gain:
            best_gain, best_start = gain, start
    if best_start < 0:
        return -1, np.float64(widest), 0.0
    best_gain, at = np.float32(-1.0), -1
    for k in range(best_start, min(best_start + _BLOCK, n)):
        apart = larger(np.float32(F[k] + fall[k] - slope), np.float32(0.0))
        quadratic = larger(bend + curvature[k] - np.float32(2.0) * np.float32(row[k]), _LEAST_SINGLE)
        if apart * apart / quadratic > best_gain:
            best_gain, at = apart * apart / quadratic, k
    return at, np.float64(widest), np.float64(best_gain)


@search_loop
def _update_gradient(F: Vector, rise: Vector, step: float, raised: Values, lowered: Values) -> int:
    """F after a step, and where a rise is now cheapest."""
    n = F.shape[0]
    best, best_start = np.inf, -1
    for start in range(0, n, _BLOCK):
        end = min(start + _BLOCK, n)
        low = np.inf
        f, r, up, down = F[start:end], rise[start:end], raised[start:end], lowered[start:end]
        for k in range(f.shape[0]):
            value = f[k] + step * np.float64(up[k] - down[k])
            f[k] = value
            low = smaller(low, value + r[k])
        if low < best:
            best, best_start = low, start
    if best_start < 0:
        return -1
    for k in range(best_start, min(best_start + _BLOCK, n)):
        if F[k] + rise[k] == best:
            return k
    return best_start


@search_loop
def pair_steps(
    values: Values, slots: RowIndex, beta: Vector, F: Vector, box: PairBox, tolerance: float, max_steps: int, stop: Flag
) -> tuple[int, float, int]:
    """Steps until the largest violation is within the tolerance.

    Row k of Q is `values[slots[k]]`; a negative slot is a row that is not there. Returns the number of steps, the
    violation, and the row that was missing for the next step, or -1.
    """
    n, n_groups = beta.shape[0], 1
    for k in range(n):
        n_groups = max(n_groups, box.group[k] + 1)
    rise, fall = np.full((n_groups, n), np.inf), np.full((n_groups, n), -np.inf)
    curvature = np.empty(n, dtype=np.float32)
    for k in range(n):
        curvature[k] = np.float32(box.curvature[k])
        rise[box.group[k], k] = rise_of(beta[k], box.upper[k], box.tube[k])
        fall[box.group[k], k] = fall_of(beta[k], box.lower[k], box.tube[k])
    lowest = np.empty(n_groups, dtype=np.int64)
    for g in range(n_groups):
        lowest[g] = _lowest(F, rise[g])
    violation = np.inf
    for step in range(max_steps):
        if stop[0] != 0:
            return step, violation, -1
        i, j, own, most, violation = -1, -1, 0, -1.0, 0.0
        for g in range(n_groups):
            candidate = lowest[g]
            if candidate < 0:
                continue
            if slots[candidate] < 0:
                return step, np.inf, candidate
            slope = F[candidate] + rise[g, candidate]
            row = values[slots[candidate]]
            partner, apart, gain = _partner(F, fall[g], slope, row, box.curvature[candidate], curvature)
            violation = max(violation, apart)
            if partner >= 0 and gain > most:
                i, j, own, most = candidate, partner, g, gain
        if j < 0 or violation <= tolerance:
            return step, violation, -1
        if slots[j] < 0:
            return step, violation, j
        raised = values[slots[i]]
        quadratic = max(box.curvature[i] + box.curvature[j] - 2.0 * np.float64(raised[j]), _LEAST)
        length = (F[j] + fall[own, j] - F[i] - rise[own, i]) / quadratic
        up_to = 0.0 if box.tube[i] > 0.0 and beta[i] < 0.0 else box.upper[i]
        down_to = 0.0 if box.tube[j] > 0.0 and beta[j] > 0.0 else box.lower[j]
        length = min(length, up_to - beta[i], beta[j] - down_to)
        beta[i] = up_to if length >= up_to - beta[i] else beta[i] + length
        beta[j] = down_to if length >= beta[j] - down_to else beta[j] - length
        for k in (i, j):
            rise[own, k] = rise_of(beta[k], box.upper[k], box.tube[k])
            fall[own, k] = fall_of(beta[k], box.lower[k], box.tube[k])
        F[i] += length * box.ridge[i]
        F[j] -= length * box.ridge[j]
        lowest[0] = _update_gradient(F, rise[0], length, raised, values[slots[j]])
        for g in range(1, n_groups):
            lowest[g] = _lowest(F, rise[g])
    return max_steps, violation, -1


@search_loop
def expel(values: Values, beta: Vector, F: Vector, box: PairBox, i: int) -> int:
    """Bring beta_i to zero, its coefficient going to whatever variables of its group rise or fall most cheaply.

    Returns the number of steps, or -1 where the others have no room for it. The bounds of i itself are not looked at.
    """
    n = beta.shape[0]
    for step in range(n):
        if beta[i] == 0.0:
            return step
        # Lowering i raises another, and the other way round.
        best, at = np.inf, -1
        for k in range(n):
            if k == i or box.group[k] != box.group[i]:
                continue
            if beta[i] > 0.0:
                slope = F[k] + rise_of(beta[k], box.upper[k], box.tube[k])
            else:
                slope = -F[k] - fall_of(beta[k], box.lower[k], box.tube[k])
            if slope < best:
                best, at = slope, k
        if at < 0:
            return -1
        if beta[i] > 0.0:
            up_to = 0.0 if box.tube[at] > 0.0 and beta[at] < 0.0 else box.upper[at]
            length = min(beta[i], up_to - beta[at])
        else:
            down_to = 0.0 if box.tube[at] > 0.0 and beta[at] > 0.0 else box.lower[at]
            length = max(beta[i], down_to - beta[at])
        beta[at] += length
        beta[i] -= length
        raised, lowered = values[at], values[i]
        for k in range(n):
            F[k] += length * np.float64(raised[k] - lowered[k])
        F[at] += length * box.ridge[at]
        F[i] -= length * box.ridge[i]
    return -1


# Around a block -------------------------------------------------------------------------------------------------------


@loop
def extremes(F: Vector, beta: Vector, box: PairBox, rising: Vector, falling: Vector, low: Vector, high: Vector) -> None:
    """Slopes of raising and of lowering each variable, and of each group the lowest rise and the highest fall."""
    for group in range(len(low)):
        smallest, largest = np.inf, -np.inf
        for k in range(len(F)):
            if box.group[k] == group:
                up = F[k] + rise_of(beta[k], box.upper[k], box.tube[k])
                down = F[k] + fall_of(beta[k], box.lower[k], box.tube[k])
                rising[k], falling[k] = up, down
                smallest, largest = min(smallest, up), max(largest, down)
        low[group], high[group] = smallest, largest


@loop
def terms(
    F: Vector, beta: Vector, box: PairBox, target: Vector, b: Vector
) -> tuple[float, float, float, float, float, float, float, float]:
    """The sums of `solvers.kernel.engine.Terms`. Every term of the gap is non-negative, so nothing cancels."""
    losses, gap, square, gain, size, squares, steepness, largest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for k in range(len(F)):
        c, lower, upper, tube, ridge = beta[k], box.lower[k], box.upper[k], box.tube[k], box.ridge[k]
        slope = F[k] - ridge * c
        g, length = slope + b[box.group[k]], abs(c)
        beyond = max(-g - tube, 0.0) - max(g - tube, 0.0)
        if beyond == 0.0:
            loss = 0.0
        elif ridge > 0.0:
            best = min(max(beyond / ridge, lower), upper)
            loss = best * (beyond - 0.5 * ridge * best)
        else:
            loss = beyond * (upper if beyond > 0.0 else lower)
        own = tube * length + 0.5 * ridge * c * c
        losses += loss
        gap += loss + g * c + own
        square += c * (slope + target[k])
        gain += target[k] * c - own
        size += length
        squares += c * c
        if c != 0.0:
            bound = max(-lower, upper)
            steepness += bound if np.isfinite(bound) else length
        largest = max(largest, abs(F[k]))
    return losses, gap, square, gain, size, squares, steepness, largest


@loop
def gather(
    kept: Values,
    slots: RowIndex,
    columns: RowIndex,
    order: RowIndex,
    targets: RowIndex,
    start: int,
    end: int,
    stop: Flag,
    Q: Values,
) -> None:
    """Row `targets[k]` of Q from kept row `slots[k]`, in the given columns of it, for k from start to end - 1.

    `order` sorts the columns, so that memory is read forwards.
    """
    for k in range(start, end):
        row, out = kept[slots[k]], Q[targets[k]]
        for q in order:
            out[q] = row[columns[q]]


@loop
def pick(matrix: Values, rows: RowIndex, columns: NDArray[np.uint32], places: RowIndex, out: Values) -> None:
    """Some rows and columns of a matrix, row k into row `places[k]` of `out`."""
    for k in range(len(rows)):
        row, line = matrix[rows[k]], out[places[k]]
        for q in range(len(columns)):
            line[q] = row[columns[q]]


@loop
def mirror(Q: Values, fresh: RowIndex, start: int, end: int, stop: Flag) -> None:
    """Columns `fresh` of a symmetric matrix from its rows `fresh`, in rows start to end - 1; a small tile at a time."""
    for top in range(start, end, 32):
        bottom = min(top + 32, end)
        for first in range(0, len(fresh), 32):
            part = fresh[first : first + 32]
            for q in range(top, bottom):
                out = Q[q]
                for p in part:
                    out[p] = Q[p, q]


@fast_loop
def add_rows(values: Values, slots: RowIndex, steps: Vector, start: int, end: int, stop: Flag, change: Vector) -> None:
    """change_j += sum_p steps_p values[slots_p, j] for columns start to end - 1, four rows at a time."""
    n = len(slots)
    for first in range(start, end, 1024):
        last = min(first + 1024, end)
        out = change[first:last]
        if stop[0] != 0:
            return
        p = 0
        while p + 4 <= n:
            s0, s1, s2, s3 = steps[p], steps[p + 1], steps[p + 2], steps[p + 3]
            r0, r1 = values[slots[p], first:last], values[slots[p + 1], first:last]
            r2, r3 = values[slots[p + 2], first:last], values[slots[p + 3], first:last]
            for j in range(out.shape[0]):
                out[j] += (s0 * np.float64(r0[j]) + s1 * np.float64(r1[j])) + (
                    s2 * np.float64(r2[j]) + s3 * np.float64(r3[j])
                )
            p += 4
        while p < n:
            s0, r0 = steps[p], values[slots[p], first:last]
            for j in range(out.shape[0]):
                out[j] += s0 * np.float64(r0[j])
            p += 1
