"""Libraries that have naive Bayes, each in a process of its own (`common/worker.py`); both use the same class names."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from benchmarks.common.worker import Answer, Contestant, serve

MODULES = {"maxmargin": "maxmargin", "scikit-learn": "sklearn.naive_bayes"}
COMPARED = 1000
"""Rows of which the logarithms of the joint probabilities are compared."""
FIRST = MappingProxyType({"job": "both"})


class NaiveBayes(Contestant):
    """A library, set to one of its estimators with the parameters they share."""

    first = FIRST

    def __init__(self, task: Mapping[str, Any]):
        self.model = getattr(importlib.import_module(MODULES[task["library"]]), task["estimator"])()

    def run(self, data: Any, *, job: str) -> Any:
        """Fit, predict with the model of the last fit, or both."""
        X, y = data
        if job != "predict":
            self.model.fit(X, y)
        return (X, None if job == "fit" else self.model.predict(X))

    def answer(self, result: Any) -> Answer:
        """Logarithms of joint probabilities of some rows, and the labels, where there are any."""
        X, labels = result
        arrays = {"log_joint": self.model.predict_joint_log_proba(X[:COMPARED])}
        return Answer(arrays if labels is None else arrays | {"labels": np.asarray(labels)}, {})


if __name__ == "__main__":
    serve(NaiveBayes)
