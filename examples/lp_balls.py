"""Balls of the L_p norms: all points with |x|_p <= 1.

The smaller p, the smaller the ball, and the sharper its corners on the axes. From p = 1 on it is convex. In d
dimensions its volume is (2 G(1 + 1/p))^d / G(1 + d/p), with G the gamma function; the key has it for d = 2. (L3)

    python lp_balls.py              shows the picture
    python lp_balls.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import gamma

from maxmargin.plot.axes import palette_of

figure, ax = plt.subplots(figsize=(5.6, 6), layout="constrained")
colours = palette_of(ax)

angle = np.linspace(0.0, 2.0 * np.pi, 801)
circle = np.stack([np.cos(angle), np.sin(angle)])
for number, p in enumerate((0.5, 1.0, 1.5, 2.0, 4.0, np.inf)):
    x = circle / np.linalg.norm(circle, ord=p, axis=0)  # every direction, scaled to norm 1
    area = (2.0 * gamma(1.0 + 1.0 / p)) ** 2 / gamma(1.0 + 2.0 / p)
    name = "∞" if np.isinf(p) else f"{p:g}"
    ax.plot(*x, color=colours.one(number), linewidth=2, label=f"p = {name}, area {area:.2f}")
    ax.fill(*x, color=colours.one(number), alpha=0.06)

ax.set(aspect="equal", xlabel="$x_1$", ylabel="$x_2$")
ax.axhline(0.0, color=colours.ink, linewidth=0.5)
ax.axvline(0.0, color=colours.ink, linewidth=0.5)
figure.legend(loc="outside upper center", ncols=2, frameon=False)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
