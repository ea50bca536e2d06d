"""Why the lasso sets coefficients to zero and ridge regression does not.

Ellipses are contours of the squared error around the least-squares answer, the shaded region is what the penalty
allows. The best allowed point is where the smallest ellipse touches the region. A diamond is mostly touched at a
corner, where a coefficient is zero; a disc has no corners. (L3, figure 3.12)

    python lasso_and_ridge_geometry.py              shows the picture
    python lasso_and_ridge_geometry.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.plot.axes import palette_of

least_squares = np.array([0.9, 2.2])
A = np.array([[1.0, 0.45], [0.45, 1.0]])  # error(w) = <w - least_squares, A (w - least_squares)>
radius = 1.0

angle = np.linspace(0.0, 2.0 * np.pi, 20001)
circle = np.stack([np.cos(angle), np.sin(angle)])
balls = {
    "lasso: $|w_1| + |w_2| \\leq 1$": radius * circle / np.abs(circle).sum(axis=0),
    "ridge: $w_1^2 + w_2^2 \\leq 1$": radius * circle,
}

grid = np.linspace(-1.4, 3.6, 200)
across, up = np.meshgrid(grid, grid)


def error(w_1, w_2):
    """Squared error above its least value."""
    u, v = w_1 - least_squares[0], w_2 - least_squares[1]
    return A[0, 0] * u * u + 2.0 * A[0, 1] * u * v + A[1, 1] * v * v


figure, panels = plt.subplots(1, 2, figsize=(10, 5.2), layout="constrained", sharey=True)
for ax, (title, edge) in zip(panels, balls.items(), strict=True):
    colours = palette_of(ax)
    best = edge[:, np.argmin(error(*edge))]  # the least-squares answer is outside, so the best point is on the edge
    levels = error(*best) * np.array([0.04, 0.25, 0.6, 1.0])
    ax.contour(across, up, error(across, up), levels=levels, colors=[colours.series[1]], linewidths=1.2)
    ax.fill(*edge, color=colours.series[0], alpha=0.35)
    ax.plot(*least_squares, "o", color=colours.series[1], label="least squares")
    ax.plot(*best, "*", color=colours.ink, markersize=13, label=f"best allowed, w = ({best[0]:.2f}, {best[1]:.2f})")
    ax.axhline(0.0, color=colours.ink, linewidth=0.5)
    ax.axvline(0.0, color=colours.ink, linewidth=0.5)
    ax.set(aspect="equal", xlim=(-1.4, 2.6), ylim=(-2.1, 3.4), xlabel="$w_1$", title=title)
    ax.legend(loc="lower center", frameon=False)
panels[0].set_ylabel("$w_2$")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
