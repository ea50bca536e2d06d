"""Exact leave-one-out against n refits, on breast cancer and on 5,000 rows of a9a.

Leaving out is run whole, three times. Of the refits a few are timed, for rows spread evenly over the data; their median
times n stands for all of them. The labels that these refits give to their rows are compared with those that leaving
out gave.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from benchmarks.common.data import load
from benchmarks.common.report import Sheet, machine, write
from maxmargin import SVC
from maxmargin.evaluate import cross_validate, leave_one_out

REFITS = 20
REPEATS = 3
ROWS = 5000


@dataclass(frozen=True)
class Case:
    """Rows, labels, and the machine that is left out of."""

    name: str
    X: Any
    y: np.ndarray
    model: SVC


@dataclass(frozen=True)
class Figures:
    """Seconds of leaving out and of refits, and whether they agree."""

    n_rows: int
    support_rows: int
    leaving_out: float
    refits: list[float]
    same_labels: int
    accuracy: float

    @property
    def all_refits(self) -> float:
        """Seconds that n refits would take, from the median of those that were made."""
        return float(np.median(self.refits)) * self.n_rows


def cases(n_rows: int) -> list[Case]:
    X, y = load_breast_cancer(return_X_y=True)
    adult = load("a9a")
    return [
        Case("breast cancer", StandardScaler().fit_transform(X), y, SVC(gamma=1.0 / X.shape[1])),
        Case("a9a", adult.X[:n_rows], np.asarray(adult.y[:n_rows]), SVC(gamma=1.0 / adult.X.shape[1])),
    ]


def measure(case: Case, n_refits: int) -> Figures:
    """Leave every row out, then refit without some of them; loops are compiled before the clock runs."""
    few = np.linspace(0, len(case.y) - 1, 60).astype(int)
    cross_validate(case.model, case.X[few], case.y[few], cv=leave_one_out())
    runs = [cross_validate(case.model, case.X, case.y, cv=leave_one_out()) for _ in range(REPEATS)]
    found, leaving_out = runs[0], float(np.median([run.seconds for run in runs]))
    support_rows = len(case.model.fit(case.X, case.y).support_)
    refits, same = [], 0
    for row in np.linspace(0, len(case.y) - 1, n_refits).astype(int):
        others = np.delete(np.arange(len(case.y)), row)
        rows, labels = case.X[others], case.y[others]
        begun = time.perf_counter()
        label = case.model.fit(rows, labels).predict(case.X[row : row + 1])[0]
        refits.append(time.perf_counter() - begun)
        same += int(label == found.predictions[row])
    return Figures(len(case.y), support_rows, leaving_out, refits, same, found.mean)


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print, and write the sheet."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks evaluation", description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS, help="rows of a9a")
    parser.add_argument("--refits", type=int, default=REFITS, help="refits that are timed")
    options = parser.parse_args(arguments)
    console = Console(width=150)
    columns = (
        "case",
        "rows",
        "support rows",
        "leaving out, s",
        "one refit, s",
        "n refits, s",
        "ratio",
        "same",
        "accuracy",
    )
    sheet = Sheet("Leave-one-out: short solves against n refits", columns)
    for case in cases(options.rows):
        with console.status(case.name):
            found = measure(case, options.refits)
        sheet.rows.append(
            (
                case.name,
                f"{found.n_rows:,}",
                f"{found.support_rows:,}",
                f"{found.leaving_out:.3g}",
                f"{np.median(found.refits):.3g}",
                f"{found.all_refits:.3g}",
                f"{found.all_refits / found.leaving_out:.3g}",
                f"{found.same_labels} of {len(found.refits)}",
                f"{found.accuracy:.4f}",
            )
        )
    sheet.notes.append(f"n refits are extrapolated: the median of {options.refits} refits, times n")
    sheet.notes.append("SVC(), Gaussian kernel, gamma = 1 / number of columns, C = 1, tol = 1e-3")
    sheet.notes.append(
        "a refit ends with its certificate and the prediction of the row; same: labels that both ways agree on"
    )
    console.print(sheet.for_terminal())
    console.print(write("evaluation", "Evaluation", __doc__, machine(), [], [sheet]))


if __name__ == "__main__":
    main(sys.argv[1:])
