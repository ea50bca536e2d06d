"""Coefficients along a regularisation path: against lambda, which falls to the right, against C, or against the norm.

With lambda infinite all coefficients are zero. As it falls they grow: those of ridge regression all at once, those of
the lasso one after the other. Against |w|_1 the lines of the lasso are straight between two such events.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from scipy.optimize import isotonic_regression

from maxmargin.errors import DataError, ParameterError, unknown_name
from maxmargin.plot.axes import new_axes, palette_of

if TYPE_CHECKING:
    from maxmargin._types import Matrix, Vector
    from maxmargin.plot.axes import Axes

_STYLES = ("solid", "dashed", "dashdot", (0, (1, 1)))
_LINE_HEIGHT = 1.25  # of the size of the letters
_LABELS = {"lambda": r"$\lambda$", "C": "$C$", "norm": r"$\Vert w \Vert_1$"}


class _CoefficientPath(NamedTuple):
    """Values of the parameter, which of lambda and C it is, and one row of coefficients a value."""

    values: Vector
    kind: Literal["lambda", "C"]
    coefs: Matrix


def path(
    result: Any,
    against: Literal["lambda", "C", "norm"] | Axes | None = None,
    ax: Axes | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    names: int = 8,
    title: str | None = None,
) -> Axes:
    """Draw the coefficients of a path, one line a feature.

    Parameters
    ----------
    result
        What `lasso_path` or `ridge_path` gives, any pair (alphas, coefs) with one row of coefs a feature and one column
        an alpha, or what `evaluate.path` gives for a linear machine of two classes or of numbers.
    against
        `"lambda"`, `"C"` or `"norm"`, the sum of the absolute coefficients. None takes the parameter of the path.
        A path over C has lambda = 1 / C.
    ax
        Where to draw; None makes a new figure. As in the other pictures it may stand right behind the result.
    feature_names
        One name a feature; None writes w_1, w_2 and so on.
    names
        How many lines have their name at the right end: those with the largest coefficients.
    title
        Title of the axes.
    """
    found = _read(result)
    asked, ax = (against, ax) if isinstance(against, str | None) else (ax, against)
    scale = found.kind if asked is None else str(asked)
    places = _places(found, scale)
    n_features = found.coefs.shape[1]
    written = [f"$w_{{{number + 1}}}$" for number in range(n_features)] if feature_names is None else feature_names
    if len(written) != n_features:
        raise ParameterError(f"feature_names must be one name a feature, {n_features}, got {len(written)}.")

    ax = new_axes() if ax is None else ax
    palette = palette_of(ax)
    order = np.argsort(places)
    last = order[0] if scale == "lambda" else order[-1]  # the least penalised model, at the right
    largest = np.argsort(-np.abs(found.coefs[last]), kind="stable")
    colours = {}
    for rank, feature in enumerate(largest.tolist()):
        colours[feature] = palette.one(rank)
        style = _STYLES[rank // len(palette.series) % len(_STYLES)]
        line: Any = {"color": colours[feature], "linestyle": style, "linewidth": 1.6}
        ax.plot(places[order], found.coefs[order, feature], label=str(written[feature]), **line)
    ax.axhline(0.0, color=palette.ink, linewidth=0.8, alpha=0.5, zorder=1)
    if scale != "norm":
        ax.set_xscale("log")
    low, high = places.min(), places.max()
    if low < high:
        ax.set_xlim((high, low) if scale == "lambda" else (low, high))
    ax.set_ylim(ax.get_ylim())  # names are placed for these limits
    ax.set(xlabel=_LABELS[scale], ylabel="coefficients, $w$")
    ax.spines[["top", "right"]].set_visible(False)
    if title is not None:
        ax.set_title(title, loc="left")
    named = [feature for feature in largest[: max(names, 0)].tolist() if found.coefs[last, feature] != 0.0]
    _name_line_ends(ax, [str(written[k]) for k in named], found.coefs[last, named], [colours[k] for k in named])
    return ax


def _read(result: Any) -> _CoefficientPath:
    if hasattr(result, "C") and hasattr(result, "coefs"):
        coefs = np.asarray(result.coefs, dtype=np.float64)
        if coefs.ndim == 3 and coefs.shape[1] == 1:
            coefs = coefs[:, 0]
        if coefs.ndim != 2:
            raise DataError(
                f"path draws one coefficient a feature and model, got coefs of shape {coefs.shape}. "
                "Choose two classes, or draw (1 / found.C, found.coefs[:, k].T) for class number k."
            )
        return _checked(np.asarray(result.C, dtype=np.float64), "C", coefs)
    try:
        alphas, coefs = (result.alphas, result.coefs) if hasattr(result, "alphas") else tuple(result)[:2]
        values, table = np.asarray(alphas, dtype=np.float64), np.asarray(coefs, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"path draws what lasso_path, ridge_path or evaluate.path gives, or a pair (alphas, coefs); "
            f"{type(result).__name__} is none of these. A kernel machine has no coefficients."
        ) from None
    return _checked(values, "lambda", table.T)


def _checked(values: Vector, kind: Literal["lambda", "C"], coefs: Matrix) -> _CoefficientPath:
    if values.ndim != 1 or coefs.ndim != 2 or len(values) != len(coefs) or coefs.size == 0:
        raise DataError(
            "path draws one row of coefs a feature and one column an alpha, "
            f"got coefs of shape {coefs.T.shape} and alphas of shape {values.shape}."
        )
    if not np.isfinite(coefs).all():
        raise DataError("coefs hold nan or infinity, which has no place in a picture.")
    return _CoefficientPath(values, kind, coefs)


def _places(found: _CoefficientPath, against: str) -> Vector:
    """Where each model is drawn."""
    if against not in _LABELS:
        raise unknown_name("against", against, _LABELS)
    if against == "norm":
        return np.asarray(np.abs(found.coefs).sum(axis=1))
    if not (np.isfinite(found.values).all() and (found.values > 0.0).all()):
        raise DataError(f"a log scale has no place for {found.kind} = 0 or infinity; draw the path against 'norm'.")
    if against == found.kind:
        return found.values
    if against == "lambda":
        return 1.0 / found.values
    raise ParameterError("a path over lambda does not know how many rows C would count; draw it against 'lambda'.")


def spread(places: Vector, gap: float) -> Vector:
    """The places nearest to the given ones, by least squares, that keep their order and are at least `gap` apart.

    With k gaps taken off the place of rank k, "at least a gap apart" reads "never falling": an isotonic regression.
    """
    order = np.argsort(places, kind="stable")
    steps = gap * np.arange(len(places))
    moved = np.empty(len(places))
    moved[order] = isotonic_regression(places[order] - steps).x + steps
    return moved


def _name_line_ends(ax: Axes, names: Sequence[str], heights: Vector, colours: Sequence[str]) -> None:
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
