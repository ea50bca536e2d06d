"""What compiled loops know of a loss: a record of a few numbers, the same for every loop.

Every loss here but the logistic one has a quadratic conjugate. In the slope u of its curve l(z) it is

    l*(u) = aim u + tube |u| + 1/2 ridge u^2    for low <= u <= high, else infinity        low <= 0 <= high
    l(z)  = max over u of  u (z - aim) - tube |u| - 1/2 ridge u^2

    hinge      aim 1, [-1, 0]            squared hinge      aim 1, ridge 1/2, [-inf, 0]
    tube       tube epsilon, [-1, 1]     squared tube       tube epsilon, ridge 1/2
    absolute   [-1, 1]                   squared            ridge 1

with z = y f for a margin loss and z = f - y for a residual loss. These are the numbers of `Loss.dual_box` at C = 1; a
new loss that has them needs no loop of its own. (No compiler is loaded here: losses import this file.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._types import Vector

QUADRATIC, LOGISTIC = 0, 1
"""Kinds of conjugates: the quadratic above, and the entropy of p = -u in [0, 1]."""


class Curve(NamedTuple):
    """A loss as the loops of `_loops.curves` take it."""

    kind: int
    is_margin: bool
    """Whether z = y f, and not f - y."""
    low: float
    high: float
    aim: float = 0.0
    tube: float = 0.0
    ridge: float = 0.0
    sigma: float = 1.0
    """Stiffness of the smooth neighbour of a loss with kinks."""
    centre: Vector = np.empty(0)
    """Slopes of the scores around which that neighbour is formed, one a row; empty for a smooth loss."""

    @property
    def has_kinks(self) -> bool:
        """Whether the slope of the curve jumps."""
        return self.kind == QUADRATIC and self.ridge == 0.0

    @property
    def is_bounded(self) -> bool:
        """Whether the slope of the curve is bounded."""
        return bool(np.isfinite(self.low) and np.isfinite(self.high))

    def place(self, f: Vector, y: Vector) -> Vector:
        """Where rows with scores f and targets y meet the curve."""
        return y * f if self.is_margin else f - y

    def turned(self, u: Vector, y: Vector) -> Vector:
        """Slopes of the curve as slopes in the scores, or the other way round."""
        return y * u if self.is_margin else u
