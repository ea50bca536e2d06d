"""Contours of constant f of a machine with a Gaussian kernel.

The boundary f = 0 and the margins f = -1 and f = 1 are three of them. Far from the data the kernel vanishes and f goes
back to b: the machine says nothing about places it has not seen. (L4, figure 7.2)

    python gaussian_contours.py              shows the picture
    python gaussian_contours.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from maxmargin import SVC, plot

points, labels = make_moons(70, noise=0.16, random_state=3)
model = SVC(kernel="rbf", gamma=2.0, C=10.0).fit(points, labels)

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
plot.boundary(model, points, labels, ax, slack=False, title="Contours of f, steps of 1/2")

across, up = np.meshgrid(np.linspace(*ax.get_xlim(), 200), np.linspace(*ax.get_ylim(), 200))
f = model.decision_function(np.stack([across.ravel(), up.ravel()], axis=1)).reshape(across.shape)
ax.contour(across, up, f, levels=np.arange(-3.0, 3.5, 0.5), colors="grey", linewidths=0.6, linestyles="solid")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
