"""Data sets of the races of kernel machines, and the cases they are raced in.

synthetic-10k, -30k    two classes on the corners of a cube, correlated and idle columns, 1 % of the labels wrong
a9a, a9a-sparse        the same 32,561 rows, given dense and given as CSR
mnist                  first 20,000 digits, bytes divided by 255, ten classes
covtype                class 2 against the rest, columns of mean 0 and variance 1, rows of a fixed permutation
cadata                 house prices; columns and targets of mean 0 and variance 1, epsilon 0.1
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris

from benchmarks.common import data
from benchmarks.common.data import DataSet, Recipe, keep, load, shared_file

EPSILON = 0.1
COVTYPE_ROWS = 80_000
SEARCH_ROWS = 5_000
TRAINED_ON, PREDICTED = 5_000, 100_000


@dataclass(frozen=True)
class Case:
    """A data set, how many of its rows are used (None: all) and the machine that is trained on them."""

    name: str
    data: str
    rows: int | None = None
    machine: str = "SVC"

    def load(self) -> DataSet:
        """All rows of the data set."""
        return load(self.data, RECIPES)


def _synthetic(n_rows: int, n_features: int) -> Recipe:
    """Half of the columns place a row near a corner of a cube, a quarter combine these, the rest are noise."""

    def make(folder: Path) -> None:
        rng = np.random.default_rng(0)
        informative, combined, corners = n_features // 2, n_features // 4, 16
        corner = rng.integers(0, corners, n_rows)
        centres = rng.choice([-1.0, 1.0], (corners, informative))
        X = rng.standard_normal((n_rows, n_features))
        for number in range(corners):
            rows = np.flatnonzero(corner == number)
            shape = rng.uniform(-2.0, 2.0, (informative, informative)) / np.sqrt(informative / 3.0)
            X[rows, :informative] = X[rows, :informative] @ shape + centres[number]
        mixing = rng.uniform(-1.0, 1.0, (informative, combined))
        X[:, informative : informative + combined] = X[:, :informative] @ mixing / np.sqrt(informative / 3.0)
        wrong = rng.random(n_rows) < 0.01
        keep(folder, X[:, rng.permutation(n_features)], (corner % 2 == 0) != wrong)

    return make


def _dense_a9a(folder: Path) -> None:
    stored = load("a9a")
    keep(folder, stored.X.toarray(), stored.y)


def _mnist(folder: Path) -> None:
    with np.load(shared_file("mnist.npz")) as stored:
        keep(folder, stored["X"][:20_000].reshape(20_000, -1) / 255.0, stored["y"][:20_000])


def _covtype_rows(count: int) -> np.ndarray:
    return np.random.default_rng(0).permutation(581_012)[:count]


def _covtype(folder: Path) -> None:
    stored, rows = load("covtype"), _covtype_rows(COVTYPE_ROWS)
    keep(folder, stored.X[rows], stored.y[rows])


def _covtype_classes(folder: Path) -> None:
    """Seven classes, for the search."""
    rows = _covtype_rows(SEARCH_ROWS)
    with np.load(shared_file("covtype.npz")) as stored:
        keep(folder, load("covtype").X[rows], stored["y"][rows])


def _cadata(folder: Path) -> None:
    with np.load(shared_file("cadata.npz")) as stored:
        X, y = stored["X"].astype(np.float64), stored["y"].astype(np.float64)
    keep(folder, (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std())


def _prediction(folder: Path) -> None:
    """Labels that have nothing to do with the rows: at a small C every row is a support vector, at its bound."""
    rng = np.random.default_rng(0)
    n_rows = TRAINED_ON + PREDICTED
    keep(folder, rng.standard_normal((n_rows, 50)), np.arange(n_rows) % 2 == 0)


def _small(read: Callable[..., tuple[np.ndarray, np.ndarray]]) -> Recipe:
    def make(folder: Path) -> None:
        keep(folder, *read(return_X_y=True))

    return make


RECIPES: dict[str, Recipe] = {
    "synthetic-10k": _synthetic(10_000, 50),
    "synthetic-30k": _synthetic(30_000, 100),
    "a9a": data.RECIPES["a9a"],
    "a9a-dense": _dense_a9a,
    "mnist-20k": _mnist,
    "covtype-80k": _covtype,
    "covtype-classes": _covtype_classes,
    "cadata": _cadata,
    "prediction": _prediction,
    "iris": _small(load_iris),
    "breast-cancer": _small(load_breast_cancer),
}
RACES = {
    case.name: case
    for case in (
        Case("synthetic-10k", "synthetic-10k"),
        Case("synthetic-30k", "synthetic-30k"),
        Case("a9a", "a9a-dense"),
        Case("a9a-sparse", "a9a"),
        Case("mnist", "mnist-20k"),
        Case("covtype", "covtype-80k", 50_000),
        Case("cadata", "cadata", machine="SVR"),
    )
}
