"""The picture of a two-class machine on two features.

    f = 0          the boundary: a solid line
    f = -1, +1     the margin: dashed lines, and the band between them shaded
    ring           a support vector
    thin line      slack: from a point to the nearest place on the margin of its own class

For a linear machine the thin line has length slack / |w|, exactly. For a kernel machine slack is measured in
the space of the kernel; the line then shows the part of the margin that the point failed to clear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import KDTree

from maxmargin.errors import DataError, ParameterError
from maxmargin.plot.axes import key_above, new_axes, palette_of
from maxmargin.plot.margins import classes_of, signs_of

if TYPE_CHECKING:
    from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
    from maxmargin.plot.axes import Axes

_MARKERS = ("s", "o")
_KEY = _BOUNDARY, _MARGIN, _SUPPORT, _SLACK = "boundary, f = 0", "margin, f = ±1", "support vector", "slack"

_PADDING = 0.06  # of the span of the data, on each side
_ON_THE_MARGIN = 1e-3  # slack below this is the solver's tolerance, and shorter than a pixel


def boundary(
    model: Any,
    X: Rows,
    y: Labels,
    ax: Axes | None = None,
    *,
    slack: bool = True,
    support: bool = True,
    resolution: int = 300,
    feature_names: Sequence[str] | None = None,
    title: str | None = None,
) -> Axes:
    """Draw the regions, the boundary and the margin of a two-class model over two-dimensional data.

    The axes are for more drawing; nothing is shown or saved.

    Parameters
    ----------
    model
        A fitted classifier with two classes and a `decision_function`. Pipelines and models of scikit-learn
        will do.
    X, y
        The points to draw, in two columns, and their labels: best the data the model was trained on.
    ax
        Where to draw; None makes a new figure.
    slack
        Whether to join each point that violates the margin to the margin of its class.
    support
        Whether to ring the support vectors: the rows in `model.support_` when `X` is what the model was
        trained on, otherwise every row that is not beyond the margin.
    resolution
        Points a side of the grid on which the decision function is evaluated.
    feature_names
        Names of the axes; None takes the column names of a data frame.
    title
        Title of the axes.
    """
    points = _points(X)
    classes = classes_of(model, "boundary")
    signs = signs_of(y, classes, n_rows=len(points))
    if resolution < 2:
        raise ParameterError(f"resolution must be at least 2, got resolution={resolution!r}. Try 300.")
    names = _feature_names(feature_names, X)
    field = _evaluate(model, X, points, resolution)
    margin = signs * np.ravel(model.decision_function(X))

    ax = new_axes() if ax is None else ax
    palette = palette_of(ax)
    ink, colours = palette.ink, palette.classes

    _draw_field(ax, field, colours, ink)
    if slack and (short := margin < 1.0 - _ON_THE_MARGIN).any():
        ends = _margin_ends(model, points[short], signs[short], margin[short], field)
        _draw_slack(ax, points[short], ends, ink)
    for sign, colour, marker, label in zip((-1, 1), colours, _MARKERS, classes, strict=True):
        name = label if isinstance(label, str) else f"y = {label}"
        rim: Any = {"edgecolors": [palette.paper], "linewidths": 0.4}
        x1, x2 = points[signs == sign].T
        ax.scatter(x1, x2, s=22, marker=marker, color=colour, **rim, label=name, zorder=3)
    if support and (ringed := _support_rows(model, X, y, points, margin)).any():
        rim = {"edgecolors": [ink], "linewidths": 0.8}
        x1, x2 = points[ringed].T
        ax.scatter(x1, x2, s=52, facecolors="none", **rim, label=_SUPPORT, zorder=4)
    ax.set(xlim=field.across[[0, -1]], ylim=field.up[[0, -1]], xlabel=names[0], ylabel=names[1])
    key_above(ax, last=_KEY, title=title)
    return ax


@dataclass(frozen=True)
class _Field:
    """The decision function on a grid: `values[row, column]` is f at (across[column], up[row])."""

    across: Vector
    up: Vector
    values: Matrix


def _points(X: Rows) -> Matrix:
    try:
        points = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"boundary draws a dense array of numbers, got {type(X).__name__} ({error}).") from None
    if points.ndim != 2 or points.shape[1] != 2 or len(points) == 0:
        raise DataError(
            f"boundary draws rows of two features, got X of shape {points.shape}. "
            "Choose two columns and train the model on them alone."
        )
    if not np.isfinite(points).all():
        raise DataError("X holds nan or infinity, which has no place in a picture. Leave those rows out.")
    return points


def _feature_names(given: Sequence[str] | None, X: Rows) -> Sequence[str]:
    names = list(getattr(X, "columns", ("$x_1$", "$x_2$"))) if given is None else list(given)
    if len(names) != 2:
        raise ParameterError(f"feature_names must be two names, got {given!r}.")
    return [str(name) for name in names]


def _evaluate(model: Any, X: Rows, points: Matrix, resolution: int) -> _Field:
    low, high = points.min(axis=0), points.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    low, high = low - _PADDING * span, high + _PADDING * span
    across, up = (np.linspace(low[k], high[k], resolution) for k in (0, 1))
    grid: Any = np.stack([axis.ravel() for axis in np.meshgrid(across, up)], axis=1)
    if hasattr(X, "columns"):  # a model trained on a data frame wants to see the names again
        grid = type(X)(grid, columns=X.columns)
    values = np.asarray(model.decision_function(grid), dtype=np.float64)
    return _Field(across, up, values.reshape(resolution, resolution))


def _support_rows(model: Any, X: Rows, y: Labels, points: Matrix, margin: Vector) -> NDArray[np.bool_]:
    rows = getattr(model, "support_", None)
    if rows is not None and _trained_on(model, rows, points):
        ringed = np.zeros(len(points), dtype=np.bool_)
        ringed[rows] = True
        return ringed
    if hasattr(model, "margins"):
        return np.asarray(model.margins(X, y).category != "beyond", dtype=np.bool_)
    return margin <= 1.0 + _ON_THE_MARGIN


def _trained_on(model: Any, rows: RowIndex, points: Matrix) -> bool:
    """Whether the rows that the model calls its support vectors are those among the points to draw."""
    vectors = getattr(model, "support_vectors_", None)
    if vectors is None or np.max(rows, initial=-1) >= len(points):
        return False
    return np.array_equal(points[rows], vectors)


def _margin_ends(model: Any, points: Matrix, signs: Vector, margin: Vector, field: _Field) -> Matrix:
    """For each point the place on the margin of its own class where its slack line ends; nan for none."""
    w: Vector = np.ravel(getattr(model, "coef_", ()))
    if w.any():
        return points + np.outer(signs * (1.0 - margin), w) / (w @ w)
    ends = np.full_like(points, np.nan)
    for sign in (-1.0, 1.0):
        curve = _level_curve(field, sign)
        if len(curve):
            own = signs == sign
            ends[own] = curve[KDTree(curve).query(points[own])[1]]
    return ends


def _level_curve(field: _Field, level: float) -> Matrix:
    """Places where the decision function crosses `level` between neighbours of the grid."""
    across_rows = _crossings(field.values - level, field.across, field.up)
    up_columns = _crossings(field.values.T - level, field.up, field.across)
    return np.concatenate([across_rows, up_columns[:, ::-1]])


def _crossings(values: Matrix, along: Vector, beside: Vector) -> Matrix:
    """Zeros of each row of `values`, by linear interpolation, as places (along, beside)."""
    row, column = np.nonzero((values[:, :-1] < 0.0) != (values[:, 1:] < 0.0))
    before, after = values[row, column], values[row, column + 1]
    part = before / (before - after)
    return np.stack([along[column] + part * (along[column + 1] - along[column]), beside[row]], axis=1)


def _draw_field(ax: Axes, field: _Field, colours: tuple[str, str], ink: Any) -> None:
    grid = (field.across, field.up, field.values)
    reach = max(2.0, 2.0 * float(np.abs(field.values).max()))
    ax.contourf(*grid, levels=[-reach, 0.0, reach], colors=colours, alpha=0.12, zorder=0)
    ax.contourf(*grid, levels=[-1.0, 1.0], colors=[ink], alpha=0.07, zorder=0.5)
    for level, style, width, label in (
        (0.0, "solid", 1.8, _BOUNDARY),
        (-1.0, "dashed", 1.0, _MARGIN),
        (1.0, "dashed", 1.0, None),
    ):
        if field.values.min() < level < field.values.max():  # matplotlib warns about a level it cannot find
            ax.contour(*grid, levels=[level], colors=[ink], linestyles=style, linewidths=width, zorder=2)
        if label is not None:
            ax.plot([], [], color=ink, linestyle=style, linewidth=width, label=label)


def _draw_slack(ax: Axes, starts: Matrix, ends: Matrix, ink: Any) -> None:
    gap = np.full_like(starts, np.nan)  # breaks the one line into many
    path = np.stack([starts, ends, gap], axis=1).reshape(-1, 2)
    ax.plot(*path.T, color=ink, linewidth=0.7, alpha=0.55, label=_SLACK, zorder=1.5)
