"""Naive Bayes with normal features: a density for each class, and the class with the largest product wins.

Left: prior times density of one feature. Where two curves cross, the decision changes. Right: two features. Within a
class they count as independent, so the ellipses of equal density are parallel to the axes, also where the points of the
class are not: the assumption is naive, and the regions are good all the same. (L3)

    python class_densities.py              shows the picture
    python class_densities.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_iris

from maxmargin import GaussianNB
from maxmargin.plot.axes import key_above, palette_of

iris = load_iris()
petals, species = iris.data[:, 2:], iris.target
names = [name.removesuffix(" (cm)") for name in iris.feature_names[2:]]

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
colours = palette_of(left)

model = GaussianNB().fit(petals[:, :1], species)
length = np.linspace(0.5, 7.5, 600)
joint = np.exp(model.predict_joint_log_proba(length[:, None]))
for k, name in enumerate(iris.target_names):
    left.plot(length, joint[:, k], color=colours.one(k), linewidth=2, label=name)
    left.plot(petals[species == k, 0], np.full(50, -0.03 - 0.03 * k), "|", markersize=7, color=colours.one(k))
for place in length[1:][np.diff(np.argmax(joint, axis=1)) != 0]:
    left.axvline(place, color=colours.ink, linestyle="dashed", linewidth=1, label="decision changes")
left.set(xlabel=names[0], ylabel=r"prior $\times$ density")
key_above(left, columns=2, title="One feature")

model = GaussianNB().fit(petals, species)
across, up = np.meshgrid(np.linspace(0.5, 7.3, 300), np.linspace(-0.2, 2.8, 300))
grid = np.stack([across.ravel(), up.ravel()], axis=1)
decided = model.predict(grid).reshape(across.shape)
tints = [colours.tint(colours.one(k), 0.15) for k in range(3)]
right.contourf(across, up, decided, levels=[-0.5, 0.5, 1.5, 2.5], colors=tints)
angle = np.linspace(0.0, 2.0 * np.pi, 200)
for k, (name, marker) in enumerate(zip(iris.target_names, "os^", strict=True)):
    right.scatter(*petals[species == k].T, s=12, marker=marker, color=colours.one(k), label=name)
    for radius in (1.0, 2.0):  # standard deviations
        spread = radius * np.sqrt(model.var_[k])
        ellipse = model.theta_[k][:, None] + spread[:, None] * np.stack([np.cos(angle), np.sin(angle)])
        right.plot(*ellipse, color=colours.one(k), linewidth=1)
right.set(xlabel=names[0], ylabel=names[1], xlim=(0.5, 7.3), ylim=(-0.2, 2.8))
key_above(right, title="Two features")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
