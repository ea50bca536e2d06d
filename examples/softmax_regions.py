"""Softmax regression: one linear score a class, and probabilities that sum to one.

Left: the class with the largest score wins, so the borders are pieces of straight lines. The shade is the probability
of the winner. Right: the probabilities along the dashed line. (L4)

    python softmax_regions.py              shows the picture
    python softmax_regions.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import SoftmaxRegression
from maxmargin.plot.axes import key_above, palette_of

iris = load_iris()
petals, species = iris.data[:, 2:], iris.target
names = [name.removesuffix(" (cm)") for name in iris.feature_names[2:]]
model = SoftmaxRegression(C=10.0).fit(petals, species)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
colours = palette_of(left)
across, up = np.meshgrid(np.linspace(0.5, 7.3, 300), np.linspace(-0.2, 2.8, 300))
p = model.predict_proba(np.stack([across.ravel(), up.ravel()], axis=1))
winner = p.argmax(axis=1)
shade = np.select([p.max(axis=1) > bound for bound in (0.9, 0.7, 0.5)], (0.34, 0.23, 0.14), default=0.06)
tints = np.array([colours.tint(colours.one(k), share) for k, share in zip(winner, shade, strict=True)])
left.imshow(tints.reshape(*across.shape, 3), origin="lower", extent=(0.5, 7.3, -0.2, 2.8), aspect="auto")
for k, (name, marker) in enumerate(zip(iris.target_names, "os^", strict=True)):
    left.scatter(*petals[species == k].T, s=12, marker=marker, color=colours.one(k), label=name)

ends = np.array([[0.8, 0.0], [7.2, 2.6]])
share = np.linspace(0.0, 1.0, 300)[:, None]
walk = (1.0 - share) * ends[0] + share * ends[1]
left.plot(*ends.T, color=colours.ink, linestyle="dashed", linewidth=1)
for k, name in enumerate(iris.target_names):
    right.plot(walk[:, 0], model.predict_proba(walk)[:, k], color=colours.one(k), linewidth=2, label=name)
left.set(xlabel=names[0], ylabel=names[1], xlim=(0.5, 7.3), ylim=(-0.2, 2.8))
right.set(xlabel=f"{names[0]}, along the line", ylabel="probability")
key_above(left, title="Regions")
key_above(right, title="Probabilities along the line")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
