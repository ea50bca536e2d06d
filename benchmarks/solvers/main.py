"""Which solver when: seconds of every solver to three relative duality gaps, on problems of different shape.

`auto` and every solver that can do the problem are given the same time. The figure is the seconds from the call of
`fit` to the first look at which the relative gap (P - D) / |P| was at most 1e-2, 1e-3 or 1e-6: checks of the input are
in it. "no" means that the time limit, or the solver itself, ended the fit before; then "smallest gap" says how far it
came. Short fits are run three times and the best time counts; before the clock runs, each solver fits a few rows, so
that compiled code is there. The gap of a solver that looks for w alone is loose: its w may be nearer to the optimum
than it can show.

"MB over input" is the peak of the process during the fit less what it held before.

Then lecture L4's comparison of the primal with the dual, with figures (`primal_dual.py`).

    python -m benchmarks solvers [--parts linear,kernel,primal-dual] [--only covtype] [--limit 3] [--rows 500]
                                 [--write NAME]

A complete run writes `results/solvers.md`; any other run only with `--write`, into the file of that name.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.common.options import names
from benchmarks.common.report import Sheet, machine, write
from benchmarks.common.worker import MOST_CLASSES
from benchmarks.solvers.clock import LEVELS, Climb, climb
from benchmarks.solvers.primal_dual import lecture_table, linear_grid, seconds_or_no
from benchmarks.solvers.problems import Case, kernel_cases, linear_cases

PARTS = ("linear", "kernel", "primal-dual")
LIMIT = 3.0
WARM_ROWS, WARM_SECONDS = 500, 0.2
SHOWN_LEVEL = 1e-3
COLUMNS = {
    "Linear machines": ("auto", "dcd", "newton", "multipliers", "qp"),
    "Linear machines by solvers of the lectures": ("dcd", "pairs", "implicit", "pegasos", "asgd", "subgradient"),
    "Kernel machines": ("auto", "blocks", "smo", "osuna", "dcd", "smo-simple"),
}
"""Tables of the summary, and the solvers that have a column there."""


@dataclass(frozen=True)
class Found:
    """All solvers on one problem."""

    case: Case
    shape: tuple[int, int]
    is_sparse: bool
    climbs: dict[str, Climb]

    @property
    def words(self) -> str:
        """Size and layout of the rows."""
        return f"{self.shape[0]:,} x {self.shape[1]:,} {'sparse' if self.is_sparse else 'dense'}"


def measure(case: Case, X: Any, y: np.ndarray, limit: float, console: Console | None = None) -> Found:
    """Every solver of the case, one after the other."""
    climbs = {}
    for solver in case.solvers:
        if console is not None:
            console.print(f"  {case.name}: {solver}", style="dim", highlight=False)
        _warm(case, solver, X, y)
        climbs[solver] = climb(partial(case.model, solver, limit=limit), X, y)
    return Found(case, X.shape, hasattr(X, "nnz"), climbs)


def _warm(case: Case, solver: str, X: Any, y: np.ndarray) -> None:
    """A fit of a few rows, some of every class, so that no loop is compiled while the clock runs."""
    labels = np.unique(y)
    if len(labels) > MOST_CLASSES:
        few = np.arange(min(WARM_ROWS, len(y)))
    else:
        few = np.sort(np.concatenate([np.flatnonzero(y == label)[:WARM_ROWS] for label in labels]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case.model(solver, 1e-2, WARM_SECONDS).fit(X[few], y[few])


def _some(X: Any, y: np.ndarray, count: int | None) -> tuple[Any, np.ndarray]:
    """So many rows, spread evenly; all of them for None."""
    if count is None or count >= len(y):
        return X, y
    rows = np.linspace(0, len(y) - 1, count).astype(int)
    return X[rows], y[rows]


def case_sheet(found: Found) -> Sheet:
    """The figures of one problem."""
    columns = ("solver", *(f"s to {level:g}" for level in LEVELS), "smallest gap", "MB over input", "note")
    sheet = Sheet(f"{found.case.name} ({found.words})", columns)
    for solver, seen in found.climbs.items():
        times = (seconds_or_no(seen.seconds.get(level)) for level in LEVELS)
        memory = "" if seen.extra_mb is None else f"{seen.extra_mb:,.0f}"
        sheet.rows.append((solver, *times, f"{seen.gap:.0e}", memory, _note(found, solver, seen)))
    return sheet


def _note(found: Found, solver: str, seen: Climb) -> str:
    notes = []
    if solver == "auto" and seen.chosen != "auto":
        notes.append(f"ended in {seen.chosen}")
    if found.case.has_other_problem(solver):
        notes.append("augmented intercept: another problem")
    if seen.status == "STALLED":
        notes.append("stalled")
    return "; ".join(notes)


def summary_sheet(title: str, all_found: Sequence[Found]) -> Sheet:
    """Seconds of solvers to the middle level, a line a problem; empty where a solver does not apply."""
    solvers = COLUMNS[title]
    sheet = Sheet(title, ("case", "rows x features", *solvers))
    for found in all_found:
        sheet.rows.append((found.case.name, found.words, *(_cell(found, solver) for solver in solvers)))
    sheet.notes.append(f"seconds to a relative gap of {SHOWN_LEVEL:g}; 'no': not within the time limit")
    if any(found.case.has_other_problem(solver) for found in all_found for solver in solvers):
        sheet.notes.append("dcd has an augmented intercept here, which is another problem")
    return sheet


def _cell(found: Found, solver: str) -> str:
    seen = found.climbs.get(solver)
    if seen is None:
        return ""
    time = seconds_or_no(seen.seconds.get(SHOWN_LEVEL))
    return f"{time} ({seen.chosen})" if solver == "auto" else time


_CASES = {"linear": (linear_cases, [*COLUMNS][:2]), "kernel": (kernel_cases, [*COLUMNS][2:])}


def main(arguments: Sequence[str] = ()) -> None:
    """Measure, print, and write the file if the run was complete."""
    asked = _parser().parse_args(arguments)
    console = Console(width=150)
    complete = asked.parts == [*PARTS] and not asked.only and asked.rows is None
    about = [*machine(), f"time limit of a fit: {asked.limit:g} s", "complete run" if complete else "partial run"]
    console.print(*about, sep="\n", highlight=False)
    summary, sheets = [], []
    for part, (cases, titles) in _CASES.items():
        chosen = [case for case in cases() if part in asked.parts and case.data.startswith(asked.only)]
        all_found = []
        for case in chosen:
            X, y = _some(*case.read(), asked.rows)
            all_found.append(measure(case, X, y, asked.limit, console))
            sheets.append(case_sheet(all_found[-1]))
            console.print(sheets[-1].for_terminal())
        if all_found:
            summary += [summary_sheet(title, all_found) for title in titles]
    if "primal-dual" in asked.parts:
        summary += [table(console.print, 2.0 * asked.limit, asked.rows) for table in (lecture_table, linear_grid)]
    for sheet in summary:
        console.print(sheet.for_terminal())
    if complete or asked.write:
        title, text = "Which solver when: seconds to a relative duality gap", (__doc__ or "").partition("\n\n")[2]
        console.print(f"written to {write(asked.write or 'solvers', title, text, about, summary, sheets)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks solvers", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--parts", type=names(PARTS), default=[*PARTS], metavar="PART,...", help=", ".join(PARTS))
    parser.add_argument("--only", default="", metavar="DATA", help="cases whose data begin with this")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="time limit of a single fit")
    parser.add_argument("--rows", type=int, help="rows of each set at most, for a quick look")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md after a partial run, too")
    return parser


if __name__ == "__main__":
    main(sys.argv[1:])
