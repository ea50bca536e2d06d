"""Support vector regression: a tube around the function in which errors cost nothing.

Only points on the walls of the tube and outside it have multipliers: a wide tube needs few of them. What sticks out of
the tube, the thin line, is paid for. (L1)

    python regression_tube.py              shows the picture
    python regression_tube.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import SVR
from maxmargin.plot.axes import key_above, palette_of

rng = np.random.default_rng(3)
x = np.sort(rng.uniform(0.0, 6.0, size=45))
y = np.sin(x) + 0.25 * rng.normal(size=45)
line = np.linspace(-0.2, 6.2, 400)

figure, panels = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained", sharey=True)
for ax, epsilon in zip(panels, (0.1, 0.4), strict=True):
    model = SVR(gamma=0.5, C=1.0, epsilon=epsilon).fit(x[:, None], y)
    f = model.predict(line[:, None])
    error = y - model.predict(x[:, None])
    beyond = np.abs(error) > epsilon
    wall = y - error + epsilon * np.sign(error)

    colours = palette_of(ax)
    ax.fill_between(line, f - epsilon, f + epsilon, color=colours.series[0], alpha=0.15, label="tube")
    ax.plot(line, f, color=colours.series[0], linewidth=2, label="f")
    ax.vlines(x[beyond], wall[beyond], y[beyond], color=colours.ink, linewidth=0.8, label="loss")
    ax.plot(x, y, "o", markersize=4, color=colours.series[1], label="target")
    on = model.support_
    ax.plot(x[on], y[on], "o", markersize=9, markerfacecolor="none", color=colours.ink, label="support vector")
    ax.set_xlabel("x")
    key_above(ax, title=rf"$\varepsilon$ = {epsilon}: {len(on)} of {len(x)} rows are support vectors")
panels[0].set_ylabel("y")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
