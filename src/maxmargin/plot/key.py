"""The key of a picture: above the axes, where it covers nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maxmargin.plot._matplotlib import Axes

_WIDE = 4.0  # inches that three columns need


def key_above(
    ax: Axes,
    last: Sequence[str] = (),
    title: str | None = None,
    columns: int = 3,
    mark_scale: float = 1.0,
) -> None:
    """Put what is labelled into a key above the axes, and the title above the key.

    Labels in `last` come after all others, in that order. Narrow axes have at most two columns. Marks
    are `mark_scale` times as large as in the picture.
    """
    ax.spines[["top", "right"]].set_visible(False)
    is_wide = float(ax.bbox.width / ax.figure.dpi) > _WIDE  # in inches, before a layout engine has its say
    columns, size = (columns, "small") if is_wide else (min(columns, 2), "x-small")
    entries = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    order = [
        *[label for label in entries if label not in last],
        *[label for label in last if label in entries],
    ]
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
