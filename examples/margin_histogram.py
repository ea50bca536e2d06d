"""The margins of all rows, on the rows trained on and on rows kept aside.

A soft machine leaves some training rows inside its margin on purpose. If the histogram of new rows has the same shape,
the machine has learned; if only its own rows keep their distance, it has learned them by heart.

    python margin_histogram.py              shows the picture
    python margin_histogram.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC, plot

X, y = load_breast_cancer(return_X_y=True)
train, test, y_train, y_test = train_test_split(X, y, random_state=0)
scaler = StandardScaler().fit(train)
train, test = scaler.transform(train), scaler.transform(test)

figure, panels = plt.subplots(2, 2, figsize=(11, 8), layout="constrained")
for row, gamma in zip(panels, (0.01, 0.3), strict=True):
    model = SVC(kernel="rbf", gamma=gamma, C=1.0).fit(train, y_train)
    plot.margins(model, train, y_train, row[0], title=rf"$\gamma$ = {gamma}: trained on")
    plot.margins(model, test, y_test, row[1], title=rf"$\gamma$ = {gamma}: kept aside")

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
