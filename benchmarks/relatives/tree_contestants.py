"""Libraries that grow decision trees, each in a process of its own (`common/worker.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from benchmarks.common.worker import Answer, Contestant, serve


def _ours(options: Mapping[str, Any]) -> Any:
    from maxmargin import DecisionTreeClassifier

    return DecisionTreeClassifier(**options)


def _scikit_learn(options: Mapping[str, Any]) -> Any:
    from sklearn.tree import DecisionTreeClassifier

    return DecisionTreeClassifier(random_state=0, **options)


def _intelex(options: Mapping[str, Any]) -> Any:
    """It has no tree of its own, but forests: one tree, all rows, all columns."""
    from sklearnex.ensemble import RandomForestClassifier

    return RandomForestClassifier(
        n_estimators=1, bootstrap=False, max_features=None, random_state=0, n_jobs=-1, **options
    )


LIBRARIES = {"maxmargin": _ours, "scikit-learn": _scikit_learn, "scikit-learn-intelex": _intelex}


class Tree(Contestant):
    """A library, set to a most number of leaves, or none."""

    def __init__(self, task: Mapping[str, Any]):
        self.model = LIBRARIES[task["library"]]({"max_leaf_nodes": task["max_leaf_nodes"]})

    def run(self, data: Any, **_: Any) -> Any:
        """Grow the tree."""
        X, y = data
        return self.model.fit(X, y), X, y

    def answer(self, result: Any) -> Answer:
        """Gini impurity of the leaves, recomputed from the leaves in which the training rows end; and their number."""
        model, X, y = result
        leaves = np.unique(np.ravel(model.apply(X)), return_inverse=True)[1]
        labels = np.unique(y, return_inverse=True)[1]
        counts = np.zeros((leaves.max() + 1, labels.max() + 1))
        np.add.at(counts, (leaves, labels), 1.0)
        sizes = counts.sum(axis=1)
        impurity = float(np.sum(sizes - np.sum(counts**2, axis=1) / sizes) / len(y))
        return Answer({}, {"impurity": impurity, "leaves": len(sizes)})


if __name__ == "__main__":
    serve(Tree)
