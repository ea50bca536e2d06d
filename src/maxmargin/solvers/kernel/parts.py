"""Variables with their slopes: all of them, or some; and what the slopes tell.

Raising a variable meets one slope, lowering it another (`_loops.kernel.pair_steps`). In each group of variables the
smallest slope of a rise and the largest of a fall say how far from optimal the group is, and where its intercept lies.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.working_sets import look
from maxmargin._types import RowIndex, Vector
from maxmargin.solvers.kernel.dual_variables import Variables


class Look(NamedTuple):
    """What the slopes tell, of each group."""

    low: Vector
    """Smallest slope of a rise."""
    high: Vector
    """Largest slope of a fall."""

    @property
    def violation(self) -> float:
        """How far the worst pair is from optimal."""
        if len(self.low) == 1:
            return float(self.high[0] - self.low[0])  # small fits look often
        return float(np.max(self.high - self.low))

    @property
    def middle(self) -> Vector:
        """The slope that separates rises from falls; where all variables are at the same bound, the last of them."""
        middle = 0.5 * (self.low + self.high)
        if math.isfinite(middle[0]) and (len(middle) == 1 or np.all(np.isfinite(middle))):
            return middle
        low = np.where(np.isfinite(self.low), self.low, self.high)
        high = np.where(np.isfinite(self.high), self.high, low)
        return np.where(np.isfinite(high), 0.5 * (low + high), 0.0)


class Part:
    """Some of the variables, with their slopes."""

    def __init__(self, variables: Variables, which: RowIndex, whole: Part | None = None):
        v = variables
        self.which, self.n_groups = which, len(v.groups)
        if whole is None:
            self.lower, self.upper, self.tube, self.ridge = v.lower, v.upper, v.tube, v.ridge
            self.beta, self.F = v.start.copy(), -v.target
            self.group = np.zeros(len(which), dtype=np.int64)
            for number, members in enumerate(v.groups):
                self.group[members] = number
        else:
            self.lower, self.upper, self.tube, self.ridge = (x[which] for x in (v.lower, v.upper, v.tube, v.ridge))
            self.beta, self.F, self.group = whole.beta[which], whole.F[which], whole.group[which]
        self.rising, self.falling = np.empty(len(which)), np.empty(len(which))

    def look(self) -> Look:
        """Slopes in both directions."""
        low, high = look(self.F, self.beta, self.lower, self.upper, self.tube, self.rising, self.falling)
        if self.n_groups == 1:
            return Look(np.array([low]), np.array([high]))
        groups = [self.group == g for g in range(self.n_groups)]
        return Look(
            np.array([np.min(self.rising[g], initial=np.inf) for g in groups]),
            np.array([np.max(self.falling[g], initial=-np.inf) for g in groups]),
        )

    def most_violating(self, look: Look, count: int, carried: RowIndex) -> RowIndex:
        """`count` variables, the carried ones first, the others the worst: half to be raised, half lowered."""
        if count >= len(self.which):
            others = np.ones(len(self.which), dtype=bool)
            others[carried] = False
            return np.concatenate([carried, np.flatnonzero(others)])
        middle = look.middle[self.group] if self.n_groups > 1 else look.middle[0]
        gain_up, gain_down = middle - self.rising, self.falling - middle
        gain_up[carried], gain_down[carried] = -np.inf, -np.inf
        wanted = count - len(carried)
        up = _largest(gain_up, wanted // 2)
        gain_down[up] = -np.inf
        down = _largest(gain_down, wanted - len(up))
        gain_up[up], gain_up[down] = -np.inf, -np.inf
        more = _largest(gain_up, wanted - len(up) - len(down))  # where few can be lowered
        return np.concatenate([carried, up, down, more])

    def between(self) -> NDArray[np.bool_]:
        """Variables that are at no bound and no kink."""
        return np.asarray((self.beta > self.lower) & (self.beta < self.upper) & (self.beta != 0.0))

    def gain(self, look: Look) -> Vector:
        """How much moving each variable would gain, a slope."""
        middle = look.middle[self.group]
        return np.maximum(middle - self.rising, self.falling - middle)


def _largest(values: Vector, count: int) -> RowIndex:
    """Places of the largest values, except those that are minus infinity."""
    if count <= 0:
        return np.empty(0, dtype=np.int64)
    places = np.argpartition(-values, count - 1)[:count] if count < len(values) else np.arange(len(values))
    return places[values[places] > -np.inf]
