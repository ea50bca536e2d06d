"""A decision tree and the boxes into which it cuts the plane.

Every question compares one feature with a threshold, so every cut is parallel to an axis, and every leaf is a box. The
thickness of a cut shows its depth: the root cuts the whole plane, its children the halves. (L4, figures 14.5 and 14.6)

    python tree_and_regions.py              shows the picture
    python tree_and_regions.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import DecisionTreeClassifier, plot
from maxmargin.plot.axes import key_above, palette_of

iris = load_iris()
petals, species = iris.data[:, 2:], iris.target
names = [name.removesuffix(" (cm)") for name in iris.feature_names[2:]]
model = DecisionTreeClassifier(max_depth=3).fit(petals, species)

figure, (left, right) = plt.subplots(1, 2, figsize=(13, 5), layout="constrained", width_ratios=(2, 3))
colours = palette_of(left)


def cut(node, low, high, depth):
    """Draw the cut of a node inside its box, then those of its children; a leaf is filled with its class."""
    tree = model.tree_
    if tree.children_left[node] < 0:
        colour = colours.one(int(np.argmax(tree.value[node])))
        left.fill_between([low[0], high[0]], low[1], high[1], color=colour, alpha=0.15, linewidth=0)
        return
    feature, threshold = tree.feature[node], tree.threshold[node]
    below, above = high.copy(), low.copy()
    below[feature] = above[feature] = threshold
    left.plot([above[0], below[0]], [above[1], below[1]], color=colours.ink, linewidth=3.0 / (1 + depth))
    cut(tree.children_left[node], low, below, depth + 1)
    cut(tree.children_right[node], above, high, depth + 1)


low, high = petals.min(axis=0) - 0.2, petals.max(axis=0) + 0.2
cut(0, low, high, depth=0)
for number, (name, marker) in enumerate(zip(iris.target_names, "os^", strict=True)):
    left.scatter(*petals[species == number].T, s=14, marker=marker, color=colours.one(number), label=name)
left.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel=names[0], ylabel=names[1])
key_above(left)

plot.tree(model, right, feature_names=names, class_names=iris.target_names)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
