"""How far to go along a direction: where a convex function of one number has its minimum, nearly.

The function is linear t + 1/2 square t^2, which a penalty makes, and losses of rows. Its slope rises with t, from a
negative number at t = 0. Newton steps in t find where it vanishes; two lengths between which that must be keep them in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

_STEPS = 60
_BEFORE, _BEHIND = 0.01, 0.1
"""Parts of the slope at the beginning between which a step may end: rather behind the minimum, because rows whose kinks
stopped the step then have curvature."""


def step_length(
    linear: float,
    square: float,
    steep: float,
    losses: Callable[[float], Sequence[float]],
    *,
    shorter: float = 0.5,
) -> float:
    """The length t of a step at which the slope linear + t square + that of the losses vanishes, or nearly.

    `losses` gives slope and curvature at a length, `steep` is how steep it goes down at first. `shorter` is the factor
    on the length as long as every length was too long and curvatures led nowhere.
    """
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(_STEPS):
        first, second = losses(t)
        slope, curvature = linear + t * square + first, square + second
        if -_BEFORE * steep <= slope <= _BEHIND * steep:
            return t
        low, high = (low, t) if slope > 0.0 else (t, high)
        following = t - slope / curvature if curvature > 0.0 else 2.0 * t
        if not low < following < high:
            following = 2.0 * t if np.isinf(high) else 0.5 * (low + high) if low > 0.0 else shorter * high
        t = following
    return low
