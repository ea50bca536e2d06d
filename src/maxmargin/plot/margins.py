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
from numpy.typing import NDArray

from maxmargin.errors import DataError, ParameterError
from maxmargin.plot.axes import ORANGE, VERMILION, key_above, new_axes, palette_of

if TYPE_CHECKING:
    from maxmargin._types import Labels, Rows, Vector
    from maxmargin.plot.axes import Axes

_WORDS = {"wrong": "wrong side", "inside": "inside the margin", "on": "on the margin", "beyond": "beyond the margin"}
_LINES = _BOUNDARY, _MARGIN, _SLACK = "boundary, f = 0", "margin, f = ±1", "slack, ξ > 0"
_LEAST_REACH = 1.25  # so that both margins are in sight


def margins(
    model: Any, X: Rows, y: Labels, ax: Axes | None = None, *, bins: int = 40, title: str | None = None
) -> Axes:
    """Draw how many rows have which functional margin y f(x).

    The key has the number of rows of each category of `model.margins(X, y)`.

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


def classes_of(model: Any, picture: str) -> NDArray[Any]:
    """The two classes of a fitted model, the negative one first; an error names the picture that needs them."""
    if not hasattr(model, "decision_function"):
        raise DataError(
            f"{picture} draws scores f(x) of two classes, and {type(model).__name__} has no decision_function to give "
            f"them. Trees and naive Bayes have none, and regression has no {picture}."
        )
    if not hasattr(model, "classes_"):
        raise DataError(
            f"{picture} draws a fitted classifier, and {type(model).__name__} has no classes_. "
            + ("It is fitted, but it tells no classes apart." if _is_fitted(model) else "Fit the model first.")
        )
    classes = np.asarray(model.classes_)
    if len(classes) != 2:
        raise DataError(
            f"{picture} draws two classes, and the model knows {len(classes)}. "
            "Train it on two of them, or on one against the rest."
        )
    return classes


def _is_fitted(model: Any) -> bool:
    """Whether a model, or the last step of a pipeline, has what only a fit gives: names that end in an underscore."""
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return any(name.endswith("_") and not name.startswith("_") for name in vars(last))


def signs_of(y: Labels, classes: NDArray[Any], n_rows: int) -> Vector:
    """-1 for the first class, +1 for the second."""
    labels = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"y must have one label a row of X, {n_rows}, got shape {labels.shape}.")
    if not np.isin(labels, classes).all():
        strange = labels[~np.isin(labels, classes)].tolist()[0]
        raise DataError(f"y holds the label {strange!r}, and the model knows {classes.tolist()} only.")
    return np.where(labels == classes[1], 1.0, -1.0)
