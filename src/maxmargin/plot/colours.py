"""Colours that every kind of colour vision tells apart, on light and on dark paper.

The palette is that of Okabe and Ito. Its darker half is for light paper, its lighter half for dark paper. Text and
lines take the colour of the axes' own labels, so that a picture follows the style it is drawn in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from maxmargin.plot._matplotlib import Axes

BLUE, SKY, GREEN = "#0072B2", "#56B4E9", "#009E73"
VERMILION, ORANGE, PURPLE, YELLOW = "#D55E00", "#E69F00", "#CC79A7", "#F0E442"

_ON_LIGHT = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
_ON_DARK = (SKY, ORANGE, GREEN, PURPLE, YELLOW, VERMILION)
_BRIGHTNESS = (0.299, 0.587, 0.114)  # shares of red, green and blue in how bright a colour looks


class Palette(NamedTuple):
    """Colours that fit the paper of some axes.

    Attributes
    ----------
    ink
        Colour of text and of lines without a meaning of their own.
    paper
        Red, green and blue of the background, from 0 to 1.
    series
        Six colours for curves or classes, the most different ones first.
    """

    ink: Any
    paper: tuple[float, float, float]
    series: tuple[str, ...]

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
