"""Coordinate descent on the contours of a quadratic: one coordinate at a time, always to its best value.

Every step runs along an axis and ends where the contour touches it. The more the two coordinates depend on each other,
the smaller the steps become. Dual coordinate ascent for support vector machines does just this, with one
multiplier for each coordinate. (L4)

    python coordinate_descent.py              shows the picture
    python coordinate_descent.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.plot.axes import palette_of


def descend(A, start, steps):
    """Minimise 1/2 <w, A w> one coordinate after the other; all points on the way."""
    way = [np.array(start)]
    for step in range(steps):
        w = way[-1].copy()
        i = step % 2
        w[i] -= (A[i] @ w) / A[i, i]  # the slope along coordinate i becomes zero
        way.append(w)
    return np.array(way)


figure, panels = plt.subplots(1, 2, figsize=(10, 5), layout="constrained", sharey=True)
grid = np.linspace(-2.2, 2.2, 200)
across, up = np.meshgrid(grid, grid)
for ax, coupling in zip(panels, (0.4, 0.9), strict=True):
    A = np.array([[1.0, coupling], [coupling, 1.0]])
    way = descend(A, start=(-1.2, 2.0), steps=30)
    colours = palette_of(ax)
    height = 0.5 * (across**2 + up**2) + coupling * across * up
    ax.contour(across, up, height, levels=np.geomspace(0.01, 5.0, 10), colors=[colours.ink], linewidths=0.6, alpha=0.5)
    ax.plot(*way.T, color=colours.series[1], marker="o", markersize=4, linewidth=1.6)
    ax.plot(0.0, 0.0, marker="*", markersize=14, color=colours.series[0])
    left = 0.5 * way[10] @ A @ way[10]
    ax.set(aspect="equal", xlabel="$w_1$", title=f"coupling {coupling}\n{left:.0e} above the optimum after 10 steps")
panels[0].set_ylabel("$w_2$")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
