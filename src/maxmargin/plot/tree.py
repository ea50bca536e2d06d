"""The picture of a decision tree: one box a node, the rows that answer yes to the left.

    question     feature <= threshold, where the node is split
    n            rows of the training data that came here
    criterion    impurity of those rows
    answer       the most frequent class, or the mean target

The colour of a box is that of its class, the fuller the purer. For regression it is the fuller the larger the target.

Nodes are placed by a tidy drawing after Reingold and Tilford:

    nodes of one depth are on one level and at least 1 apart
    a parent is half way between its children
    a subtree looks the same wherever it stands

Each subtree is laid out for itself and knows its outline, the leftmost and the rightmost place at each depth. Two
subtrees are moved together until their outlines are 1 apart at the depth where they are closest.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import DataError, ParameterError
from maxmargin.plot.axes import Palette, new_axes, palette_of

if TYPE_CHECKING:
    from maxmargin._types import RowIndex, Vector
    from maxmargin.plot.axes import Axes

_LETTERS = 9.0  # points, where there is room
_PADDING = 0.35  # of a letter, around the text of a box
_CLEARANCE = 0.94  # of the room between two boxes that they may fill
_FAINTEST, _FULLEST = 0.10, 0.45  # share of colour in a box: text must stay legible on it
_SIDE = 0.6  # of the room of a node, left of the first and right of the last
_WIDTH, _HEIGHT = 1.1, 1.1  # inches a node gets in a new figure, at first
_WIDEST, _TALLEST = 24.0, 16.0  # inches of a new figure; letters shrink after that


def tree(
    model: Any,
    ax: Axes | None = None,
    feature_names: Sequence[str] | None = None,
    class_names: Sequence[str] | None = None,
    max_depth: int | None = None,
    *,
    title: str | None = None,
) -> Axes:
    """Draw a fitted decision tree.

    Parameters
    ----------
    model
        A fitted tree with the arrays of scikit-learn in `tree_`: this library's trees, or scikit-learn's.
    ax
        Where to draw; None makes a new figure that is large enough.
    feature_names
        One name a feature; None takes the names the model was trained with, or writes x_1, x_2 and so on.
    class_names
        One name a class, in the order of `model.classes_`; None writes the classes themselves.
    max_depth
        Nodes below this depth are counted instead of drawn; None draws all.
    title
        Title of the axes.
    """
    nodes = getattr(model, "tree_", None)
    if nodes is None:
        raise DataError(f"tree draws a fitted decision tree; {type(model).__name__} has no tree_. Fit the model first.")
    if max_depth is not None and max_depth < 0:
        raise ParameterError(f"max_depth must be 0 or more, got max_depth={max_depth!r}.")
    names = _feature_names(model, nodes, feature_names)
    words, colours, fullness = _answers(model, nodes, class_names)
    places = places_of(nodes.children_left, nodes.children_right, max_depth)
    right, deepest = max(place.across for place in places.values()), max(place.depth for place in places.values())

    is_new = ax is None
    ax = new_axes(_WIDTH * (right + 1.0), _HEIGHT * (deepest + 1.0)) if ax is None else ax
    palette = palette_of(ax)
    ax.set(xlim=(-_SIDE, right + _SIDE), ylim=(-deepest - 0.5, 0.5))
    ax.set_axis_off()
    if title is not None:
        ax.set_title(title, loc="left")
    _draw_edges(ax, nodes, places, palette)
    boxes = {}
    for node, (across, depth) in places.items():
        lines = [f"n = {nodes.n_node_samples[node]}", _impurity(model, nodes, node), words[node]]
        if nodes.children_left[node] in places:
            lines.insert(0, _question(names[nodes.feature[node]], float(nodes.threshold[node])))
        elif nodes.children_left[node] >= 0:
            lines.append(f"… {_leaves_below(nodes, node)} leaves below")
        share = _FAINTEST + (_FULLEST - _FAINTEST) * fullness[node]
        face = palette.tint(palette.one(int(colours[node])), share)
        box = {"boxstyle": f"round,pad={_PADDING}", "facecolor": face, "edgecolor": palette.ink, "linewidth": 0.6}
        letters = {"color": palette.ink, "fontsize": _LETTERS, "linespacing": 1.15, "ha": "center", "va": "center"}
        boxes[node] = ax.text(across, -depth, "\n".join(lines), letters, bbox=box, gid=f"node {node}", zorder=3)
    if is_new:
        _enlarge(ax, *_rooms(ax, boxes, places))
    size = _LETTERS * min(1.0, *_rooms(ax, boxes, places))
    for text in ax.texts:
        text.set_fontsize(size)
    return ax


def _feature_names(model: Any, nodes: Any, given: Sequence[str] | None) -> Sequence[str]:
    n_features = int(getattr(model, "n_features_in_", np.max(nodes.feature) + 1))
    names = getattr(model, "feature_names_in_", None) if given is None else given
    if names is None:
        return [f"$x_{{{number + 1}}}$" for number in range(n_features)]
    if len(names) != n_features:
        raise ParameterError(f"feature_names must be one name a feature, {n_features}, got {len(names)}.")
    return [str(name) for name in names]


def _answers(model: Any, nodes: Any, class_names: Sequence[str] | None) -> tuple[list[str], NDArray[np.int64], Vector]:
    """For each node what it answers, in words, the number of its colour and how full that is."""
    value = np.asarray(nodes.value, dtype=np.float64)
    if value.ndim == 3 and value.shape[1] > 1:
        raise DataError(f"tree draws one target, and this tree has {value.shape[1]}. Train one tree a target.")
    value = value.reshape(len(value), -1)
    classes = getattr(model, "classes_", None)
    if classes is None:
        if class_names is not None:
            raise ParameterError("class_names are for classes, and this tree predicts numbers. Leave them out.")
        target = value[:, 0]
        span = float(np.ptp(target)) or 1.0
        words = [f"y = {_short(number)}" for number in target]
        return words, np.zeros(len(target), dtype=np.int64), (target - target.min()) / span
    if class_names is None:
        names = [label if isinstance(label, str) else f"y = {label}" for label in np.asarray(classes).tolist()]
    elif len(class_names) == len(classes):
        names = [str(name) for name in class_names]
    else:
        raise ParameterError(f"class_names must be one name a class, {len(classes)}, got {len(class_names)}.")
    most = value.argmax(axis=1)
    purity = value.max(axis=1) / np.maximum(value.sum(axis=1), np.finfo(np.float64).tiny)
    least = 1.0 / value.shape[1]  # purity of an even mixture
    fullness = (purity - least) / (1.0 - least) if least < 1.0 else purity
    return [names[number] for number in most], most, np.clip(fullness, 0.0, 1.0)


def _impurity(model: Any, nodes: Any, node: int) -> str:
    criterion = str(getattr(model, "criterion", "impurity")).replace("_", " ")
    return f"{criterion} {_short(nodes.impurity[node])}"


def _question(name: str, threshold: float) -> str:
    """What the rows of a node are asked; a threshold of infinity parts missing values from all others."""
    return f"{name} is known" if np.isinf(threshold) else f"{name} ≤ {_short(threshold, 4)}"


def _short(number: float, digits: int = 3) -> str:
    """A few digits, and no exponent where a person would write none."""
    return f"{number:.0f}" if 10**digits <= abs(number) < 1e6 else f"{number:.{digits}g}"


def _leaves_below(nodes: Any, node: int) -> int:
    count, waiting = 0, [node]
    while waiting:
        one = waiting.pop()
        if nodes.children_left[one] < 0:
            count += 1
        else:
            waiting += [int(nodes.children_left[one]), int(nodes.children_right[one])]
    return count


def _draw_edges(ax: Axes, nodes: Any, places: dict[int, NodePlace], palette: Palette) -> None:
    """One line a child, from its parent, and the two answers at the root."""
    for node, place in places.items():
        for child in (int(nodes.children_left[node]), int(nodes.children_right[node])):
            if child in places:
                across, depth = [place.across, places[child].across], [-place.depth, -places[child].depth]
                ax.plot(across, depth, color=palette.ink, linewidth=0.8, alpha=0.6, zorder=1)
    for child, words, side in ((nodes.children_left[0], "yes", "right"), (nodes.children_right[0], "no", "left")):
        if child in places:
            half = (places[0].across + places[child].across) / 2.0
            ax.text(half, -0.45, f" {words} ", ha=side, va="bottom", color=palette.ink, fontsize=_LETTERS)


def _enlarge(ax: Axes, across: float, up: float) -> None:
    """Make the figure so large that its boxes have room for their letters."""
    figure: Any = ax.figure
    width, height = figure.get_size_inches()
    figure.set_size_inches(min(_WIDEST, width / min(1.0, across)), min(_TALLEST, height / min(1.0, up)))
    figure.draw_without_rendering()  # lets the layout engine place the axes


def _rooms(ax: Axes, boxes: dict[int, Any], places: dict[int, NodePlace]) -> tuple[float, float]:
    """Room across and up, in parts of what the boxes need; below 1 some of them touch."""
    padding = 2.0 * _PADDING * _LETTERS * ax.figure.dpi / 72.0
    extents = {node: box.get_window_extent() for node, box in boxes.items()}
    width = {node: extent.width + padding for node, extent in extents.items()}
    height = max(extent.height for extent in extents.values()) + padding
    low, high = ax.transData.transform([(0.0, 0.0), (1.0, 1.0)])
    across = [2.0 * _SIDE * (high[0] - low[0]) / max(width.values())]  # half a box to the edge of the axes
    neighbours: dict[int, int] = {}  # the last node seen at each depth
    for node, place in sorted(places.items(), key=lambda item: item[1].across):
        before = neighbours.get(place.depth)
        if before is not None:
            room = (place.across - places[before].across) * (high[0] - low[0])
            across.append(2.0 * room / (width[before] + width[node]))
        neighbours[place.depth] = node
    return _CLEARANCE * float(min(across)), _CLEARANCE * float((high[1] - low[1]) / height)


class NodePlace(NamedTuple):
    """Where a node stands: how far to the right, and how deep."""

    across: float
    depth: int


class _Outline(NamedTuple):
    """Leftmost and rightmost place of a subtree at each depth, seen from its root."""

    left: list[float]
    right: list[float]


def places_of(children_left: RowIndex, children_right: RowIndex, max_depth: int | None = None) -> dict[int, NodePlace]:
    """Place of every node that is not deeper than `max_depth`, parents before children; the leftmost is at 0."""
    depths = {0: 0}
    waiting = [0]
    while waiting:
        node = waiting.pop()
        if children_left[node] >= 0 and (max_depth is None or depths[node] < max_depth):
            for child in (int(children_right[node]), int(children_left[node])):
                depths[child] = depths[node] + 1
                waiting.append(child)

    outlines: dict[int, _Outline] = {}
    reach: dict[int, float] = {}  # from a parent to each of its children
    for node in reversed(depths):
        left, right = int(children_left[node]), int(children_right[node])
        if left not in outlines:
            outlines[node] = _Outline([0.0], [0.0])
            continue
        outlines[node], reach[node] = _joined(outlines.pop(left), outlines.pop(right))

    across = {0: -min(outlines[0].left)}
    for node in depths:
        if node in reach:
            across[int(children_left[node])] = across[node] - reach[node]
            across[int(children_right[node])] = across[node] + reach[node]
    return {node: NodePlace(across[node], depth) for node, depth in depths.items()}


def _joined(left: _Outline, right: _Outline) -> tuple[_Outline, float]:
    """Outline of a node over two subtrees, and how far its children are from it to either side."""
    # Outlines of different depth are compared as far as both go.
    reach = (1.0 + max(ours - theirs for ours, theirs in zip(left.right, right.left, strict=False))) / 2.0
    leftmost = [0.0]
    rightmost = [0.0]
    for near, far in zip_longest(left.left, right.left):
        leftmost.append(near - reach if near is not None else far + reach)
    for far, near in zip_longest(left.right, right.right):
        rightmost.append(near + reach if near is not None else far - reach)
    return _Outline(leftmost, rightmost), reach
