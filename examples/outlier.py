"""One outlier swings a hard margin; a soft one hardly notices.

Left: the widest margin between two classes. Middle: one more point, and the hard margin must turn and shrink to get it
right. Right: with slack allowed the outlier pays, and the boundary stays. (L3, the case for slack)

    python outlier.py              shows the picture
    python outlier.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC, plot

rng = np.random.default_rng(1)
centres = np.repeat([[-1.6, -1.0], [1.6, 1.0]], 12, axis=0)
points = centres + rng.uniform(-0.9, 0.9, size=centres.shape)
labels = np.repeat([-1, 1], 12)

with_outlier = np.vstack([points, [-2.0, 0.75]])  # labelled +1, close to the other class
more_labels = np.append(labels, 1)

figure, panels = plt.subplots(1, 3, figsize=(12, 4.8), layout="constrained", sharex=True, sharey=True)
for ax, X, y, C, title in (
    (panels[0], points, labels, np.inf, "C = ∞"),
    (panels[1], with_outlier, more_labels, np.inf, "C = ∞, with the outlier"),
    (panels[2], with_outlier, more_labels, 0.1, "C = 0.1, with the outlier"),
):
    model = SVC(kernel="linear", C=C).fit(X, y)
    angle = np.degrees(np.arctan2(*model.coef_[0, ::-1]))
    plot.boundary(model, X, y, ax, title=f"{title}: w points to {angle:.0f}°")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
