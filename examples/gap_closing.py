"""The gap of a fit closes: primal and dual value meet, and what is left between them bounds the error.

The optimum is unknown while a solver works, but it always lies between the two curves. A fit ends when they are as
close as `tol` asks, not when the solver stops moving.

    python gap_closing.py              shows the picture
    python gap_closing.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVC, plot

X, y = load_breast_cancer(return_X_y=True)
X = StandardScaler().fit_transform(X)
model = LinearSVC(loss="hinge", tol=1e-8)
model.fit(X, y)  # the first fit of a process also loads compiled code
model.fit(X, y)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
plot.convergence(model, left, show="objective", title="Primal and dual value")
plot.convergence(model, right, show="gap", title="Relative gap")
left.set_ylim(0.0, 40.0)  # the first dual values lie far below

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
