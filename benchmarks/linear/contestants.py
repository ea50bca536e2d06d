"""Libraries that train linear machines, each in a process of its own (`common/worker.py`).

Everybody solves the same problem, without an intercept:

    minimise over w    1/2 |w|^2 + C sum_i l(y_i <w, x_i>)

    hinge            l(z) = max(0, 1 - z)
    squared hinge    l(z) = max(0, 1 - z)^2
    logistic         l(z) = log(1 + exp(-z))
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from ctypes import POINTER, c_uint64, cast
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common.worker import Answer, Contestant, serve

MANY_PASSES = 10_000_000
"""An iteration limit that the time limit comes before."""


class LinearContestant(Contestant):
    """A library with one of its solvers, set to one loss and one C."""

    first = MappingProxyType({"tol": 0.1})

    def __init__(self, solver: str, loss: str, C: float):
        self.solver, self.loss, self.C = solver, loss, C

    def run(self, data: Any, *, tol: float) -> Any:
        """A model."""
        raise NotImplementedError


def weights_answer(
    weights: np.ndarray, *, exhausted: bool = False, dual: float | None = None, gap: float | None = None
) -> Answer:
    """Weights; whether the library met a limit of its own, which a smaller tolerance will not move; its certificate."""
    return Answer({"weights": np.ravel(weights)}, {"exhausted": exhausted, "dual": dual, "gap": gap})


class MaxMargin(LinearContestant):
    """Ourselves: checks of the input and the certificate are part of `fit`."""

    def run(self, data: Any, *, tol: float) -> Any:
        """LinearSVC or LogisticRegression."""
        import maxmargin

        common = {"C": self.C, "tol": tol, "fit_intercept": False, "solver": self.solver}
        if self.loss == "logistic":
            if not hasattr(maxmargin, "LogisticRegression"):
                raise NotImplementedError("not there yet")
            return maxmargin.LogisticRegression(**common).fit(*data)
        return maxmargin.LinearSVC(loss=self.loss, **common).fit(*data)

    def answer(self, result: Any) -> Answer:
        """Weights, and what the certificate says."""
        certificate = result.certificate_
        return weights_answer(result.coef_, dual=certificate.dual, gap=certificate.relative_gap)


class Liblinear(LinearContestant):
    """LIBLINEAR through its own Python interface; `solver` is the number after -s.

    Its dual solvers stop after 300 passes whatever the tolerance: -s 1 and -s 7 then go on with Newton's method, -s 3
    just stops.
    """

    limits = ("max number of iterations", "Newton iterations", "line search fails", "actred too small")

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """Its own table of index and value pairs."""
        from liblinear.liblinear import problem

        if sparse.issparse(X):
            return problem(y, X)
        if np.count_nonzero(X) < X.size:
            return problem(y, sparse.csr_matrix(X))
        return self._dense_problem(X, y)

    @staticmethod
    def _dense_problem(X: np.ndarray, y: np.ndarray) -> Any:
        """What LIBLINEAR makes of a CSR matrix without zeros, filled directly: the matrix would not fit beside it."""
        from liblinear.liblinear import feature_node, problem

        n_rows, n_features = X.shape
        space = np.empty((n_rows, n_features + 2), dtype=feature_node)  # two nodes a row for bias and end
        space["index"][:, :n_features] = np.arange(1, n_features + 1)
        space["index"][:, n_features:] = -1
        space["value"][:, :n_features] = X
        made = problem(y, sparse.csr_matrix((n_rows, n_features)))  # empty rows: only its shape is kept
        pointers = np.ctypeslib.as_array(cast(made.x, POINTER(c_uint64)), (n_rows,))
        pointers[:] = space.ctypes.data + np.arange(n_rows, dtype=np.uint64) * np.uint64(space.strides[0])
        made.rowptr = np.arange(n_rows + 1, dtype=np.int64) * (n_features + 2)
        made.x_space = space.reshape(-1)
        return made

    def run(self, data: Any, *, tol: float) -> Any:
        """A model, and what the library printed while it was made."""
        from liblinear import liblinear, liblinearutil

        said: list[bytes] = []
        parameter = liblinear.parameter(f"-s {self.solver} -c {self.C!r} -e {tol!r} -B -1")
        parameter.print_func = liblinear.PRINT_STRING_FUN(said.append)
        model = liblinearutil.train(data, parameter)
        return model, b"".join(said).decode()

    def answer(self, result: Any) -> Answer:
        """Weights for the label +1; a limit is known from what was printed after a change of solver, if any."""
        fitted, said = result
        weights = np.ctypeslib.as_array(fitted.w, (fitted.nr_feature,)).copy()
        if fitted.get_labels()[0] < 0:
            weights = -weights
        said = said.rpartition("Switching to use")[2]
        return weights_answer(weights, exhausted=any(limit in said for limit in self.limits))


class ScikitLearn(LinearContestant):
    """scikit-learn: LinearSVC "dual" and "primal"; for the logistic loss, a solver of LogisticRegression."""

    def run(self, data: Any, *, tol: float) -> Any:
        """LinearSVC or LogisticRegression."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        common = {"C": self.C, "tol": tol, "fit_intercept": False, "max_iter": MANY_PASSES}
        if self.loss == "logistic":
            return LogisticRegression(solver=self.solver, **common).fit(*data)
        return LinearSVC(loss=self.loss, dual=self.solver == "dual", random_state=0, **common).fit(*data)

    def answer(self, result: Any) -> Answer:
        """Weights."""
        return weights_answer(result.coef_, exhausted=bool(np.max(result.n_iter_) >= MANY_PASSES))


class Cyanure(LinearContestant):
    """Cyanure, which minimises (1/n) sum_i L + lambda/2 |w|^2, with L half of our squared hinge."""

    passes = 100_000  # it reserves memory for a report on every pass, so "no limit" would cost time

    def run(self, data: Any, *, tol: float) -> Any:
        """A Classifier."""
        from cyanure.estimators import Classifier

        X, y = data
        cost = (2.0 if self.loss == "squared_hinge" else 1.0) * self.C
        return Classifier(
            loss={"squared_hinge": "sqhinge", "logistic": "logistic"}[self.loss],
            penalty="l2",
            lambda_1=1.0 / (cost * len(y)),
            fit_intercept=False,
            solver=self.solver,
            tol=tol,
            max_iter=self.passes,
            verbose=False,
            n_threads=-1,
        ).fit(X, y)

    def answer(self, result: Any) -> Answer:
        """Weights."""
        return weights_answer(result.coef_, exhausted=bool(np.max(result.n_iter_) >= self.passes))


class SnapML(LinearContestant):
    """Snap ML on all cores; it minimises sum_i l + 1/2 regularizer |w|^2."""

    def run(self, data: Any, *, tol: float) -> Any:
        """SupportVectorMachine or LogisticRegression."""
        import snapml

        common = {
            "regularizer": 1.0 / self.C,
            "tol": tol,
            "fit_intercept": False,
            "n_jobs": os.cpu_count(),
            "max_iter": MANY_PASSES,
            "random_state": 0,
        }
        if self.loss == "logistic":
            return snapml.LogisticRegression(dual=self.solver == "dual", **common).fit(*data)
        return snapml.SupportVectorMachine(loss=self.loss, **common).fit(*data)

    def answer(self, result: Any) -> Answer:
        """Weights in double precision."""
        return weights_answer(result.coef_.astype(np.float64))


LIBRARIES: dict[str, type[LinearContestant]] = {
    "maxmargin": MaxMargin,
    "LIBLINEAR": Liblinear,
    "scikit-learn": ScikitLearn,
    "Cyanure": Cyanure,
    "Snap ML": SnapML,
}


def _make(task: Mapping[str, Any]) -> LinearContestant:
    return LIBRARIES[task["library"]](task["solver"], task["loss"], task["C"])


if __name__ == "__main__":
    serve(_make)
