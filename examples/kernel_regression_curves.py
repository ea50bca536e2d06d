"""Least squares with a Gaussian kernel: the penalty, and the lecture's update on its way to the closed form.

Left: the larger alpha, the flatter the function. Right: the full-gradient update begins at zero. Directions in which
the kernel matrix has large eigenvalues are right after a few passes, the others come late: what is stopped early is
smooth, too. (L4)

    python kernel_regression_curves.py              shows the picture
    python kernel_regression_curves.py picture.png  saves it
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import KernelRegression
from maxmargin.errors import NotConvergedWarning
from maxmargin.plot.axes import key_above, palette_of

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0.0, 6.0, size=40))
y = np.sin(2.0 * x) + 0.3 * x + 0.2 * rng.normal(size=40)
line = np.linspace(0.0, 6.0, 400)
machine = {"kernel": "rbf", "gamma": 2.0}

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained", sharey=True)
colours = palette_of(left)
for ax in (left, right):
    ax.plot(x, y, "o", markersize=4, color=colours.ink, alpha=0.6, label="target")
    ax.set_xlabel("x")

for number, alpha in enumerate((10.0, 0.3, 0.001)):
    model = KernelRegression(alpha, **machine).fit(x[:, None], y)
    left.plot(line, model.predict(line[:, None]), color=colours.one(number), linewidth=1.8, label=f"alpha = {alpha:g}")

with warnings.catch_warnings():
    warnings.simplefilter("ignore", NotConvergedWarning)  # stopped early on purpose
    for number, passes in enumerate((1, 5, 50)):
        model = KernelRegression(0.001, solver="full-gradient", max_iter=passes, **machine).fit(x[:, None], y)
        words = f"{passes} passes" if passes > 1 else "1 pass"
        right.plot(line, model.predict(line[:, None]), color=colours.one(number), linewidth=1.8, label=words)
closed = KernelRegression(0.001, **machine).fit(x[:, None], y)
right.plot(line, closed.predict(line[:, None]), color=colours.ink, linestyle="dashed", label="closed form")

left.set_ylabel("y")
key_above(left, title="Closed form")
key_above(right, title="Full-gradient update, alpha = 0.001")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
