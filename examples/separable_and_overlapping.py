"""A separable and an overlapping pair of classes, each with its widest margin.

On the left a hard margin exists: C = inf, no slack. On the right none does: every point on the wrong side of the margin
of its class pays for its slack, the thin line that joins it to that margin. (L0, figure 12.1)

    python separable_and_overlapping.py              shows the picture
    python separable_and_overlapping.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC, plot

rng = np.random.default_rng(4)
labels = np.repeat([-1, 1], 12)
noise = rng.normal(size=(24, 2))

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
for ax, distance, C, title in ((left, 2.2, np.inf, "Separable, C = ∞"), (right, 1.0, 1.0, "Overlapping, C = 1")):
    points = noise + distance * labels[:, None] * [0.8, 0.6]
    model = SVC(kernel="linear", C=C).fit(points, labels)
    width = 2.0 / np.linalg.norm(model.coef_)
    plot.boundary(model, points, labels, ax, title=f"{title}: margin {width:.2f} wide")
    ax.set(aspect="equal", anchor="N")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
