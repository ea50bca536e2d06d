"""Where the nodes of a binary tree go: a tidy drawing after Reingold and Tilford.

    nodes of one depth are on one level and at least 1 apart
    a parent is half way between its children
    a subtree looks the same wherever it stands

Each subtree is laid out for itself and knows its outline, the leftmost and the rightmost place at each depth. Two
subtrees are moved together until their outlines are 1 apart at the depth where they are closest.
"""

from __future__ import annotations

from itertools import zip_longest
from typing import NamedTuple

from maxmargin._types import RowIndex


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
