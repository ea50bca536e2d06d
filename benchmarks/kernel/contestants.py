"""Libraries that train kernel machines, each in a process of its own (`common/worker.py`).

Everybody solves the same problem, with the kernel k(x, z) = exp(-gamma |x - z|^2) and a free intercept:

    SVC    minimise over w, b    1/2 |w|^2 + C sum_i max(0, 1 - y_i f_i)                f_i = <w, phi(x_i)> + b
    SVR    minimise over w, b    1/2 |w|^2 + C sum_i max(0, |f_i - y_i| - epsilon)

A machine answers with its support rows, their coefficients in scikit-learn's layout and the order of the classes that
the layout refers to: the coefficient of a support row of class i in the pair (i, j) is in line j - 1 if i < j, else j.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.common.worker import Answer, Contestant, serve

FIRST_TOL = MappingProxyType({"tol": 0.1})


class Machine(Contestant):
    """A library, set to SVC or SVR, C, gamma, epsilon, and bytes for kernel rows (None: what it takes by itself)."""

    first = FIRST_TOL

    def __init__(self, task: Mapping[str, Any]):
        self.kind, self.C, self.gamma = task["machine"], task["C"], task["gamma"]
        self.epsilon, self.memory = task["epsilon"], task["memory"]

    def run(self, data: Any, *, tol: float) -> Any:
        """A fitted model."""
        raise NotImplementedError

    def queries(self, X: np.ndarray) -> Any:
        """Rows to be predicted, as the library likes them best."""
        return X

    def predictions(self, model: Any, queries: Any) -> np.ndarray:
        """Labels of rows."""
        return np.asarray(model.predict(queries))


class MaxMargin(Machine):
    """Ourselves: checks of the input and the certificate are part of `run`."""

    def run(self, data: Any, *, tol: float) -> Any:
        """SVC or SVR."""
        import maxmargin

        words = {"C": self.C, "gamma": "scale", "tol": tol} | ({} if self.memory is None else {"memory": self.memory})
        if self.kind == "SVR":
            return maxmargin.SVR(epsilon=self.epsilon, **words).fit(*data)
        return maxmargin.SVC(**words).fit(*data)

    def answer(self, result: Any) -> Answer:
        """Support and coefficients, and what the certificate says."""
        certificate = result.certificate_
        words = {"gap": certificate.relative_gap, "note": f"{certificate.solver}, {certificate.status.name.lower()}"}
        return _support(result, words)


class ScikitLearn(Machine):
    """scikit-learn's SVC and SVR."""

    @staticmethod
    def classes() -> Any:
        """The module that has SVC and SVR."""
        from sklearn import svm

        return svm

    def run(self, data: Any, *, tol: float) -> Any:
        """SVC or SVR."""
        words = {"C": self.C, "gamma": "scale", "tol": tol}
        if self.memory is not None:
            words["cache_size"] = self.memory / 1e6
        if self.kind == "SVR":
            return self.classes().SVR(epsilon=self.epsilon, **words).fit(*data)
        return self.classes().SVC(**words).fit(*data)

    def answer(self, result: Any) -> Answer:
        """Support and coefficients."""
        return _support(result, {"gap": None, "note": ""})


class Intelex(ScikitLearn):
    """scikit-learn-intelex, which hands a fit to scikit-learn where its own code cannot do it."""

    @staticmethod
    def classes() -> Any:
        """Its own classes, without patching scikit-learn."""
        from sklearnex import svm

        return svm

    def answer(self, result: Any) -> Answer:
        """Support and coefficients; a fit that was handed on is named."""
        own = hasattr(result, "_onedal_estimator")
        return _support(result, {"gap": None, "note": "" if own else "handed on to scikit-learn"})


class Libsvm(Machine):
    """LIBSVM through its own Python interface; its table of index and value pairs is made outside the clock."""

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """Its own table."""
        from libsvm.svm import svm_problem

        return svm_problem(y, sparse.csr_matrix(X))

    def run(self, data: Any, *, tol: float) -> Any:
        """A model of type C_SVC (-s 0) or EPSILON_SVR (-s 3)."""
        from libsvm.svm import svm_parameter
        from libsvm.svmutil import svm_train

        words = f"-q -s {3 if self.kind == 'SVR' else 0} -t 2 -c {self.C!r} -g {self.gamma!r} -e {tol!r}"
        words += f" -p {self.epsilon!r}" if self.kind == "SVR" else ""
        words += "" if self.memory is None else f" -m {self.memory / 1e6!r}"
        return svm_train(data, svm_parameter(words))

    def answer(self, result: Any) -> Answer:
        """Support and coefficients; classes are in the order in which they first appear."""
        classes = [] if self.kind == "SVR" else result.get_labels()
        arrays = {
            "support": np.array(result.get_sv_indices(), dtype=np.int64) - 1,
            "coefficients": np.array(result.get_sv_coef()).T,
            "classes": np.array(classes, dtype=np.float64),
        }
        return Answer(arrays, {"gap": None, "note": ""})

    def queries(self, X: np.ndarray) -> Any:
        """Its own table."""
        return self.prepare(X, np.zeros(X.shape[0]))

    def predictions(self, model: Any, queries: Any) -> np.ndarray:
        """Row by row; its own loop would translate every row first."""
        from libsvm.svm import libsvm

        return np.array([libsvm.svm_predict(model, queries.x[i]) for i in range(queries.l)])


class Prediction(Contestant):
    """Predictions by a machine that was trained, outside the clock, on the first rows; the others are its queries."""

    def __init__(self, machine: Machine, trained_on: int):
        self.machine, self.trained_on = machine, trained_on

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """A model and queries."""
        count = min(self.trained_on, len(y) // 2)
        model = self.machine.run(self.machine.prepare(X[:count], y[:count]), tol=1e-3)
        return model, self.machine.queries(X[count:])

    def run(self, data: Any, **request: Any) -> Any:
        """Labels, and the model that gave them."""
        model, queries = data
        return self.machine.predictions(model, queries), model

    def answer(self, result: Any) -> Answer:
        """Labels, and how many support vectors they came from."""
        labels, model = result
        count = len(self.machine.answer(model).arrays["support"])
        return Answer({"labels": np.asarray(labels, dtype=np.float64)}, {"n_support": count})


class Search(Contestant):
    """A 5-fold search over C and gamma; without a last fit of the best."""

    first = MappingProxyType({"C": [1.0], "gamma": [0.1], "folds": 2})

    def answer(self, result: Any) -> Answer:
        """Mean score of every pair, gamma running fastest, and the pair with the largest."""
        scores, best = result
        return Answer({"scores": np.asarray(scores, dtype=np.float64)}, {"best": best})


class OurSearch(Search):
    """Ourselves."""

    def run(self, data: Any, *, C: list[float], gamma: list[float], folds: int) -> Any:
        """`evaluate.grid`."""
        import maxmargin
        from maxmargin import evaluate

        if not hasattr(evaluate, "grid"):
            raise NotImplementedError("maxmargin.evaluate.grid is not there yet: nothing to measure")
        found = evaluate.grid(maxmargin.SVC(), *data, C=C, gamma=gamma, cv=folds)
        scores = np.asarray(found.scores, dtype=np.float64)
        if scores.size != len(C) * len(gamma):  # one a fold, too
            scores = scores.reshape(len(C) * len(gamma), folds).mean(axis=1)
        return scores.ravel(), {name: float(found.best_params[name]) for name in ("C", "gamma")}


class GridSearch(Search):
    """scikit-learn's GridSearchCV on two processes."""

    def run(self, data: Any, *, C: list[float], gamma: list[float], folds: int) -> Any:
        """GridSearchCV."""
        from sklearn.model_selection import GridSearchCV
        from sklearn.svm import SVC

        found = GridSearchCV(SVC(), {"C": C, "gamma": gamma}, cv=folds, n_jobs=2, refit=False).fit(*data)
        return found.cv_results_["mean_test_score"], found.best_params_


def _support(model: Any, words: dict[str, Any]) -> Answer:
    """What a model with scikit-learn's attributes holds."""
    coefficients = model.dual_coef_
    arrays = {
        "support": np.asarray(model.support_, dtype=np.int64),
        "coefficients": coefficients.toarray() if sparse.issparse(coefficients) else np.asarray(coefficients),
        "classes": np.asarray(getattr(model, "classes_", []), dtype=np.float64),
    }
    return Answer(arrays, words)


LIBRARIES: dict[str, type[Machine]] = {
    "maxmargin": MaxMargin,
    "scikit-learn-intelex": Intelex,
    "scikit-learn": ScikitLearn,
    "LIBSVM": Libsvm,
}
SEARCHES: dict[str, type[Search]] = {"maxmargin": OurSearch, "scikit-learn": GridSearch}


def _make(task: Mapping[str, Any]) -> Contestant:
    if task["job"] == "search":
        return SEARCHES[task["library"]]()
    machine = LIBRARIES[task["library"]](task)
    return Prediction(machine, task["trained_on"]) if task["job"] == "predict" else machine


if __name__ == "__main__":
    serve(_make)
