"""A decision tree as indented lines of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.errors import ParameterError

_STEP = "|   "


def text_of_tree(model: Any, feature_names: Any, max_depth: int | None, decimals: int, show_weights: bool) -> str:
    """One line a test and one a leaf, the left side of a test first."""
    tree = model.tree_
    names = _names(model, feature_names)
    lines: list[str] = []
    waiting: list[tuple[int, str]] = [(0, "")]
    while waiting:
        node, test = waiting.pop()
        level = int(tree.depth[node])
        if test:
            lines.append(f"{_STEP * (level - 1)}|--- {test}")
        if tree.children_left[node] < 0:
            lines.append(f"{_STEP * level}|--- {_leaf(model, tree, node, decimals, show_weights)}")
        elif max_depth is not None and level > max_depth:
            lines.append(f"{_STEP * level}|--- truncated branch of depth {_depth_below(tree, node)}")
        else:
            name, value = names[tree.feature[node]], f"{tree.threshold[node]:.{decimals}f}"
            waiting.append((int(tree.children_right[node]), f"{name} >  {value}"))
            waiting.append((int(tree.children_left[node]), f"{name} <= {value}"))
    return "\n".join([*lines, ""])


def _names(model: Any, given: Any) -> list[str]:
    """A name for every column."""
    given = getattr(model, "feature_names_in_", None) if given is None else given
    if given is None:
        return [f"feature_{j}" for j in range(model.n_features_in_)]
    if len(given) != model.n_features_in_:
        raise ParameterError(f"feature_names has {len(given)} names; the model has {model.n_features_in_} columns.")
    return [str(name) for name in given]


def _leaf(model: Any, tree: Any, node: int, decimals: int, show_weights: bool) -> str:
    value = tree.value[node, 0]
    if not hasattr(model, "classes_"):
        return f"value: [{value[0]:.{decimals}f}]"
    name = f"class: {model.classes_[np.argmax(value)]}"
    if not show_weights:
        return name
    weights = ", ".join(f"{weight:.{decimals}f}" for weight in value * tree.weighted_n_node_samples[node])
    return f"weights: [{weights}] {name}"


def _depth_below(tree: Any, node: int) -> int:
    """Edges from a node to the deepest leaf below it."""
    deepest, waiting = 0, [node]
    while waiting:
        below = waiting.pop()
        deepest = max(deepest, int(tree.depth[below] - tree.depth[node]))
        if tree.children_left[below] >= 0:
            waiting += [int(tree.children_left[below]), int(tree.children_right[below])]
    return deepest
