"""The table of problems that every solver must solve, hard cases included, with the kept answers of the reference.

`python -m tests.problem_table` solves the whole table with the reference solver, both forms where there are two, and
writes `answers.json` anew. A test compares solvers with what is kept.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin.kernels import Gaussian, Kernel, Laplacian, Linear, Polynomial
from maxmargin.losses import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Loss,
    MarginLoss,
    Pinball,
    Squared,
    SquaredEpsilonInsensitive,
    SquaredHinge,
)
from maxmargin.problems import Intercept, Pair, Problem, Regression, Specification

ANSWERS = Path(__file__).with_name("answers.json")


@dataclass(frozen=True)
class Case:
    """One problem: data, specification and weights."""

    name: str
    X: Any
    y: np.ndarray
    specification: Specification
    sample_weight: np.ndarray | None = None

    @property
    def problem(self) -> Problem:
        return self.specification.problem(self.X, self.y, self.sample_weight)[0]

    @property
    def optimum(self) -> float:
        return _answers()[self.name]["optimum"]

    def __str__(self) -> str:
        return self.name


def _answers() -> dict[str, dict[str, float]]:
    return json.loads(ANSWERS.read_text())


def _blobs(n: int, d: int, distance: float, seed: int = 0, positive: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < max(1, round(positive * n)), 1.0, -1.0)
    X = rng.normal(size=(n, d)) + np.outer(y, np.full(d, 0.5 * distance / np.sqrt(d)))
    return X, y


def _data() -> dict[str, tuple[Any, np.ndarray]]:
    """Two-class data, easy and hard."""
    X, y = _blobs(60, 4, 1.5)
    rng = np.random.default_rng(1)
    tall, y_tall = _blobs(600, 3, 1.0, seed=2)
    wide, y_wide = _blobs(30, 80, 2.0, seed=3)
    rare, y_rare = _blobs(1001, 3, 2.0, seed=4, positive=1 / 1001)
    scarce = np.where(rng.random((80, 40)) < 0.1, rng.normal(size=(80, 40)), 0.0)
    far, y_far = _blobs(40, 3, 8.0, seed=5)
    return {
        "overlapping": (X, y),
        "separable": (far, y_far),
        "duplicated rows": (np.repeat(X[:20], 3, axis=0), np.repeat(y[[0, 40] * 10], 3)),
        "contradicting rows": (np.vstack([X, X]), np.concatenate([y, -y])),
        "constant and zero columns": (np.column_stack([X, np.full(60, 3.0), np.zeros(60)]), y),
        "zero rows": (np.vstack([X, np.zeros((5, 4))]), np.concatenate([y, [1.0, -1.0, 1.0, -1.0, 1.0]])),
        "scales 1e-6 to 1e6": (X * np.array([1e-6, 1e-2, 1e2, 1e6]), y),
        "tiny scale": (X * 1e-6, y),
        "huge scale": (X * 1e6, y),
        "far from the origin": (X + 1e3, y),
        "one row a class": (X[[0, 59]], y[[0, 59]]),
        "1 to 1000": (rare, y_rare),
        "n < d": (wide, y_wide),
        "n >> d": (tall, y_tall),
        "sparse": (sparse.csr_matrix(scarce), np.where(rng.random(80) < 0.5, 1.0, -1.0)),
        "sparse int64": (_long_indices(sparse.csr_matrix(scarce)), np.where(np.arange(80) % 2 == 0, 1.0, -1.0)),
        "float32": (X.astype(np.float32), y),
        "Fortran order": (np.asfortranarray(X), y),
    }


def _long_indices(X: sparse.csr_matrix) -> sparse.csr_matrix:
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def _case(
    data: str,
    loss: Loss,
    C: float,
    intercept: Intercept = Intercept.FREE,
    kernel: Kernel | None = None,
    weighted: bool = False,
) -> Case:
    X, y = _data()[data]
    if isinstance(loss, MarginLoss):
        task: Any = Pair(-1.0, 1.0)
    else:
        task = Regression()
        rows = np.arange(len(y))
        y = 10.0 * np.sin(rows) + y
    weight = np.arange(len(y)) % 3 * 0.7 if weighted else None  # weights 0, 0.7, 1.4
    tail = ", weights with zeros" if weighted else ""
    name = f"{data}, {loss.name}, C={C:g}, {intercept.words}, {kernel or 'linear'}{tail}"
    return Case(name, X, y, Specification(task, loss, C, intercept, kernel), weight)


def _table() -> list[Case]:
    hinge, squared_hinge, tube = Hinge(), SquaredHinge(), EpsilonInsensitive(0.5)
    gaussian = Gaussian(gamma=0.3)
    cases = [_case(data, hinge, 1.0) for data in _data()]
    cases += [_case(data, squared_hinge, 1.0) for data in ("duplicated rows", "n < d", "n >> d", "sparse", "float32")]
    cases += [_case("overlapping", loss, C) for loss in (hinge, squared_hinge) for C in (1e-4, 1e-2, 1e2, 1e6)]
    cases += [_case("separable", hinge, C) for C in (1e-4, 1e6)]
    cases += [_case("scales 1e-6 to 1e6", hinge, C) for C in (1e-4, 1e2)]
    for intercept in (Intercept.AUGMENTED, Intercept.NONE):
        cases += [_case(data, hinge, 1.0, intercept) for data in ("overlapping", "zero rows", "n < d", "sparse")]
        cases += [_case("overlapping", loss, 1.0, intercept) for loss in (squared_hinge, tube)]
    cases += [
        _case(data, hinge, C, kernel=gaussian)
        for data in ("overlapping", "duplicated rows", "contradicting rows", "1 to 1000", "sparse", "float32")
        for C in (1e-4, 1.0, 1e6)
        if not (data == "1 to 1000" and C != 1.0)
    ]
    cases += [_case("overlapping", hinge, 1.0, kernel=k) for k in (Linear(), Polynomial(3, 0.5, 1.0), Laplacian(0.2))]
    cases += [_case("overlapping", hinge, 10.0, Intercept.AUGMENTED, kernel=gaussian)]
    for loss in (tube, SquaredEpsilonInsensitive(0.5), Absolute(), Squared(), Pinball(0.8)):
        cases += [_case("overlapping", loss, C) for C in (1e-2, 1.0)]
        cases += [_case("overlapping", loss, C, kernel=gaussian) for C in (1e-2, 1.0, 1e2)]
    cases += [_case("duplicated rows", tube, 1.0), _case("n < d", tube, 1.0), _case("n >> d", tube, 1.0)]
    cases += [_case("overlapping", loss, 1.0, weighted=True) for loss in (hinge, squared_hinge, tube)]
    cases += [_case("overlapping", hinge, 1.0, kernel=gaussian, weighted=True)]
    return cases


PROBLEMS = _table()


def main() -> None:
    """Solve the table with every form of the reference and keep the best answers."""
    from maxmargin.certificates import assess
    from maxmargin.solvers import QP
    from maxmargin.solvers.reference.qp_forms import has_primal_form

    kept = {}
    for case in PROBLEMS:
        problem = case.problem
        forms = ["auto", "dual", "primal"] if has_primal_form(problem) else ["auto"]
        seen = []
        for form in forms:
            solution = QP(form=form).solve(problem)
            seen.append(assess(problem, solution.alpha, solution.weights, solution.bias))
        best = min(seen, key=lambda one: one.gap)
        kept[case.name] = {"optimum": best.primal, "gap": best.gap, "rounding": best.rounding}
        gaps = "  ".join(f"{form} {one.gap / abs(one.primal):9.1e}" for form, one in zip(forms, seen, strict=True))
        print(f"{best.primal:14.7g}  {gaps}  rounding {best.rounding / abs(best.primal):8.1e}  {case.name}")
    ANSWERS.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
