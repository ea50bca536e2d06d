"""How a fit came to its end: primal and dual value closing on each other, or the relative gap on a log scale.

The best value lies between P and D, so P - D bounds how far the model is from it.

What is drawn is the history of the fit, one mark a check, as the solver recorded it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maxmargin.errors import DataError, unknown_name
from maxmargin.plot.axes import key_above, new_axes, palette_of
from maxmargin.problems import History

if TYPE_CHECKING:
    from maxmargin._types import Vector
    from maxmargin.plot.axes import Axes

_AXES = {"seconds": "seconds", "passes": "passes over the data"}
_STYLES = ("solid", "dashed", "dashdot", "dotted")


class _Fit(NamedTuple):
    """One fit: its histories, one a sub-problem, and the relative gap that was asked for."""

    histories: list[History]
    tolerance: float | None


def convergence(
    fits: Any,
    ax: Axes | None = None,
    *,
    show: Literal["objective", "gap"] | None = None,
    against: Literal["seconds", "passes"] = "seconds",
    title: str | None = None,
) -> Axes:
    """Draw the way of one fit or of several.

    Parameters
    ----------
    fits
        A fitted model, its `history_`, or several of them: a dictionary from names, or a list.
    ax
        Where to draw; None makes a new figure.
    show
        `"objective"`: primal and dual value. `"gap"`: (P - D) / |P| on a log scale; a gap that is not positive, which
        means zero up to rounding, has no place on it. None: the values for one fit, the gap for several.
    against
        Seconds, or passes over the data as the solver counts them.
    title
        Title of the axes.
    """
    named = _named(fits)
    show = ("objective" if len(named) == 1 else "gap") if show is None else show
    if show not in ("objective", "gap"):
        raise unknown_name("show", show, ("objective", "gap"))
    if against not in _AXES:
        raise unknown_name("against", against, _AXES)

    ax = new_axes() if ax is None else ax
    if show == "objective":
        _draw_objectives(ax, named, against)
        ax.set_ylabel("objective")
    else:
        _draw_gaps(ax, named, against)
        ax.set(yscale="log", ylabel="relative gap, $(P - D) / |P|$")
    ax.set_xlabel(_AXES[against])
    key_above(ax, title=title)
    return ax


def _named(fits: Any) -> dict[str, _Fit]:
    """The fits by name; the name of a single one is empty."""
    if isinstance(fits, Mapping):
        given = {str(name): fit for name, fit in fits.items()}
    elif isinstance(fits, Sequence):
        given = {f"fit {number}": fit for number, fit in enumerate(fits, start=1)}
    else:
        given = {"": fits}
    if not given:
        raise DataError("convergence draws at least one fit, got none.")
    return {name: _fit(name, fit) for name, fit in given.items()}


def _fit(name: str, given: Any) -> _Fit:
    history: Any = given if isinstance(given, (History, list)) else getattr(given, "history_", None)
    histories: list[Any] = history if isinstance(history, list) else [history]
    what = f"{name!r}, {type(given).__name__}," if name else type(given).__name__
    if not all(isinstance(one, History) for one in histories):
        raise DataError(
            f"convergence draws a fitted model with a history_, or a History; {what} is neither. "
            "Fit the model first; naive Bayes and trees are not trained step by step."
        )
    with_checks = [one for one in histories if len(one)]
    if not with_checks:
        raise DataError(f"the history of {what} has no check to draw: the fit ended before its first one.")
    return _Fit(with_checks, getattr(given, "tol", None))


def _draw_objectives(ax: Axes, named: dict[str, _Fit], against: str) -> None:
    palette = palette_of(ax)
    for number, (name, fit) in enumerate(named.items()):
        primal_colour, dual_colour = palette.classes if len(named) == 1 else (palette.one(number),) * 2
        before = f"{name}: " if name else ""
        for part, history in enumerate(fit.histories):
            columns = _finite(history)
            steps = columns[against]
            for values, colour, style, words in (
                (columns["primal"], primal_colour, "solid", "primal, $P$"),
                (columns["dual"], dual_colour, "dashed", "dual, $D$"),
            ):
                label = before + words if part == 0 else None
                ax.plot(steps, values, color=colour, linestyle=style, marker=".", label=label)
            ax.fill_between(steps, columns["dual"], columns["primal"], color=palette.ink, alpha=0.07, linewidth=0.0)


def _draw_gaps(ax: Axes, named: dict[str, _Fit], against: str) -> None:
    palette = palette_of(ax)
    for number, (name, fit) in enumerate(named.items()):
        style = _STYLES[number // len(palette.series) % len(_STYLES)]
        for part, history in enumerate(fit.histories):
            columns = _finite(history)
            size = np.maximum(np.abs(columns["primal"]), np.finfo(np.float64).tiny)
            gap = np.where(columns["gap"] > 0.0, columns["gap"] / size, np.nan)
            label = (name or "relative gap") if part == 0 else None
            ax.plot(columns[against], gap, color=palette.one(number), linestyle=style, marker=".", label=label)
    tolerances = {fit.tolerance for fit in named.values()}
    if len(tolerances) == 1 and (tolerance := tolerances.pop()) is not None:
        ax.axhline(tolerance, color=palette.ink, linestyle="dashed", linewidth=1.0, label="tolerance", zorder=1)


def _finite(history: History) -> dict[str, Vector]:
    """The columns of a history without the checks that had no bound yet."""
    columns = history.as_arrays()
    kept = np.isfinite(columns["gap"])
    return {name: column[kept] for name, column in columns.items()}
