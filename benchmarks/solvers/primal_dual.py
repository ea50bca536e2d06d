"""Lecture L4's table "Primal versus Dual Formulation", with figures in place of its formulas.

N rows of D features, mapped to F features by phi; s support vectors.

                       primal                         dual
    parameters         F                              N
    model size         F                              s D
    training time      c N F for c iterations         between N D and N^2 D
    inference time     F                              s D

Twice the same machine, with the same optimum: the hinge and a free intercept on phi(x), all monomials up to degree 2,
F = (D + 1)(D + 2) / 2 of them. The primal side writes phi(x) down and moves the F weights (`LinearSVC`, "multipliers");
the dual side uses the kernel (<x, z> / D + 1)^2 that phi has and moves the N multipliers (`SVC`, "blocks"). Writing
phi(x) down is part of the primal side's time, in training and in inference.

Without phi, F = D, the two sides are Newton's method on w and coordinate descent on alpha, for the squared hinge.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.common.report import Sheet
from benchmarks.solvers.clock import climb
from maxmargin import SVC, LinearSVC
from maxmargin.features import Monomials

LEVEL = 1e-3
ROWS = (500, 4_000, 16_000)
FEATURES = (5, 20, 80)
GRID_ROWS = (200, 2_000, 20_000)
GRID_FEATURES = (20, 200, 2_000)
PREDICTED = 2_000
NOISE = 0.05
MANY_PASSES = 100_000_000

Say = Callable[[str], None]


def made(n: int, d: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows of independent normal numbers; classes on the two sides of a planted quadric, one label in twenty wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    planted = rng.standard_normal((d, d))
    values = np.einsum("ij,ij->i", X @ planted, X) / d + X @ rng.standard_normal(d) / np.sqrt(d)
    return X, (values > np.median(values)) != (rng.random(n) < NOISE)


@dataclass(frozen=True)
class Side:
    """One formulation: what its model holds, and how long it takes."""

    model_size: int
    training: float | None
    inference: float
    primal: float


def _inference(scores: Callable[[np.ndarray], Any], X: np.ndarray) -> float:
    """Seconds a row, the best of three."""
    seconds = []
    for _ in range(3):
        begun = time.perf_counter()
        scores(X)
        seconds.append(time.perf_counter() - begun)
    return min(seconds) / len(X)


def primal_side(X: np.ndarray, y: np.ndarray, new: np.ndarray, limit: float) -> Side:
    """The F weights of the features that are written down."""
    features = Monomials(2, gamma=1.0 / X.shape[1], coef0=1.0)
    begun = time.perf_counter()
    F = features(X)
    expanding = time.perf_counter() - begun
    models: list[LinearSVC] = []

    def make(tol: float) -> LinearSVC:
        models.append(LinearSVC(loss="hinge", solver="multipliers", tol=tol, max_seconds=limit))
        return models[-1]

    found = climb(make, F, y, (LEVEL,))
    seconds = found.seconds.get(LEVEL)
    return Side(
        model_size=models[0].coef_.size,
        training=None if seconds is None else expanding + seconds,
        inference=_inference(lambda rows: models[0].decision_function(features(rows)), new),
        primal=models[0].certificate_.primal,
    )


def dual_side(X: np.ndarray, y: np.ndarray, new: np.ndarray, limit: float) -> tuple[Side, int]:
    """The N multipliers of the kernel, and how many support vectors are left of them."""
    models: list[SVC] = []

    def make(tol: float) -> SVC:
        kernel = {"kernel": "poly", "degree": 2, "gamma": 1.0 / X.shape[1], "coef0": 1.0}
        models.append(SVC(**kernel, solver="blocks", tol=tol, max_seconds=limit))
        return models[-1]

    found = climb(make, X, y, (LEVEL,))
    model = models[0]
    size = model.support_vectors_.size
    seconds = _inference(model.decision_function, new)
    return Side(size, found.seconds.get(LEVEL), seconds, model.certificate_.primal), len(model.support_)


def lecture_table(say: Say, limit: float, most_rows: int | None = None) -> Sheet:
    """Each cell of L4's table for several N and D: primal / dual."""
    columns = ("case", "F", "s", "parameters", "model size", "training s", "inference us a row", "P differs by")
    sheet = Sheet("Primal against dual", columns)
    for n in (n for n in ROWS if most_rows is None or n <= most_rows):
        for d in FEATURES:
            say(f"primal against dual: N = {n:,}, D = {d}")
            X, y = made(n + PREDICTED, d)
            primal = primal_side(X[:n], y[:n], X[n:], limit)
            dual, support = dual_side(X[:n], y[:n], X[n:], limit)
            F = (d + 1) * (d + 2) // 2
            both = primal.training is not None and dual.training is not None
            sheet.rows.append(
                (
                    f"N = {n:,}, D = {d}",
                    f"{F:,}",
                    f"{support:,}",
                    f"{F:,} / {n:,}",
                    f"{primal.model_size:,} / {dual.model_size:,}",
                    f"{seconds_or_no(primal.training)} / {seconds_or_no(dual.training)}",
                    f"{two_digits(1e6 * primal.inference)} / {two_digits(1e6 * dual.inference)}",
                    f"{abs(primal.primal - dual.primal) / primal.primal:.0e}" if both else "",
                )
            )
    sheet.notes += [
        "each cell: primal / dual; phi(x) has the monomials up to degree 2, F of them",
        f"training to a relative gap of {LEVEL:g}; 'no': not in {limit:g} s beside the time for writing phi(x) down",
        "model size in numbers: weights, or values of support vectors",
        f"inference on {PREDICTED:,} new rows at once",
    ]
    return sheet


def linear_grid(say: Say, limit: float, most_rows: int | None = None) -> Sheet:
    """Newton's method on w against coordinate descent on alpha, where F = D."""
    sheet = Sheet("Newton against dual descent", ("case", *(f"D = {d:,}" for d in GRID_FEATURES)))
    for n in (n for n in GRID_ROWS if most_rows is None or n <= most_rows):
        cells = []
        for d in GRID_FEATURES:
            say(f"newton against dcd: N = {n:,}, D = {d:,}")
            X, y = made(n, d)
            pair = (_linear_seconds(solver, X, y, limit) for solver in ("newton", "dcd"))
            cells.append(" / ".join(seconds_or_no(seconds) for seconds in pair))
        sheet.rows.append((f"N = {n:,}", *cells))
    sheet.notes += [
        "each cell: seconds of newton / dcd; phi(x) = x, so that F = D",
        f"squared hinge, C = 1, free intercept, to a relative gap of {LEVEL:g}; 'no': not in {limit:g} s",
    ]
    return sheet


def _linear_seconds(solver: str, X: np.ndarray, y: np.ndarray, limit: float) -> float | None:
    passes = MANY_PASSES if solver == "dcd" else None
    found = climb(lambda tol: LinearSVC(solver=solver, tol=tol, max_seconds=limit, max_iter=passes), X, y, (LEVEL,))
    return found.seconds.get(LEVEL)


def seconds_or_no(seconds: float | None) -> str:
    """A time of a table."""
    return "no" if seconds is None else two_digits(seconds)


def two_digits(number: float) -> str:
    """Two digits that mean something, and no exponent for large numbers."""
    return f"{number:.2g}" if number < 10.0 else f"{number:,.0f}"
