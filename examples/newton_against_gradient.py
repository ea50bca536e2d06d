"""Logistic regression by Newton's method and by steps along the gradient.

One feature has three times the spread of the other, so the objective is far steeper in its direction, and a step along
the gradient must be short enough for that one. Newton's step divides by the curvature: it leads to the bottom of the
parabola that fits at its place. The solver keeps a matrix while it serves, here for three steps.

    python newton_against_gradient.py              shows the picture
    python newton_against_gradient.py picture.png  saves it
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LogisticRegression
from maxmargin.errors import NotConvergedWarning
from maxmargin.losses import Logistic
from maxmargin.plot.axes import key_above, palette_of

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 2)) * [3.0, 1.0]
y = np.where(X @ [0.4, 1.2] + 0.8 * rng.normal(size=80) > 0, 1, -1)
loss, STEPS = Logistic(), 60


def objective(w):
    """P(w), for one w or for columns of them."""
    return 0.5 * np.sum(w**2, axis=0) + np.sum(loss.value(y[:, None] * (X @ w.reshape(2, -1))), axis=0)


def gradient_steps(steps):
    """The way along the gradient; the step is one over the largest curvature that P can have."""
    way, step = [np.zeros(2)], 1.0 / (1.0 + 0.25 * np.linalg.norm(X, 2) ** 2)
    for _ in range(steps):
        w = way[-1]
        way.append(w - step * (w + X.T @ (y * loss.subgradient(y * (X @ w)))))
    return np.array(way)


def newton_steps(steps):
    """The way of `solver="newton"`: its weights after each number of steps."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # it is stopped on purpose
        machine = LogisticRegression(solver="newton", fit_intercept=False, tol=1e-14)
        fits = [machine.set_params(max_iter=k).fit(X, y).coef_[0] for k in range(1, steps + 1)]
    return np.array([np.zeros(2), *fits])


ways = {"gradient": gradient_steps(STEPS), "Newton": newton_steps(5)}
best = objective(ways["Newton"][-1])[0]

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
colours = palette_of(left)
across, up = np.meshgrid(np.linspace(-0.15, 1.0, 120), np.linspace(-0.3, 2.6, 120))
heights = objective(np.stack([across.ravel(), up.ravel()])).reshape(across.shape)
levels = best + np.geomspace(0.05, 40.0, 11)
left.contour(across, up, heights, levels=levels, colors=[colours.ink], linewidths=0.6, alpha=0.5)
for number, (name, way) in enumerate(ways.items()):
    left.plot(*way.T, marker="o", markersize=4, color=colours.one(number), label=name)
    above = np.array([objective(w)[0] for w in way]) - best
    seen = above > 1e-13 * best
    right.semilogy(np.flatnonzero(seen), above[seen], marker=".", color=colours.one(number), label=name)
left.set(xlabel="$w_1$", ylabel="$w_2$")
right.set(xlabel="steps", ylabel="P above its minimum")
key_above(left, title="The way of the weights")
key_above(right, title="What is left")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
