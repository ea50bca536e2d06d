"""What all pictures share: new axes, colours that fit their paper, and a key above them where it covers nothing.

This is the one file that imports matplotlib, and only when a picture is asked for.

The palette is that of Okabe and Ito, whose colours every kind of colour vision tells apart. Its darker half is for
light paper, its lighter half for dark paper. Text and lines take the colour of the axes' own labels, so that a picture
follows the style it is drawn in.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maxmargin.errors import MissingExtraError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    __all__ = ["Axes", "Figure", "key_above", "new_axes", "new_panels", "palette_of"]

BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
VERMILION, ORANGE, PURPLE, YELLOW = "#D55E00", "#E69F00", "#CC79A7", "#F0E442"

_ON_LIGHT = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_ON_DARK = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILION)
_BRIGHTNESS = (0.299, 0.587, 0.114)  # shares of red, green and blue in how bright a colour looks
_WIDE = 4.0  # inches that three columns of a key need


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


class Palette(NamedTuple):
    """Colours that fit the paper of some axes."""

    ink: Any
    """Colour of text and of lines without a meaning of their own."""
    paper: tuple[float, float, float]
    """Red, green and blue of the background, from 0 to 1."""
    series: tuple[str, ...]
    """Six colours for curves or classes, the most different ones first."""

    @property
    def classes(self) -> tuple[str, str]:
        """Colours of the negative and of the positive class."""
        return self.series[1], self.series[0]

    def one(self, number: int) -> str:
        """Colour of the curve or class with this number; they come again after six."""
        return self.series[number % len(self.series)]

    def tint(self, colour: str, share: float) -> tuple[float, ...]:
        """The colour thinned with paper: 1 is the colour itself, 0 the paper."""
        full = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255.0
        return tuple((share * full + (1.0 - share) * np.array(self.paper)).tolist())


def palette_of(ax: Axes) -> Palette:
    """Colours for these axes."""
    face: Any = ax.get_facecolor()  # always red, green, blue and opacity, whatever it was set to
    is_light = np.dot(face[:3], _BRIGHTNESS) > 0.5
    return Palette(ax.xaxis.label.get_color(), face[:3], _ON_LIGHT if is_light else _ON_DARK)


def key_above(
    ax: Axes, last: Sequence[str] = (), title: str | None = None, columns: int = 3, mark_scale: float = 1.0
) -> None:
    """Put what is labelled into a key above the axes, and the title above the key.

    Labels in `last` come after all others, in that order. Narrow axes have at most two columns. Marks
    are `mark_scale` times as large as in the picture.
    """
    ax.spines[["top", "right"]].set_visible(False)
    is_wide = float(ax.bbox.width / ax.figure.dpi) > _WIDE  # in inches, before a layout engine has its say
    columns, size = (columns, "small") if is_wide else (min(columns, 2), "x-small")
    entries = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = [*[label for label in entries if label not in last], *[label for label in last if label in entries]]
    legend = ax.legend(
        [entries[label] for label in order],
        order,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        borderaxespad=0.2,
        borderpad=0.0,
        ncols=columns,
        columnspacing=1.6,
        frameon=False,
        markerscale=mark_scale,
        fontsize=size,
    )
    if title is not None:
        lines = 1.4 * math.ceil(len(order) / columns) + 0.8
        ax.set_title(title, loc="left", pad=lines * float(legend.get_texts()[0].get_fontsize()))
