"""The mean validation score over a grid of two parameters, and what two rules choose from it.

star       the best mean
dots       all settings within one standard error of it
diamond    the simplest of those, as the rule of the search has it
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin.errors import DataError
from maxmargin.plot.axes import key_above, new_axes

if TYPE_CHECKING:
    from maxmargin._types import Vector
    from maxmargin.plot.axes import Axes

_ROUNDING = 1e-12  # of a mean score
_LETTERS = {"C": "$C$", "gamma": r"$\gamma$", "epsilon": r"$\varepsilon$", "coef0": "$c_0$", "nu": r"$\nu$"}


def surface(search: Any, ax: Axes | None = None, *, title: str | None = None) -> Axes:
    """Draw the scores of a search over two parameters as a heat map, with the scale of the colours beside it.

    Parameters
    ----------
    search
        What `evaluate.grid` gives for two parameters with numbers as values, such as C and gamma.
    ax
        Where to draw; None makes a new figure.
    title
        Title of the axes.
    """
    across, up = _parameters(search)
    along, beside = (_numbers(name, search.parameters[name]) for name in (across, up))
    mean = search.mean if next(iter(search.parameters)) == across else search.mean.T
    if not np.isfinite(mean).all():
        raise DataError("surface draws finite scores, and this search has some that are nan or infinite.")

    ax = new_axes() if ax is None else ax
    order = np.ix_(np.argsort(along), np.argsort(beside))
    (edges_along, scale_along), (edges_beside, scale_beside) = _edges(np.sort(along)), _edges(np.sort(beside))
    mesh = ax.pcolormesh(edges_along, edges_beside, mean[order].T, cmap="cividis", zorder=0)
    n_folds = search.scores.shape[-1]
    bar = ax.figure.colorbar(mesh, ax=ax, label=f"mean score over {n_folds} folds" if n_folds > 1 else "score")
    bar.outline.set_visible(False)

    # Black and white with a rim of the other: seen on every colour of the map, and in the key on every paper.
    if n_folds > 1:  # one score alone has no standard error
        row, column = np.nonzero(mean >= _least_good(search))
        _mark(ax, along[row], beside[column], "o", 18, "white", "within one standard error")
        simple = search.choose("one-standard-error")
        _mark(ax, simple[across], simple[up], "D", 140, "white", "one-standard-error rule")
    best = search.choose("best")
    _mark(ax, best[across], best[up], "*", 120, "black", "best mean")
    ax.set(xscale=scale_along, yscale=scale_beside, xlabel=_letter(across), ylabel=_letter(up))
    ax.set(xlim=edges_along[[0, -1]], ylim=edges_beside[[0, -1]])
    key_above(ax, title=title, mark_scale=0.75)
    return ax


def _parameters(search: Any) -> tuple[str, str]:
    """Names of the parameters across and up; C goes across, also that of a step of a pipeline."""
    if not hasattr(search, "parameters") or not hasattr(search, "choose"):
        raise DataError(f"surface draws what evaluate.grid gives; {type(search).__name__} is something else.")
    names = sorted(search.parameters, key=lambda name: _own(name) != "C")
    if len(names) != 2:
        raise DataError(
            f"surface draws a search over two parameters, got {len(names)}: {', '.join(names)}. "
            "Search over two, with the others set in the estimator."
        )
    return names[0], names[1]


def _numbers(name: str, values: list[Any]) -> Vector:
    if not all(isinstance(value, (int, float, np.number)) for value in values):
        raise DataError(f"surface needs numbers to draw, and the values of {name} are {values}.")
    numbers = np.asarray(values, dtype=np.float64)
    if not np.isfinite(numbers).all() or len(set(values)) < len(values):
        raise DataError(f"surface needs finite values, each once, and those of {name} are {values}.")
    return numbers


def _edges(values: Vector) -> tuple[Vector, str]:
    """Edges of the cells around increasing values, half way to the neighbours on their scale, and that scale."""
    is_log = bool(values[0] > 0.0)
    places = np.log(values) if is_log else values
    middle = (places[1:] + places[:-1]) / 2.0
    first, last = (places[1] - places[0], places[-1] - places[-2]) if len(places) > 1 else (1.0, 1.0)
    edges = np.concatenate([[places[0] - first / 2.0], middle, [places[-1] + last / 2.0]])
    return (np.exp(edges), "log") if is_log else (edges, "linear")


def _least_good(search: Any) -> float:
    """The best mean less its standard error, up to rounding."""
    best = search.choose("best")
    place = tuple(list(values).index(best[name]) for name, values in search.parameters.items())
    least = float(search.mean[place] - search.standard_error[place])
    return least - _ROUNDING * abs(least)


def _mark(ax: Axes, across: Any, up: Any, marker: str, size: float, face: str, label: str) -> None:
    rim = "black" if face == "white" else "white"
    ax.scatter(across, up, s=size, marker=marker, facecolors=face, edgecolors=rim, linewidths=0.8, label=label)


def _letter(name: str) -> str:
    return _LETTERS.get(_own(name), name)


def _own(name: str) -> str:
    """The name of a parameter within its step: C for svc__C."""
    return name.rpartition("__")[2]
