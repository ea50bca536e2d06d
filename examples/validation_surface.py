"""Choosing C and gamma: the mean validation score, its best setting, and the simplest one that is as good.

A score is a mean over folds and so uncertain. The one-standard-error rule takes the smallest C, then the smallest
gamma, whose mean is within one standard error of the best.

    python validation_surface.py              shows the picture
    python validation_surface.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from maxmargin import SVC, plot
from maxmargin.evaluate import grid

points, labels = make_moons(200, noise=0.3, random_state=2)
search = grid(SVC(), points, labels, C=np.logspace(-2, 3, 11), gamma=np.logspace(-2, 2, 9))

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
plot.surface(search, left)
for ax, rule in ((middle, "best"), (right, "one-standard-error")):
    chosen = search.choose(rule)
    title = rf"{rule}: C = {chosen['C']:.3g}, $\gamma$ = {chosen['gamma']:.3g}"
    plot.boundary(search.fit(rule), points, labels, ax, slack=False, support=False, title=title)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
