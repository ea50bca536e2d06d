"""Linear regression, logistic regression and the support vector machine differ in their loss alone.

Each is scaled to 1 on the boundary, and each bounds the number of errors from above. Only the squared loss punishes a
row for being too right. (L4)

    python loss_comparison.py              shows the picture
    python loss_comparison.py picture.png  saves it
"""

import sys

import matplotlib.pyplot as plt

from maxmargin import plot

figure, ax = plt.subplots(figsize=(7, 5), layout="constrained")
plot.losses(ax=ax)

if len(sys.argv) > 1:
    plt.savefig(sys.argv[1])
else:
    plt.show()
