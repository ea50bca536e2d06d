"""What the reference solver costs beside scikit-learn, on data that come with scikit-learn.

The reference is slow and trusted; this table says how slow, and what the peer's answer is worth at its default
tolerance. Gaps are measured by our certificate for both.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import sklearn.svm as peers
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.preprocessing import StandardScaler

from maxmargin import SVC
from maxmargin.certificates import assess
from maxmargin.kernels import Gaussian
from maxmargin.losses import Hinge
from maxmargin.problems import Intercept, Pair, Specification

REPEATS = 3


def seconds(work: Callable[[], Any]) -> float:
    """Best of a few runs, after one to warm up."""
    work()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def peer_gap(model: peers.SVC, X: np.ndarray, y: np.ndarray, C: float, gamma: float) -> tuple[float, float]:
    """Primal value and relative gap of a model of scikit-learn's, by our arithmetic."""
    specification = Specification(Pair(0, 1), Hinge(), C, Intercept.FREE, Gaussian(gamma))
    problem, _ = specification.problem(X, y)
    alpha = np.zeros(len(y))
    alpha[model.support_] = np.abs(model.dual_coef_[0])
    seen = assess(problem, alpha, None, float(model.intercept_[0]))
    return seen.primal, seen.gap / seen.primal


def main() -> None:
    """Print the table."""
    table = Table(title="solver='qp' beside scikit-learn's SVC, RBF kernel, best of 3")
    for column in ("data", "C", "seconds", "peer", "ratio", "primal", "peer", "relative gap", "peer"):
        table.add_column(column, justify="left" if column == "data" else "right")
    iris_X, iris_y = load_iris(return_X_y=True)
    data = {
        "iris, two classes": (iris_X[50:], (iris_y[50:] == 2).astype(int)),
        "breast cancer": load_breast_cancer(return_X_y=True),
    }
    for name, (raw, y) in data.items():
        X = StandardScaler().fit_transform(raw)
        gamma = 1.0 / X.shape[1]
        for C in (1.0, 100.0):
            ours = SVC(C=C, gamma=gamma, solver="qp").fit(X, y)
            peer = peers.SVC(C=C, gamma=gamma).fit(X, y)
            primal, gap = peer_gap(peer, X, y, C, gamma)
            mine, theirs = seconds(partial(ours.fit, X, y)), seconds(partial(peer.fit, X, y))
            certificate = ours.certificate_
            table.add_row(
                f"{name} {X.shape[0]} x {X.shape[1]}",
                f"{C:g}",
                f"{mine:.4f}",
                f"{theirs:.4f}",
                f"{mine / theirs:.0f}",
                f"{certificate.primal:.9g}",
                f"{primal:.9g}",
                f"{certificate.relative_gap:.1e}",
                f"{gap:.1e}",
            )
    Console(width=130).print(table)


if __name__ == "__main__":
    main()
