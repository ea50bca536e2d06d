"""The margins of all rows in one picture: a histogram of y f(x).

    y f > 1         beyond the margin: no slack
    y f = 1         on the margin
    0 < y f < 1     inside the margin, on the right side
    y f <= 0        on the wrong side of the boundary

Left of 1 the background is shaded: there the slack is 1 - y f.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.errors import DataError, ParameterError
from maxmargin.plot._matplotlib import new_axes
from maxmargin.plot.colours import ORANGE, VERMILION, palette_of
from maxmargin.plot.key import key_above
from maxmargin.plot.two_classes import classes_of, signs_of

if TYPE_CHECKING:
    from maxmargin._types import Labels, Rows, Vector
    from maxmargin.plot._matplotlib import Axes

_WORDS = {"wrong": "wrong side", "inside": "inside the margin", "on": "on the margin", "beyond": "beyond the margin"}
_LINES = _BOUNDARY, _MARGIN, _SLACK = "boundary, f = 0", "margin, f = ±1", "slack, ξ > 0"
_LEAST_REACH = 1.25  # so that both margins are in sight


def margins(
    model: Any,
    X: Rows,
    y: Labels,
    ax: Axes | None = None,
    *,
    bins: int = 40,
    title: str | None = None,
) -> Axes:
    """Draw how many rows have which functional margin y f(x).

    Parameters
    ----------
    model
        A fitted classifier with two classes and a `decision_function`. Pipelines and models of scikit-learn
        will do.
    X, y
        Rows and their labels: those the model was trained on, or new ones.
    ax
        Where to draw; None makes a new figure.
    bins
        About how many bars; one of them always begins at the margin, y f = 1.
    title
        Title of the axes.

    Returns
    -------
    The axes. The key has the number of rows of each category of `model.margins(X, y)`.
    """
    from maxmargin.estimators.fitting.margins import margins_of  # late: estimators bring scikit-learn with them

    if bins < 1:
        raise ParameterError(f"bins must be at least 1, got bins={bins!r}. Try 40.")
    classes = classes_of(model, "margins")
    f = np.asarray(model.decision_function(X), dtype=np.float64).ravel()
    if not np.isfinite(f).all() or len(f) == 0:
        raise DataError("margins draws rows with a finite score, and at least one. Look for nan or infinity in X.")
    found = margins_of(f, signs_of(y, classes, n_rows=len(f)), weight_length=1.0)
    # Rows on the margin are there up to rounding: they go into the bar that begins at 1, all of them.
    margin = np.where(found.category == "on", 1.0, found.functional)

    ax = new_axes() if ax is None else ax
    palette = palette_of(ax)
    edges = _edges(margin, bins)
    parts = [margin[found.category == category] for category in _WORDS]
    ax.hist(
        parts,
        bins=edges.tolist(),
        stacked=True,
        color=[VERMILION, ORANGE, palette.ink, palette.series[0]],
        label=[f"{words}: {len(part)}" for words, part in zip(_WORDS.values(), parts, strict=True)],
        edgecolor=palette.paper,
        linewidth=0.5,
        zorder=2,
    )
    low, high = min(edges[0], -_LEAST_REACH), max(edges[-1], _LEAST_REACH)
    ax.axvspan(low, 1.0, color=palette.ink, alpha=0.10, linewidth=0.0, zorder=0, label=_SLACK)
    for place, style, label in ((0.0, "solid", _BOUNDARY), (1.0, "dashed", _MARGIN), (-1.0, "dashed", None)):
        ax.axvline(place, color=palette.ink, linestyle=style, linewidth=1.2, label=label, zorder=3)
    ax.set(xlim=(low, high), xlabel="$y_i f_i$", ylabel="rows")
    key_above(ax, last=_LINES, title=title, columns=2)
    return ax


def _edges(margin: Vector, bins: int) -> Vector:
    """Edges of about `bins` bars, one edge at 1, and one at 0 unless the bars are wider than 1."""
    low, high = min(float(margin.min()), 0.0), max(float(margin.max()), 1.0)
    span = high - low
    width = 1.0 / np.floor(bins / span) if span <= bins else np.ceil(span / bins)
    first, last = np.floor((low - 1.0) / width), np.floor((high - 1.0) / width) + 1.0
    return np.asarray(1.0 + width * np.arange(first, last + 1.0))
