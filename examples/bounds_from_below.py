"""Every multiplier gives a bound from below; the best one touches the objective.

A machine with one weight and no intercept, so that P(w) can be drawn. For any multipliers 0 <= alpha_i <= C,

    P(w) >= 1/2 w^2 - w sum_i alpha_i y_i x_i + sum_i alpha_i    for every w,

a parabola below P whose lowest point is D(alpha), at w = sum_i alpha_i y_i x_i. Better multipliers lift the parabola.
The best ones lift it until it touches: then P = D, and both are proven optimal. (L2, L3, L4)

    python bounds_from_below.py              shows the picture
    python bounds_from_below.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVC
from maxmargin.plot.axes import key_above, palette_of

x = np.array([-1.5, -1.0, -0.2, 0.6, 0.4, -0.4, 0.8, 1.0, 1.6, 2.0])
y = np.repeat([-1, 1], 5)
C = 0.4
model = SVC(kernel="linear", C=C, intercept="none", tol=1e-8).fit(x[:, None], y)
optimal = np.zeros(10)
optimal[model.support_] = np.abs(model.dual_coef_[0])

w = np.linspace(-0.6, 3.0, 300)
P = 0.5 * w**2 + C * np.maximum(0.0, 1.0 - y * x * w[:, None]).sum(axis=1)

figure, ax = plt.subplots(figsize=(7.5, 5), layout="constrained")
colours = palette_of(ax)
ax.plot(w, P, color=colours.ink, linewidth=2.5, label="P(w)")
for number, (words, alpha) in enumerate(
    {
        "all multipliers 0.1 C": np.full(10, 0.1 * C),
        "all multipliers 0.4 C": np.full(10, 0.4 * C),
        "the best multipliers": optimal,
    }.items()
):
    v = alpha @ (y * x)
    ax.plot(w, 0.5 * w**2 - v * w + alpha.sum(), color=colours.one(number), linewidth=1.6, label=words)
    ax.plot(v, alpha.sum() - 0.5 * v**2, "o", color=colours.one(number))
ax.set(ylim=(-0.2, 5.2), xlabel="w", ylabel="objective")
key_above(ax, columns=2)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
