"""Whether the fits of a cross-validation get shorter when they begin at the answer on all rows.

Each model is first fitted to all rows. Then every fold is solved twice: from nothing, and from the multipliers, weights
and intercept of that answer, of which the rows held out are dropped. What is counted is not time: steps of a pair for
kernel machines, passes over the rows for the others. The share is (all rows + folds begun there) / folds from nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from sklearn.base import is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.preprocessing import scale

from benchmarks.common.report import Sheet, machine, write
from maxmargin import SVC, SVR, LinearSVC, LogisticRegression
from maxmargin.evaluate import k_fold
from maxmargin.problems import History, Solution, Status

FOLDS = (5, 10)


class Case(NamedTuple):
    """Rows, labels, and the machine that is cross-validated."""

    name: str
    X: np.ndarray
    y: np.ndarray
    model: Any


class Counts(NamedTuple):
    """Steps or passes: on all rows, on all folds from nothing, on all folds from there."""

    whole: float
    cold: float
    warm: float

    @property
    def share(self) -> float:
        """What beginning there costs in all, of what it costs to begin from nothing."""
        return (self.whole + self.warm) / self.cold


def cases() -> list[Case]:
    cancer, digits = load_breast_cancer(return_X_y=True), load_digits(return_X_y=True)
    diabetes = load_diabetes(return_X_y=True)
    synthetic = make_classification(3000, 40, n_informative=10, flip_y=0.1, random_state=0)
    data = {
        "breast cancer": (scale(cancer[0]), cancer[1]),
        "digits": (digits[0] / 16.0, digits[1]),
        "synthetic, 3,000 x 40": (scale(synthetic[0]), synthetic[1]),
    }
    models = {
        "SVC, C = 1": SVC(gamma=0.03),
        "SVC, C = 100": SVC(gamma=0.03, C=100.0),
        "LinearSVC": LinearSVC(),
        "LinearSVC, hinge": LinearSVC(loss="hinge"),
        "LogisticRegression": LogisticRegression(),
    }
    found = [Case(f"{rows}: {name}", *data[rows], model) for rows in data for name, model in models.items()]
    return [*found, Case("diabetes: SVR", scale(diabetes[0]), scale(diabetes[1]), SVR(gamma=0.03))]


def count(case: Case, n_folds: int) -> Counts:
    """Solve every sub-problem of every fold twice."""
    X, y = case.X, case.y
    model = case.model.fit(X, y)
    certificate = model.certificate_
    solver = model._settings(certificate.solver)
    whole = cold = warm = 0.0
    for part in certificate.parts or (certificate,):
        specification, point = part.claim.specification, part.claim.point
        problem, _ = specification.problem(X, y, None)
        whole += solver.solve(problem).passes
        coefficients = point.everywhere(len(y))
        for train, _ in k_fold(n_folds, stratify=is_classifier(model)).split(X, y):
            problem, rows = specification.problem(X[train], y[train], None)
            beta = coefficients[train if rows is None else train[rows]]
            start = Solution(
                alpha=problem.loss.multipliers(beta, problem.targets),
                weights=None if point.weights is None else np.array(point.weights),
                bias=np.array(point.bias) if np.size(point.bias) > 1 else np.asarray(point.bias).item(),
                status=Status.BUDGET,
                history=History(),
                solver=certificate.solver,
                passes=0.0,
                seconds=0.0,
            )
            cold += solver.solve(problem).passes
            warm += solver.solve(problem, start).passes
    return Counts(whole, cold, warm)


def main(arguments: Sequence[str] = ()) -> None:
    """Count, print, and write the sheet."""
    if arguments:
        sys.exit("fold_starts takes no arguments")
    console = Console(width=150)
    columns = ("case", "solver", "folds", "all rows", "folds from nothing", "folds from there", "share")
    sheet = Sheet("Folds begun at the answer on all rows", columns)
    for case in cases():
        for n_folds in FOLDS:
            with console.status(f"{case.name}, {n_folds} folds"):
                found = count(case, n_folds)
            counts = [f"{value:,.0f}" for value in found]
            sheet.rows.append((case.name, case.model.certificate_.solver, str(n_folds), *counts, f"{found.share:.2f}"))
    sheet.notes.append("a share above 1 means that beginning there costs more than it saves")
    console.print(sheet.for_terminal())
    console.print(write("fold_starts", "Starts of folds", __doc__, machine(), [], [sheet]))


if __name__ == "__main__":
    main(sys.argv[1:])
