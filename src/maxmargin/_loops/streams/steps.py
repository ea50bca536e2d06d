"""Dual coordinate steps over rows of the cache, for several sub-problems that share the rows.

`_loops.coordinate_steps` has the dual of a row in its coefficient beta_i and its best value, or for the logistic loss
the way to near it.

A row is settled where no way is downhill, and every way that is open is uphill by more than the limit: the largest
slope downhill that the last sweep has met. The limit of a sweep and the maximum of the next one are two numbers; the
lecture has one name for both. With the logistic loss no row is ever settled, and its violation stands for the slope.

b = centre + scale * constant, the three numbers of a sub-problem in `bias`; constant = scale * sum_i beta_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from maxmargin._loops.compiling import fast_loop
from maxmargin._loops.coordinate_steps import LEFT, best_coefficient, logistic_step, row_dual, share
from maxmargin._loops.curves import loss_value, violation
from maxmargin._loops.loss_curve import LOGISTIC, Curve
from maxmargin._loops.rows import add_row, row_dot
from maxmargin._loops.streams.rows import CachedRows

_POLL = 1024  # rows between looks at the stop flag
_FARTHEST = 700.0  # logit at which a search begins: its exponential is a double


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
def visit_rows(cached: CachedRows, places: Any, duals: Duals, sweep: Sweep, slack: Any, beyond: Any, stop: Any) -> None:
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
