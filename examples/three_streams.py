"""Training on rows that are not all in memory: three ways of choosing those that are.

A tenth of the rows fits. Block minimisation exchanges all of them at once, selective block minimisation keeps those
that had most to tell, and cached loops train on what is there while the next rows are read. Between passes the gaps
are estimates, and an estimate below zero has no place on the scale; the last one is exact. (L2)

    python three_streams.py              shows the picture
    python three_streams.py picture.png  saves it
"""

import sys
import warnings

import matplotlib.pyplot as plt
import numpy as np

from maxmargin import LinearSVC, plot
from maxmargin.data import ArraySource
from maxmargin.errors import NotConvergedWarning

rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 20))
y = np.where(X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=4000) > 0.0, 1, -1)
source = ArraySource(X, y, np.ones(4000))

streams = ("block", "selective-block", "cached-loops")
machine = {"loss": "hinge", "C": 0.1, "tol": 1e-3, "max_iter": 30, "memory": X.nbytes // 10}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", NotConvergedWarning)  # 30 passes are not enough for all of them
    fits = {stream: LinearSVC(stream=stream, **machine).fit(source) for stream in streams}

figure, ax = plt.subplots(figsize=(7, 4.8), layout="constrained")
plot.convergence(fits, ax, show="gap", against="passes")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
