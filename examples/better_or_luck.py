"""Is one method better than another, or was it luck? Two looks at the same three methods.

Left: scores on ten folds, each fold a thin line, and the means with one standard error to either side. Folds share
training rows, so these bars are too short. Right: the ten differences of five halvings. The F test asks whether they
are farther from zero than the two of a halving are from each other. (L0)

    python better_or_luck.py              shows the picture
    python better_or_luck.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, LinearSVC
from maxmargin.evaluate import compare_five_by_two, cross_validate, k_fold
from maxmargin.plot.axes import key_above, palette_of

X, y = load_breast_cancer(return_X_y=True)
methods = {
    "line": make_pipeline(StandardScaler(), LinearSVC(C=0.01)),
    "curve": make_pipeline(StandardScaler(), SVC()),
    "stiff curve": make_pipeline(StandardScaler(), SVC(gamma=1e-3)),
}

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
colours = palette_of(left)
found = [cross_validate(method, X, y, cv=k_fold(10)) for method in methods.values()]
left.plot(range(3), [one.scores for one in found], ".-", color=colours.ink, linewidth=0.6, alpha=0.4)
left.plot([], [], ".-", color=colours.ink, linewidth=0.6, alpha=0.4, label="a fold")
left.errorbar(
    range(3),
    [one.mean for one in found],
    [one.standard_error for one in found],
    fmt="o",
    color=colours.series[0],
    capsize=6,
    linewidth=2,
    label="mean, one standard error",
)
left.set(xticks=range(3), xticklabels=methods, xlim=(-0.4, 2.4), ylabel="accuracy")
key_above(left, title="Ten folds")

for k, other in enumerate(("curve", "stiff curve")):
    pair = compare_five_by_two(methods["line"], methods[other], X, y)
    halving = np.arange(1, 6) + 0.24 * k - 0.12
    label = f"line minus {other}: p = {pair.F_p_value:.2g}"
    right.vlines(halving, *np.sort(pair.differences).T, color=colours.one(k), linewidth=1)
    right.plot(halving, pair.differences, "os"[k], color=colours.one(k), label=[label, None])
right.axhline(0.0, color=colours.ink, linewidth=0.8)
right.set(xticks=range(1, 6), xlabel="halving", ylabel="difference in accuracy")
key_above(right, title="Five times two, F test", columns=2)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
