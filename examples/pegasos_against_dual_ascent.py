"""Pegasos against dual coordinate ascent, on the same machine.

Pegasos takes cheap steps in w, each from one row, with a step length that falls like 1 / t. Dual coordinate ascent
takes steps of the same cost in alpha, each to the best value of one multiplier. Both begin well; then one of them stays
on its way to the optimum. The gap of Pegasos is what it can prove, and its model is often better than that. (L0, L2)

    python pegasos_against_dual_ascent.py              shows the picture
    python pegasos_against_dual_ascent.py picture.png  saves it
"""

import sys
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVC, plot
from maxmargin.errors import NotConvergedWarning

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)

machine = {"loss": "hinge", "C": 0.1, "tol": 1e-6, "max_iter": 1000, "random_state": 0}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", NotConvergedWarning)  # Pegasos will not reach this tolerance; that is the point
    fits = {
        "Pegasos": LinearSVC(solver="pegasos", **machine).fit(X, y),
        "dual coordinate ascent": LinearSVC(solver="dcd", **machine).fit(X, y),
    }

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.8), layout="constrained")
plot.convergence(fits, left, show="objective", against="passes", title="Primal and dual value")
plot.convergence(fits, right, show="gap", against="passes", title="Relative gap")
for ax in (left, right):
    ax.set_xscale("log")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
