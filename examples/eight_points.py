"""Eight points and their multipliers: exercise 4 of L1.

The exercise gives the points, their labels and the optimal multipliers. Only points 3, 5 and 7 have one that is not
zero: they are the support vectors, and w = sum_i alpha_i y_i x_i = (0, 1), b = 0. The boundary is the x_1 axis.

Two support vectors are enough for the same boundary when two points move: with point 3 above point 5, and point 7
farther down, the two points that are closest decide alone.

    python eight_points.py              shows the picture
    python eight_points.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC, plot

points = np.array([[0.2, -1.4], [-2.1, 1.7], [0.9, 1], [-1, -3.1], [-0.2, -1], [-0.2, 1.3], [2.0, -1], [0.5, 2.1]])
labels = np.array([-1, 1, 1, -1, -1, 1, -1, 1])
given = np.array([0, 0, 0.5, 0, 0.25, 0, 0.25, 0])

model = SVC(kernel="linear", C=np.inf).fit(points, labels)
alpha = np.zeros(8)
alpha[model.support_] = np.abs(model.dual_coef_[0])
assert np.allclose(alpha, given, atol=1e-6)
assert np.allclose(model.coef_, [[0.0, 1.0]], atol=1e-6)
assert np.allclose(model.intercept_, 0.0, atol=1e-6)

moved = points.copy()
moved[2] = [-0.2, 1.0]  # point 3, now above point 5
moved[6] = [2.0, -2.0]  # point 7, away from the margin
fewer = SVC(kernel="linear", C=np.inf).fit(moved, labels)
assert np.allclose(fewer.coef_, model.coef_, atol=1e-6)
assert set(fewer.support_) == {2, 4}  # points 3 and 5

figure, panels = plt.subplots(1, 2, figsize=(10, 5.2), layout="constrained", sharex=True, sharey=True)
for ax, machine, X, title in (
    (panels[0], model, points, "The exercise"),
    (panels[1], fewer, moved, "The same boundary with two support vectors"),
):
    plot.boundary(machine, X, labels, ax, title=title)
    for number, place in enumerate(X, start=1):
        ax.annotate(f"{number}", place, xytext=(6, 5), textcoords="offset points")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
