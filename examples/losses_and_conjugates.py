"""A loss and its conjugate: the same curve, told by points and told by tangents.

The tangent of slope u lies below the loss and meets the vertical axis at -l*(u). So the conjugate has the height of
every tangent, and the loss is the highest of its tangents. The slopes that occur are where the conjugate is finite: in
the dual they are the bounds of a multiplier.

    python losses_and_conjugates.py              shows the picture
    python losses_and_conjugates.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from maxmargin.losses import Hinge, Logistic, SquaredHinge
from maxmargin.plot.axes import key_above, palette_of

losses = {"hinge": Hinge(), "logistic": Logistic(), "squared hinge": SquaredHinge()}
z = np.linspace(-2.0, 3.0, 401)
u = np.linspace(-2.5, 0.5, 1201)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
colours = palette_of(left)
for number, (name, loss) in enumerate(losses.items()):
    conjugate = loss.conjugate(u)
    inside = np.isfinite(conjugate)
    left.plot(z, loss.value(z), color=colours.one(number), linewidth=2, label=name)
    right.plot(u[inside], conjugate[inside], color=colours.one(number), linewidth=2, label=name)
    for end in {u[inside][0], u[inside][-1]} - {u[0]}:  # beyond these the conjugate is infinite
        right.plot(end, loss.conjugate(np.array(end)), "o", markersize=6, color=colours.one(number))

touched = np.array([-1.2, 0.3, 2.0])
slopes = Logistic().subgradient(touched)
for at, slope in zip(touched, slopes, strict=True):
    height = -Logistic().conjugate(slope)
    left.plot(z, height + slope * z, color=colours.ink, linewidth=0.8, linestyle="dashed")
    left.plot(0.0, height, "D", markersize=4, color=colours.ink)
    left.plot(at, Logistic().value(at), "o", markersize=4, color=colours.ink)
right.plot(slopes, Logistic().conjugate(slopes), "D", markersize=4, color=colours.ink)
left.plot([], [], "D", color=colours.ink, markersize=4, linestyle="dashed", label="tangent, at height $-l^*(u)$")
left.axvline(0.0, color=colours.ink, linewidth=0.5)
right.axhline(0.0, color=colours.ink, linewidth=0.5)
left.set(ylim=(-0.8, 4.0), xlabel="margin z", ylabel="$l(z)$")
right.set(ylim=(-1.2, 0.6), xlabel="slope u", ylabel="$l^*(u)$")
key_above(left, columns=2, title="Losses")
key_above(right, columns=3, title="Conjugates")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
