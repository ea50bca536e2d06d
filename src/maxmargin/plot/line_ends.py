"""Names at the ends of lines, pushed apart where they would cover each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import isotonic_regression

if TYPE_CHECKING:
    from maxmargin._types import Vector
    from maxmargin.plot._matplotlib import Axes

_LINE_HEIGHT = 1.25  # of the size of the letters


def spread(places: Vector, gap: float) -> Vector:
    """The places nearest to the given ones, by least squares, that keep their order and are at least `gap` apart.

    With k gaps taken off the place of rank k, "at least a gap apart" reads "never falling": an isotonic regression.
    """
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = isotonic_regression(places[order] - steps).x + steps
    return moved


def name_line_ends(ax: Axes, names: Sequence[str], heights: Vector, colours: Sequence[str]) -> None:
    """Write each name at the right of the axes, at the height where its line ends; the limits must be final."""
    size = 8.0
    low, high = ax.get_ylim()
    points = ax.bbox.height / ax.figure.dpi * 72.0 / (high - low)  # a unit of the axis, in points of print
    offsets = spread(np.asarray(heights) * points, _LINE_HEIGHT * size) - np.asarray(heights) * points
    for name, height, offset, colour in zip(names, heights, offsets, colours, strict=True):
        ax.annotate(
            name,
            xy=(1.0, height),
            xycoords=("axes fraction", "data"),
            xytext=(14.0, offset),
            textcoords="offset points",
            va="center",
            color=colour,
            fontsize=size,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.6, "shrinkA": 0.0, "shrinkB": 0.0},
        )
