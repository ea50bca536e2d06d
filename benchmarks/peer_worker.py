"""One contestant in a process of its own: fits on request, and reports time, memory and where the weights are.

The process runs in the contestant's virtual environment, so this file needs numpy, scipy and that one library only.
It is given one JSON object as its argument (folders of the data and of the answers, library, solver, loss and C),
reads requests `{"tol": 0.001}` from standard input, a line each, and answers each with a line of JSON. Weights go to
`.npy` files. Nothing is pickled.

Everybody solves the same problem, without an intercept:

    minimise over w    1/2 |w|^2 + C sum_i l(y_i <w, x_i>)

    hinge            l(z) = max(0, 1 - z)
    squared hinge    l(z) = max(0, 1 - z)^2
    logistic         l(z) = log(1 + exp(-z))

The clock runs during `fit` alone. What a library wants done to the data beforehand, and can do once for many fits, is
done in `prepare`, outside the clock; the memory it keeps is counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from ctypes import POINTER, c_uint64, cast
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

MANY_PASSES = 10_000_000
"""An iteration limit that the time limit comes before."""


class Answer(NamedTuple):
    """What a fitted model says."""

    weights: np.ndarray
    exhausted: bool = False
    """The library met a limit of its own, which a smaller tolerance will not move."""
    dual: float | None = None
    gap: float | None = None
    """Of the certificate, where the library gives one."""


class Contestant:
    """A library with one of its solvers, set to one loss and one C."""

    def __init__(self, solver: str, loss: str, C: float):
        self.solver, self.loss, self.C = solver, loss, C

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """The data as the library likes them best."""
        return X, y

    def fit(self, data: Any, tol: float) -> Any:
        """A model; this is what the clock measures."""
        raise NotImplementedError

    def answer(self, model: Any) -> Answer:
        """Weights of a model."""
        raise NotImplementedError


class MaxMargin(Contestant):
    """Ourselves: checks of the input and the certificate are part of `fit`."""

    def fit(self, data: Any, tol: float) -> Any:
        """LinearSVC or LogisticRegression."""
        import maxmargin

        common = {"C": self.C, "tol": tol, "fit_intercept": False, "solver": self.solver}
        if self.loss == "logistic":
            if not hasattr(maxmargin, "LogisticRegression"):
                raise NotImplementedError("not there yet")
            return maxmargin.LogisticRegression(**common).fit(*data)
        return maxmargin.LinearSVC(loss=self.loss, **common).fit(*data)

    def answer(self, model: Any) -> Answer:
        """Weights, and what the certificate says."""
        certificate = model.certificate_
        return Answer(np.ravel(model.coef_), dual=certificate.dual, gap=certificate.relative_gap)


class Liblinear(Contestant):
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

    def fit(self, data: Any, tol: float) -> Any:
        """A model, and what the library printed while it was made."""
        from liblinear import liblinear, liblinearutil

        said: list[bytes] = []
        parameter = liblinear.parameter(f"-s {self.solver} -c {self.C!r} -e {tol!r} -B -1")
        parameter.print_func = liblinear.PRINT_STRING_FUN(said.append)
        model = liblinearutil.train(data, parameter)
        return model, b"".join(said).decode()

    def answer(self, model: Any) -> Answer:
        """Weights for the label +1; a limit is known from what was printed after a change of solver, if any."""
        fitted, said = model
        weights = np.ctypeslib.as_array(fitted.w, (fitted.nr_feature,)).copy()
        if fitted.get_labels()[0] < 0:
            weights = -weights
        said = said.rpartition("Switching to use")[2]
        return Answer(weights, exhausted=any(limit in said for limit in self.limits))


class ScikitLearn(Contestant):
    """scikit-learn: LinearSVC "dual" and "primal"; for the logistic loss, a solver of LogisticRegression."""

    def fit(self, data: Any, tol: float) -> Any:
        """LinearSVC or LogisticRegression."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.svm import LinearSVC

        common = {"C": self.C, "tol": tol, "fit_intercept": False, "max_iter": MANY_PASSES}
        if self.loss == "logistic":
            return LogisticRegression(solver=self.solver, **common).fit(*data)
        return LinearSVC(loss=self.loss, dual=self.solver == "dual", random_state=0, **common).fit(*data)

    def answer(self, model: Any) -> Answer:
        """Weights."""
        return Answer(np.ravel(model.coef_), exhausted=bool(np.max(model.n_iter_) >= MANY_PASSES))


class Cyanure(Contestant):
    """Cyanure, which minimises (1/n) sum_i L + lambda/2 |w|^2, with L half of our squared hinge."""

    passes = 100_000  # it reserves memory for a report on every pass, so "no limit" would cost time

    def fit(self, data: Any, tol: float) -> Any:
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

    def answer(self, model: Any) -> Answer:
        """Weights."""
        return Answer(np.ravel(model.coef_), exhausted=bool(np.max(model.n_iter_) >= self.passes))


class SnapML(Contestant):
    """Snap ML on all cores; it minimises sum_i l + 1/2 regularizer |w|^2."""

    def fit(self, data: Any, tol: float) -> Any:
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

    def answer(self, model: Any) -> Answer:
        """Weights in double precision."""
        return Answer(np.ravel(model.coef_).astype(np.float64))


LIBRARIES: dict[str, type[Contestant]] = {
    "maxmargin": MaxMargin,
    "LIBLINEAR": Liblinear,
    "scikit-learn": ScikitLearn,
    "Cyanure": Cyanure,
    "Snap ML": SnapML,
}


def read_rows(folder: Path, *, mapped: bool = False) -> tuple[Any, np.ndarray]:
    """X (dense, or CSR) and y of -1 and +1 from a folder of arrays; a mapped dense X stays on disk."""
    y = np.load(folder / "y.npy")
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy", mmap_mode="r" if mapped else None), y
    data, columns, starts, shape = (np.load(folder / f"{part}.npy") for part in ("data", "columns", "starts", "shape"))
    return sparse.csr_matrix((data, columns, starts), shape=tuple(shape.tolist())), y


def a_few_rows(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows of both classes: enough to load every module, start the threads and find compiled code."""
    rows = np.sort(np.concatenate([np.flatnonzero(y == label)[:100] for label in (-1.0, 1.0)]))
    return X[rows], y[rows]


def memory_of_process(field: str) -> float | None:
    """VmRSS, or VmHWM, the peak, of this process in MB; None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field)), None)


def forget_peak() -> bool:
    """Let VmHWM start again from the present size; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def be_first_to_go() -> None:
    """Where memory runs out, this process is the one to end, and the race goes on."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def measured_fit(contestant: Contestant, data: Any, tol: float, before: float | None) -> tuple[Answer, dict[str, Any]]:
    """One fit under the clock, and the memory at its peak beyond what the process held `before`."""
    resets = forget_peak()
    start = time.perf_counter()
    model = contestant.fit(data, tol)
    seconds = time.perf_counter() - start
    peak = memory_of_process("VmHWM") if resets else None
    answer = contestant.answer(model)
    extra = None if peak is None or before is None else max(0.0, peak - before)
    return answer, {"seconds": seconds, "extra_mb": extra}


def main() -> None:
    """Answer requests until standard input ends."""
    # What a library prints must not mix with the answers.
    answers_to = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    be_first_to_go()

    def say(**words: Any) -> None:
        answers_to.write(json.dumps(words) + "\n")

    task = json.loads(sys.argv[1])
    contestant = LIBRARIES[task["library"]](task["solver"], task["loss"], task["C"])
    try:
        X, y = read_rows(Path(task["data"]))
        few = contestant.prepare(*a_few_rows(X, y))
        contestant.fit(few, 0.1)
        before = memory_of_process("VmRSS")
        data = contestant.prepare(X, y)
    except Exception as error:
        say(error=f"{error}" if isinstance(error, NotImplementedError) else f"{type(error).__name__}: {error}")
        return
    say(ready=True)
    for count, line in enumerate(sys.stdin):
        try:
            answer, measured = measured_fit(contestant, data, json.loads(line)["tol"], before)
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")
            continue
        weights = Path(task["answers"]) / f"{count}.npy"
        np.save(weights, answer.weights)
        say(**measured, weights=str(weights), exhausted=answer.exhausted, dual=answer.dual, gap=answer.gap)


if __name__ == "__main__":
    main()
