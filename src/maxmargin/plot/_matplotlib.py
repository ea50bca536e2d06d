"""The one file that imports matplotlib, and only when a picture is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maxmargin.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    __all__ = ["Axes", "Figure", "new_axes", "new_panels"]


def new_axes(width: float = 6.4, height: float = 5.6) -> Axes:
    """Axes of a new figure that pyplot knows, so that `plt.show()` and a notebook find it; its size is in inches."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def new_panels(count: int) -> tuple[Figure, list[Axes]]:
    """Figure with `count` axes side by side that no window will ever show; for writing to a file."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    figure = Figure(figsize=(6.0 * count, 5.6), layout="constrained")
    return figure, [figure.add_subplot(1, count, position + 1) for position in range(count)]
