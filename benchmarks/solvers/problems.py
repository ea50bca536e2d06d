"""The problems that the solvers are compared on, chosen so that the answer differs from one to the next.

Columns of mean 0 and variance 1 where rows are dense, rows of length 1 where they are texts, as users are told to
prepare them; digits are bytes divided by 255.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.common.data import load
from benchmarks.kernel.data import RECIPES as KERNEL_RECIPES
from maxmargin import SVC, SVR, LinearSVC, LinearSVR, LogisticRegression

Rows = tuple[Any, np.ndarray]
_LOSSES = {LogisticRegression: "logistic", LinearSVR: "tube", SVC: "hinge", SVR: "tube"}
"""Losses of machines that have one, or whose loss has a longer name."""

VISITING = ("pegasos", "asgd", "subgradient")
HINGE = ("auto", "dcd", "multipliers", "pairs", "implicit", *VISITING)
SQUARED_HINGE = ("auto", "dcd", "newton", "pairs", *VISITING)
LOGISTIC = ("auto", "dcd", "newton", *VISITING)
TUBE = ("auto", "dcd", "multipliers", *VISITING)
KERNEL_TUBE = ("auto", "blocks", "smo", "osuna", "dcd")
KERNEL = (*KERNEL_TUBE, "smo-simple")

_OWN_LIMITS = ("pegasos", "asgd", "implicit", "subgradient", "pairs", "dcd", "smo-simple")
"""Solvers that end after a number of passes unless told otherwise: here the time limit is to end them."""
_MANY_PASSES = 100_000_000


@dataclass(frozen=True)
class Case:
    """Data, the machine that is trained on them, and the solvers that take part."""

    data: str
    read: Callable[[], Rows]
    machine: type[Any]
    parameters: Mapping[str, Any]
    solvers: tuple[str, ...]

    def model(self, solver: str, tol: float, limit: float) -> Any:
        """The machine with that solver; dual descent on kernels needs a penalised intercept."""
        settings: dict[str, Any] = {**self.parameters, "solver": solver, "tol": tol, "max_seconds": limit}
        if solver in _OWN_LIMITS:
            settings["max_iter"] = _MANY_PASSES
        if self.has_other_problem(solver):
            settings["intercept"] = "augmented"
        return self.machine(**settings)

    def has_other_problem(self, solver: str) -> bool:
        """Whether the solver cannot have the free intercept that the others have."""
        return solver == "dcd" and self.machine in (SVC, SVR)

    @property
    def name(self) -> str:
        """Data, loss and cost."""
        return f"{self.data}, {_LOSSES.get(self.machine) or self.parameters['loss']}, C = {self.parameters['C']:g}"


def _kept(name: str, rows: int | None = None, *, kernel: bool = False) -> Callable[[], Rows]:
    """Rows of a set of the other races, in memory; rows of a fixed permutation where they are not all taken."""

    def read() -> Rows:
        data = load(name, KERNEL_RECIPES if kernel else None)
        count = len(data.y) if rows is None else rows
        chosen = np.sort(np.random.default_rng(0).permutation(len(data.y))[:count])
        return data.X[chosen], np.asarray(data.y)[chosen]

    return read


def _breast_cancer() -> Rows:
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def _digits() -> Rows:
    """Even digits against odd ones, about as many rows as features."""
    X, y = _kept("mnist-20k", 800, kernel=True)()
    return X, y % 2


def linear_cases() -> list[Case]:
    """Many rows, many features, as many of both, few of both; small and large C."""
    covtype, reuters = _kept("covtype", 100_000), _kept("reuters")
    rcv1, cadata = _kept("rcv1-small"), _kept("cadata", kernel=True)
    return [
        Case("covtype", covtype, LinearSVC, {"loss": "hinge", "C": 1.0}, HINGE),
        Case("covtype", covtype, LinearSVC, {"loss": "squared_hinge", "C": 1.0}, SQUARED_HINGE),
        Case("covtype", covtype, LogisticRegression, {"C": 1.0}, LOGISTIC),
        Case("reuters", reuters, LinearSVC, {"loss": "hinge", "C": 0.01}, HINGE),
        Case("reuters", reuters, LinearSVC, {"loss": "hinge", "C": 1.0}, HINGE),
        Case("reuters", reuters, LinearSVC, {"loss": "hinge", "C": 100.0}, HINGE),
        Case("20 newsgroups", _kept("news20-unigrams"), LinearSVC, {"loss": "squared_hinge", "C": 1.0}, SQUARED_HINGE),
        Case("rcv1", rcv1, LinearSVC, {"loss": "hinge", "C": 1.0}, (*HINGE, "qp")),
        Case("digits", _digits, LinearSVC, {"loss": "hinge", "C": 1.0}, (*HINGE, "qp")),
        Case("breast cancer", _breast_cancer, LinearSVC, {"loss": "hinge", "C": 1.0}, (*HINGE, "qp")),
        Case("house prices", cadata, LinearSVR, {"epsilon": 0.1, "C": 1.0}, TUBE),
    ]


def kernel_cases() -> list[Case]:
    """The Gaussian kernel of scale width on few rows and on more."""
    prices = _kept("cadata", 5_000, kernel=True)
    return [
        Case("breast cancer", _breast_cancer, SVC, {"C": 1.0}, (*KERNEL, "qp")),
        Case("a9a 2,000", _kept("a9a", 2_000), SVC, {"C": 1.0}, KERNEL),
        Case("a9a 2,000", _kept("a9a", 2_000), SVC, {"C": 100.0}, KERNEL),
        Case("a9a 10,000", _kept("a9a", 10_000), SVC, {"C": 1.0}, KERNEL),
        Case("house prices", prices, SVR, {"epsilon": 0.1, "C": 1.0}, KERNEL_TUBE),
    ]
