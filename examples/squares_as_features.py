"""A circle becomes a line: squares as features.

No line separates the inner points from the outer ones. In the plane of their squares a line does, and seen from the
points themselves it is an ellipse. A kernel does the same without writing the squares down. (L1, L3)

    python squares_as_features.py              shows the picture
    python squares_as_features.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from maxmargin import LinearSVC, plot

rng = np.random.default_rng(1)
labels = np.repeat([-1, 1], 40)
radius = np.where(labels < 0, rng.uniform(0.0, 1.0, 80), rng.uniform(1.25, 2.0, 80))
angle = rng.uniform(0.0, 2.0 * np.pi, 80)
points = radius[:, None] * np.stack([1.2 * np.cos(angle), np.sin(angle)], axis=1)
squares = points**2

model = LinearSVC(loss="hinge", C=10.0).fit(squares, labels)
seen_from_the_points = make_pipeline(FunctionTransformer(np.square), model)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.2), layout="constrained")
plot.boundary(seen_from_the_points, points, labels, left, support=False, slack=False, title="The points")
names = ("$x_1^2$", "$x_2^2$")
plot.boundary(model, squares, labels, right, support=False, slack=False, feature_names=names, title="Their squares")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
