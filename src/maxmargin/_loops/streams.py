"""Compiled loops of the out-of-core trainers: the row cache, dual coordinate steps in it, sums over all coefficients.

The cache is one stretch of preallocated memory with places for whole rows. A segment is some places one after the
other, and the memory for the entries of their rows. Beside each row stand a few numbers. Which rows of the data are in
the cache is told by one byte a row, so that threads with rows of their own never write to the same place.

Several sub-problems share the rows. `_loops.coordinate_steps` has the dual of a row in its coefficient beta_i and its
best value, or for the logistic loss the way to near it. A row is settled where no way is downhill, and every way that
is open is uphill by more than the limit: the largest slope downhill that the last sweep has met. The limit of a sweep
and the maximum of the next one are two numbers; the lecture has one name for both. With the logistic loss no row is
ever settled, and its violation stands for the slope.

    b = centre + scale * constant      the three numbers of a sub-problem in `bias`; constant = scale * sum_i beta_i
    cost_i = C (weight_i factor_class)     factors has one entry in regression

The sums go without the rows, and no vector with one entry a row is made for them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import fast_loop, loop
from maxmargin._loops.coordinate_steps import LEFT, best_coefficient, logistic_step, row_dual, share
from maxmargin._loops.curves import conjugate_value, loss_value, violation
from maxmargin._loops.loss_curve import LOGISTIC, Curve
from maxmargin._loops.rows import add_row, copy_row, row_dot, row_fits, row_square

_POLL = 1024  # rows between two reads of the stop flag
_FARTHEST = 700.0  # logit at which a search begins: its exponential is a double


class CacheArrays(NamedTuple):
    """The memory of the cache, one entry a place."""

    rows: Any
    number: Any
    """Which row of the data it is."""
    target: Any
    """Number to be predicted, or number of the class."""
    cost: Any
    square: Any
    slack: Any
    """How far the row was held at its bound; zero for one that is free, wants to move or was not visited yet."""
    rests: Any
    """1 for a row that has nothing to tell in this pass over the data."""


class Room(NamedTuple):
    """Where rows can be appended: the next place, the first one beyond, and the first entry beyond."""

    at: int
    last: int
    end: int


@fast_loop
def fill_places(
    rows: Any,
    target: Any,
    cost: Any,
    start: int,
    first: int,
    wanted: Any,
    cached: CacheArrays,
    room: Room,
    present: Any,
) -> Any:
    """Append the rows wanted, from `first` on, of a block that begins at row `start` of the data.

    Returns the first row of the block that had no room, and the next place.
    """
    i, at = first, room.at
    while i < len(cost):
        number = start + i
        if wanted[i] == 0:
            i += 1
            continue
        if at >= room.last or not row_fits(rows, i, cached.rows, at, room.end):
            break
        copy_row(rows, i, cached.rows, at)
        cached.number[at] = number
        cached.target[at] = target[i]
        cached.cost[at] = cost[i]
        cached.square[at] = row_square(rows, i)
        cached.slack[at] = 0.0
        cached.rests[at] = 0
        present[number] = 1
        at += 1
        i += 1
    return i, at


@fast_loop
def move_rows(cached: CacheArrays, places: Any, room: Room) -> Any:
    """Append the rows at the places, as many as there is room for; returns how many, and the next place."""
    at = room.at
    for k in range(len(places)):
        i = places[k]
        if at >= room.last or not row_fits(cached.rows, i, cached.rows, at, room.end):
            return k, at
        copy_row(cached.rows, i, cached.rows, at)
        cached.number[at] = cached.number[i]
        cached.target[at] = cached.target[i]
        cached.cost[at] = cached.cost[i]
        cached.square[at] = cached.square[i]
        cached.slack[at] = cached.slack[i]
        cached.rests[at] = cached.rests[i]
        at += 1
    return len(places), at


class Duals(NamedTuple):
    """What the sub-problems have in common, and the point they are at: one row of each matrix a sub-problem."""

    curve: Curve
    signs: Any
    """+1 or -1 for each class; without columns in regression."""
    beta: Any
    weights: Any
    bias: Any


class Sweep(NamedTuple):
    """What a sweep goes by and what it finds, one entry a sub-problem."""

    limit: Any
    """Slopes uphill beyond which a row is settled."""
    steepest: Any
    """Largest slope downhill so far."""
    seen: Any
    """One byte a row: whether it was measured in this pass over the data."""
    loss: Any
    """Sum of C_i l over the rows measured."""
    violation: Any
    """Largest KKT violation of those rows."""


@fast_loop
def _logistic_minimum(a: float, f: float, curvature: float, cost: float, y: float) -> Any:
    """Where the dual of the logistic loss in one coefficient is best, or near to it."""
    z, g = y * a, y * f
    if 0.0 < z < cost:
        u = np.log(z / (cost - z))
        p, h = z / cost, u + g
    else:  # an end has no logit
        u = min(max(-g - curvature * (0.5 * cost - z), -_FARTHEST), _FARTHEST)
        p = share(u)
        h = u + curvature * (cost * p - z) + g
    _, p = logistic_step(u, p, h, LEFT * min(abs(h), 1.0), z, g, curvature, cost)
    return y * cost * p


@fast_loop
def _uphill(a: float, g: float, tube: float, low: float, high: float) -> float:
    """Slope of the open way that rises least; negative where one falls."""
    right = g + tube if a >= 0.0 else g - tube
    left = g + tube if a > 0.0 else g - tube
    return min(right if a < high else np.inf, -left if a > low else np.inf)


@fast_loop
def visit_rows(
    cached: CacheArrays, places: Any, duals: Duals, sweep: Sweep, slack: Any, beyond: Any, stop: Any
) -> None:
    """One step for each of the rows at the places, in this order, and each sub-problem.

    Tells, of each row before its steps, the slope of the way that rises least, and by how much the least settled
    sub-problem is beyond its limit. A row that is not yet seen in this pass is measured, too.
    """
    curve, bias = duals.curve, duals.bias
    is_logistic, tube = curve.kind == LOGISTIC, curve.tube
    is_class = duals.signs.shape[1] > 0
    for k in range(len(places)):
        if k % _POLL == 0 and stop[0] != 0:
            return
        i = places[k]
        number, cost = cached.number[i], cached.cost[i]
        least, settled = np.inf, np.inf
        for p in range(len(duals.beta)):
            y = duals.signs[p, np.int64(cached.target[i])] if is_class else cached.target[i]
            low, high, aim, diagonal = row_dual(curve, cost, y)
            scale = bias[p, 1]
            f = row_dot(cached.rows, i, duals.weights[p]) + bias[p, 0] + scale * bias[p, 2]
            a = duals.beta[p, number]
            curvature = cached.square[i] + scale * scale + diagonal
            if sweep.seen[number] == 0:
                sweep.loss[p] += cost * loss_value(curve, f, y)
                sweep.violation[p] = max(sweep.violation[p], violation(curve, -a / cost, f, y))
            if is_logistic:
                uphill, new = -violation(curve, -a / cost, f, y), _logistic_minimum(a, f, curvature, cost, y)
            else:
                g = f - aim + diagonal * a
                uphill = _uphill(a, g, tube, low, high)
                new = best_coefficient(a, g, curvature, tube, low, high) if uphill < 0.0 else a
            least, settled = min(least, uphill), min(settled, uphill - sweep.limit[p])
            sweep.steepest[p] = max(sweep.steepest[p], -uphill)
            if new != a:
                add_row(cached.rows, i, new - a, duals.weights[p])
                bias[p, 2] += scale * (new - a)
                duals.beta[p, number] = new
        slack[k], beyond[k] = least, settled


@fast_loop
def screen_rows(
    rows: Any, target: Any, cost: Any, start: int, duals: Duals, sweep: Sweep, scores: Any, wanted: Any
) -> None:
    """Of the rows wanted of a block that begins at row `start` of the data, measure the settled ones: they are not.

    A row that was seen in this pass, and has left the cache since, is not measured again. `scores` is memory for one
    number a sub-problem.
    """
    curve, bias = duals.curve, duals.bias
    is_logistic, tube = curve.kind == LOGISTIC, curve.tube
    is_class = duals.signs.shape[1] > 0
    for i in range(len(cost)):
        if wanted[i] == 0:
            continue
        settled = True
        for p in range(len(duals.beta)):
            y = duals.signs[p, np.int64(target[i])] if is_class else target[i]
            low, high, aim, diagonal = row_dual(curve, cost[i], y)
            f = row_dot(rows, i, duals.weights[p]) + bias[p, 0] + bias[p, 1] * bias[p, 2]
            a = duals.beta[p, start + i]
            scores[p] = f
            if is_logistic or _uphill(a, f - aim + diagonal * a, tube, low, high) <= sweep.limit[p]:
                settled = False
                break
        if not settled:
            continue
        wanted[i] = 0
        if sweep.seen[start + i] != 0:
            continue
        sweep.seen[start + i] = 1
        for p in range(len(duals.beta)):
            y = duals.signs[p, np.int64(target[i])] if is_class else target[i]
            a, f = duals.beta[p, start + i], scores[p]
            sweep.loss[p] += cost[i] * loss_value(curve, f, y)
            sweep.violation[p] = max(sweep.violation[p], violation(curve, -a / cost[i], f, y))


class RowFacts(NamedTuple):
    """Targets and costs of all rows."""

    target: Any
    """Number of the class, or the number to be predicted."""
    weight: Any
    """One a row, or empty where all are 1."""
    factors: Any
    """Factor on C of each class; one number in regression."""
    C: float


@loop
def _facts(facts: RowFacts, signs: Any, i: int) -> Any:
    """Cost and target of a row."""
    weight = facts.weight[i] if len(facts.weight) > 0 else 1.0
    if len(signs) == 0:
        return facts.C * (weight * facts.factors[0]), facts.target[i]
    number = int(facts.target[i])
    return facts.C * (weight * facts.factors[number]), signs[number]


@loop
def conjugate_sum(curve: Curve, facts: RowFacts, signs: Any, beta: Any) -> float:
    """sum_i C_i l*(-beta_i / C_i) over the rows with a coefficient; the others add nothing."""
    total = 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            cost, y = _facts(facts, signs, i)
            total += cost * conjugate_value(curve, -beta[i] / cost, y)
    return total


@loop
def exact_sum(beta: Any) -> Any:
    """sum_i beta_i as good as in twice the precision, and the largest |beta_i|."""
    total, missed, largest = 0.0, 0.0, 0.0
    for i in range(len(beta)):
        new = total + beta[i]
        missed += (total - new) + beta[i] if abs(total) >= abs(beta[i]) else (beta[i] - new) + total
        total = new
        largest = max(largest, abs(beta[i]))
    return total + missed, largest


@loop
def _room(curve: Curve, facts: RowFacts, signs: Any, beta: Any, i: int, surplus: float) -> Any:
    """How far a coefficient between its bounds can move against the surplus without leaving its side of zero."""
    cost, y = _facts(facts, signs, i)
    low, high, _, _ = row_dual(curve, cost, y)
    a = beta[i]
    if a <= low or a >= high:
        return 0.0
    if (a > 0.0) == (surplus > 0.0):  # towards zero
        return abs(a)
    return min(abs(a), high - a if a > 0.0 else a - low)


@loop
def take_surplus(curve: Curve, facts: RowFacts, signs: Any, beta: Any, surplus: float) -> None:
    """Move sum_i beta_i by -surplus: coefficients between their bounds first, else the heavier side as a whole."""
    free, heavier = 0.0, 0.0
    for i in range(len(beta)):
        if beta[i] != 0.0:
            free += _room(curve, facts, signs, beta, i, surplus)
            if (beta[i] > 0.0) == (surplus > 0.0):
                heavier += abs(beta[i])
    if free >= 2.0 * abs(surplus):
        part = surplus / free
        for i in range(len(beta)):
            if beta[i] != 0.0:
                beta[i] -= part * _room(curve, facts, signs, beta, i, surplus)
    elif heavier > 0.0:
        part = min(abs(surplus) / heavier, 1.0)
        for i in range(len(beta)):
            if beta[i] != 0.0 and (beta[i] > 0.0) == (surplus > 0.0):
                beta[i] -= part * beta[i]
