"""Margins of rows: on which side, how far, and what that means."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from maxmargin._types import Labels, Vector

_ON_THE_MARGIN = 1e-6


@dataclass(frozen=True)
class Margins:
    """One entry a row.

    Attributes
    ----------
    functional
        y f(x): 1 on the margin, 0 on the boundary, negative on the wrong side.
    geometric
        y f(x) / |w|: the distance to the boundary in the space of phi.
    slack
        max(0, 1 - y f(x)): how far the row falls short of the margin.
    category
        "beyond" the margin, "on" it, "inside" it but on the right side, or "wrong".
    """

    functional: Vector
    geometric: Vector
    slack: Vector
    category: Labels


def margins_of(f: Vector, targets: Vector, weight_length: float, tolerance: float = _ON_THE_MARGIN) -> Margins:
    """Margins of rows with scores f and targets -1 or +1, for a weight vector of the given length."""
    functional = targets * f
    with np.errstate(divide="ignore", invalid="ignore"):  # w = 0 has no boundary: distances are infinite or undefined
        geometric = functional / weight_length
    category = np.select(
        [np.abs(functional - 1.0) <= tolerance, functional > 1.0, functional > 0.0],
        ["on", "beyond", "inside"],
        default="wrong",
    )
    return Margins(functional, geometric, np.maximum(0.0, 1.0 - functional), category)
