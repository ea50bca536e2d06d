"""Libraries that solve the lasso, each in a process of its own (`common/worker.py`).

Everybody solves the same problem on the same columns, without an intercept, for centred targets:

    minimise over w    1/(2 n) |y - X w|^2 + alpha |w|_1

The task is "path", weights for a grid of alphas, or "single", for one of them. Each library has the columns in the
layout it works on, which is made outside the clock: columns stored one after the other, for our single fit rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common.worker import Answer, Contestant, serve

MANY_PASSES = 10_000_000
"""An iteration limit that the time limit comes before."""


def alphas_of(X: Any, y: np.ndarray, task: Mapping[str, Any]) -> np.ndarray:
    """The grid from the largest alpha that matters down to `least` times it, or its end alone."""
    largest = float(np.max(np.abs(X.T @ y))) / len(y)
    if task["job"] == "single":
        return np.array([task["least"] * largest])
    return np.geomspace(largest, task["least"] * largest, num=task["count"])


class LassoContestant(Contestant):
    """A library, set to a path or a single fit."""

    first = MappingProxyType({"tol": 0.1})
    by_columns = True

    def __init__(self, task: Mapping[str, Any]):
        self.task = task

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """Centred targets, columns, and the alphas."""
        y = y - np.mean(y)
        alphas = alphas_of(X, y, self.task)
        if self.by_columns:
            return (X.tocsc() if sparse.issparse(X) else np.asfortranarray(X)), y, alphas
        return X, y, alphas

    def run(self, data: Any, *, tol: float) -> Any:
        """Weights, one column an alpha."""
        X, y, alphas = data
        return self.single(X, y, float(alphas[0]), tol) if self.task["job"] == "single" else self.path(*data, tol)

    def single(self, X: Any, y: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Weights for one alpha."""
        raise NotImplementedError

    def path(self, X: Any, y: np.ndarray, alphas: np.ndarray, tol: float) -> np.ndarray:
        """Weights for all of them."""
        raise NotImplementedError

    def answer(self, result: Any) -> Answer:
        """Weights that are not zero, and where they are."""
        weights = np.asarray(result).reshape(result.shape[0], -1)
        where = np.flatnonzero(weights)
        return Answer({"where": where, "values": weights.ravel()[where], "shape": np.array(weights.shape)}, {})


class MaxMargin(LassoContestant):
    """Ourselves: checks of the input and, for a single fit, the certificate are part of it."""

    def __init__(self, task: Mapping[str, Any]):
        super().__init__(task)
        self.by_columns = False

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """Rows; sparse columns for a path, which has no certificate that goes by rows."""
        X, y, alphas = super().prepare(X, y)
        return (X.tocsc() if sparse.issparse(X) and self.task["job"] == "path" else X), y, alphas

    def single(self, X: Any, y: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Lasso."""
        from maxmargin import Lasso

        return Lasso(alpha, fit_intercept=False, tol=tol, max_iter=None).fit(X, y).coef_

    def path(self, X: Any, y: np.ndarray, alphas: np.ndarray, tol: float) -> np.ndarray:
        """lasso_path."""
        from maxmargin import lasso_path

        return lasso_path(X, y, alphas=alphas, tol=tol, max_iter=None)[1]


class ScikitLearn(LassoContestant):
    """scikit-learn, which screens by Gap Safe rules."""

    def single(self, X: Any, y: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Lasso."""
        from sklearn.linear_model import Lasso

        return Lasso(alpha, fit_intercept=False, tol=tol, max_iter=MANY_PASSES).fit(X, y).coef_

    def path(self, X: Any, y: np.ndarray, alphas: np.ndarray, tol: float) -> np.ndarray:
        """lasso_path."""
        from sklearn.linear_model import lasso_path

        return lasso_path(X, y, alphas=alphas, tol=tol, max_iter=MANY_PASSES)[1]


class Celer(LassoContestant):
    """celer, the working sets and the dual extrapolation of its paper."""

    def single(self, X: Any, y: np.ndarray, alpha: float, tol: float) -> np.ndarray:
        """Lasso."""
        from celer import Lasso

        return Lasso(alpha, fit_intercept=False, tol=tol, max_iter=1000).fit(X, y).coef_

    def path(self, X: Any, y: np.ndarray, alphas: np.ndarray, tol: float) -> np.ndarray:
        """celer_path."""
        from celer import celer_path

        return celer_path(X, y, "lasso", alphas=alphas, tol=tol, max_iter=1000)[1]


LIBRARIES = {"maxmargin": MaxMargin, "scikit-learn": ScikitLearn, "celer": Celer}

if __name__ == "__main__":
    serve(lambda task: LIBRARIES[task["library"]](task))
