"""A step of SMO: two multipliers move along the line that keeps sum_i alpha_i y_i, and stop at their box.

Ellipses are contours of the dual in the two multipliers, all others fixed. Along the line the dual is a parabola: its
top is known. Where that lies outside the box the step is cut short. Equal labels move in opposite directions, different
labels together. (L4)

    python pair_step.py              shows the picture
    python pair_step.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin._loops.lectures.dual_steps import best_step
from maxmargin.plot.axes import key_above, palette_of

C = 1.0
K = np.array([[1.0, 0.3], [0.3, 1.4]])
grid = np.linspace(-0.35, 1.6, 200)
across, up = np.meshgrid(grid, grid)

figure, panels = plt.subplots(1, 2, figsize=(12, 5.6), layout="constrained", sharey=True)
for ax, labels, begin, top, title in (
    (panels[0], (1, 1), (0.85, 0.1), (0.15, 0.75), "equal labels"),
    (panels[1], (1, -1), (0.45, 0.15), (1.3, 0.9), "different labels: the step is cut"),
):
    Q = K * np.outer(labels, labels)
    linear = Q @ top  # so that the dual, without box and line, is highest at `top`

    def dual(a_i, a_j, Q=Q, linear=linear):
        """D in these two multipliers."""
        return linear[0] * a_i + linear[1] * a_j - 0.5 * (Q[0, 0] * a_i**2 + Q[1, 1] * a_j**2) - Q[0, 1] * a_i * a_j

    a_i, a_j = begin
    way = np.array([-labels[0] * labels[1], 1.0])  # alpha_j moves by t, alpha_i by -y_i y_j t
    pull, eta = way @ (linear - Q @ begin), way @ Q @ way
    room_i = {1.0: C - a_i, -1.0: a_i}
    up_to, down_to = min(C - a_j, room_i[way[0]]), min(a_j, room_i[-way[0]])
    t = best_step(pull, eta, np.trace(Q), up_to, down_to)

    colours = palette_of(ax)
    heights = dual(*top) - np.array([1.6, 1.1, 0.7, 0.4, 0.18, 0.05])
    ax.contour(
        across,
        up,
        dual(across, up),
        levels=heights,
        colors=[colours.ink],
        linewidths=0.6,
        linestyles="solid",
        alpha=0.5,
    )
    ax.fill([0, C, C, 0], [0, 0, C, C], color=colours.series[0], alpha=0.12, label="box, $0 \\leq \\alpha \\leq C$")
    along = np.array(begin) + np.outer([-3.0, 3.0], way)
    ax.plot(*along.T, color=colours.ink, linestyle="dashed", linewidth=1, label="line of the constraint")
    uncut, cut = np.array(begin) + pull / eta * way, np.array(begin) + t * way
    ax.annotate("", cut, begin, arrowprops={"arrowstyle": "-|>", "color": colours.series[1], "linewidth": 2.5})
    ax.plot(*begin, "o", color=colours.series[1], markersize=7, label="before")
    ax.plot(*cut, "*", color=colours.series[1], markersize=13, label="after")
    ax.plot(*uncut, "D", color=colours.series[2], markersize=13, fillstyle="none", label="best on the line")
    ax.set(aspect="equal", xlim=(-0.35, 1.6), ylim=(-0.35, 1.6), xlabel="$\\alpha_i$")
    key_above(ax, title=title)
panels[0].set_ylabel("$\\alpha_j$")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
