"""Losses as the compiled loops know them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from maxmargin._loops.curves import HINGE, LOGISTIC, SQUARED, SQUARED_HINGE, SQUARED_TUBE, TUBE
from maxmargin._types import Vector
from maxmargin.losses import (
    EpsilonInsensitive,
    Hinge,
    Logistic,
    Loss,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)

_CODES: dict[type[Loss], int] = {
    Hinge: HINGE,
    EpsilonInsensitive: TUBE,
    Logistic: LOGISTIC,
    SquaredHinge: SQUARED_HINGE,
    Squared: SQUARED,
    SquaredEpsilonInsensitive: SQUARED_TUBE,
}


class Curve(NamedTuple):
    """The arguments with which every loop of `_loops.curves` begins."""

    code: int
    epsilon: float = 0.0
    sigma: float = 1.0
    """Stiffness of the smooth neighbour of a loss with kinks."""
    centre: Vector = np.empty(0)
    """Slopes around which that neighbour is formed, one a row; empty for a smooth loss."""


def curve_of(loss: Loss) -> Curve:
    """The curve of a loss that has a code."""
    code = next(code for kind, code in _CODES.items() if isinstance(loss, kind))
    return Curve(code, float(getattr(loss, "epsilon", 0.0)))
