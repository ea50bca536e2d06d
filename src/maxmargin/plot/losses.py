"""The losses of two classes side by side, against the margin y f(x).

Every loss is drawn for a row with y = 1, which is the same picture as for y = -1: a margin loss knows y f only, and a
residual loss l(f - y) with an even curve is l(y f - 1). To be comparable, each is divided by its value on the boundary,
so that all pass through 1 there. Those that bound the zero-one loss, which counts errors, are then seen to bound it.

    hinge            max(0, 1 - y f)
    squared hinge    max(0, 1 - y f)^2
    logistic         log(1 + exp(-y f)) / ln 2
    squared          (1 - y f)^2                  the half of the squared loss is lost in the division
    zero-one         1 for y f < 0, else 0
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from maxmargin.errors import DataError, ParameterError
from maxmargin.losses import CurveLoss, Hinge, Logistic, Squared, SquaredHinge
from maxmargin.plot.axes import key_above, new_axes, palette_of

if TYPE_CHECKING:
    from maxmargin._types import Vector
    from maxmargin.plot.axes import Axes

_STYLES = ("solid", "dashed", "dashdot", "solid", (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)))
_REACH = 3.0
_POINTS = 601
_TALLEST = 4.0  # of the zero-one loss: enough to see which curve is steep


def losses(
    losses: Sequence[CurveLoss] | CurveLoss | None = None,
    ax: Axes | None = None,
    *,
    scaled: bool = True,
    title: str | None = None,
) -> Axes:
    """Draw losses against the margin, and the zero-one loss with them.

    Parameters
    ----------
    losses
        Losses of `maxmargin.losses` with one score a row, or one of them; None for hinge, squared hinge, logistic and
        squared.
    ax
        Where to draw; None makes a new figure.
    scaled
        Whether to divide each loss by its value on the boundary. Without it they are drawn as they are trained.
    title
        Title of the axes.
    """
    if losses is None:
        losses = (Hinge(), SquaredHinge(), Logistic(), Squared())
    drawn = tuple(losses) if isinstance(losses, Iterable) else (losses,)
    for loss in drawn:
        if not isinstance(loss, CurveLoss):
            raise ParameterError(f"losses draws losses of one score a row, got {loss!r}. See maxmargin.losses.")
    if not drawn:
        raise DataError("losses draws at least one loss, got none. Leave the argument out for the usual four.")

    ax = new_axes() if ax is None else ax
    palette = palette_of(ax)
    margin = np.linspace(-_REACH, _REACH, _POINTS)
    for number, loss in enumerate(drawn):
        label, factor = _scale(loss) if scaled else (loss.name, 1.0)
        ax.plot(
            margin,
            factor * _of_margin(loss, margin),
            color=palette.one(number),
            linestyle=_STYLES[number % len(_STYLES)],
            linewidth=2.0,
            label=label,
            zorder=3.0 - 0.01 * number,  # squared under squared hinge, whose gaps show it
        )
    ax.plot([-_REACH, 0.0, 0.0, _REACH], [1.0, 1.0, 0.0, 0.0], color=palette.ink, lw=1.4, label="zero-one", zorder=1.5)
    ax.axvline(1.0, color=palette.ink, linestyle="dashed", linewidth=0.8, alpha=0.5, zorder=1)
    ax.set(xlim=(-_REACH, _REACH), ylim=(-0.02 * _TALLEST, _TALLEST), xlabel="$y f$", ylabel="loss of a row")
    key_above(ax, title=title)
    return ax


def _of_margin(loss: CurveLoss, margin: Vector) -> Vector:
    return np.asarray(loss.score_value(margin, np.ones_like(margin)))


def _scale(loss: CurveLoss) -> tuple[str, float]:
    """Label, and the factor that makes the loss 1 on the boundary, where it is neither 0 nor infinite there."""
    there = float(_of_margin(loss, np.zeros(1))[0])
    if there in (0.0, 1.0) or not np.isfinite(there):
        return loss.name, 1.0
    divisor = "ln 2" if np.isclose(there, np.log(2.0)) else f"{there:.3g}"
    return f"{loss.name} / {divisor}", 1.0 / there
