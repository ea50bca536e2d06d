"""The regularisation paths of ridge regression and of the lasso.

As lambda falls, to the right, the coefficients of ridge regression grow all at once and none is ever zero. Those of the
lasso turn on one after the other; against their norm they are straight lines between two such events. (L3, the two
figures of the regularisation path)

    python two_paths.py              shows the picture
    python two_paths.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.preprocessing import StandardScaler

from maxmargin import lasso_path, plot, ridge_path

patients = load_diabetes()
X = StandardScaler().fit_transform(patients.data)
y = patients.target - patients.target.mean()

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
ridge = ridge_path(X, y, alphas=np.logspace(5, -1, 60))
plot.path(ridge, "lambda", left, feature_names=patients.feature_names, title="Ridge regression")
lasso = lasso_path(X, y, eps=1e-4)
plot.path(lasso, "norm", right, feature_names=patients.feature_names, title="Lasso")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
