"""A free intercept does not care where the origin is; an augmented one does.

The same points are moved away from the origin, a machine is trained there, and its boundary is moved back. A free
intercept follows for nothing. An augmented one is a weight, and a large one is expensive: the machine prefers to turn
its boundary towards the origin, which says nothing about the classes. (L0, L2)

    python two_intercepts.py              shows the picture
    python two_intercepts.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearSVC
from maxmargin.plot.axes import key_above, palette_of

rng = np.random.default_rng(2)
labels = np.repeat([-1, 1], 30)
points = rng.normal(size=(60, 2)) + 1.2 * labels[:, None] * [1.0, 0.0]
span = np.array([-4.2, 4.2])

figure, panels = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained", sharex=True, sharey=True)
for ax, kind in zip(panels, ("free", "augmented"), strict=True):
    colours = palette_of(ax)
    for sign, colour, marker in zip((-1, 1), colours.classes, "so", strict=True):
        ax.scatter(*points[labels == sign].T, s=22, marker=marker, color=colour)
    for number, distance in enumerate((0, 1, 5)):
        model = LinearSVC(loss="hinge", C=0.1, intercept=kind).fit(points + distance, labels)
        w, b = model.coef_[0], model.intercept_[0] + distance * model.coef_[0].sum()  # seen from the points
        across = -(w[1] * span + b) / w[0]
        style = ("solid", "dashed", "dotted")[number]
        ax.plot(across, span, color=colours.ink, linestyle=style, linewidth=2, label=f"moved by {distance}")
    ax.set(aspect="equal", xlim=span, ylim=span, xlabel="$x_1$")
    key_above(ax, title=f"{kind} intercept")
panels[0].set_ylabel("$x_2$")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
