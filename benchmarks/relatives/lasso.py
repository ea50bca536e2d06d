"""The lasso: seconds until every answer is within a relative distance of 1e-4, and of 1e-6, of its optimum.

    leukemia      72 x 7,129, dense, columns of mean 0 and variance 1
    20news        18,846 x 173,753, tf-idf, sparse; one group against the rest

    path          100 alphas from the largest that matters down to a hundredth of it
    single        one fit at a twentieth of it

Tolerances mean something else in every library. Each climbs a ladder of them; after each rung the objective
P(w) = 1/(2 n) |y - X w|^2 + alpha |w|_1 is computed from the weights it returned, by our own double precision,
and compared with the best lower bound that anybody's residuals have given: (P - D) / P, for a path the worst of all
alphas. The figure is the smallest time of any run that reached the level. There is no intercept, for anybody; targets
are centred. Each contestant runs in its own process, after one untimed run on a few rows.

    python -m benchmarks.relatives.lasso [--against celer] [--only leukemia] [--limit 60] [--write NAME]
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy import sparse

from benchmarks.common.data import RECIPES as TEXTS
from benchmarks.common.data import DataSet, Recipe, keep, load, shared_file
from benchmarks.common.options import names
from benchmarks.common.peers import OverLimitError, PeerError, Worker, installed
from benchmarks.common.ratios import OURS, Ratio, faster, geometric_mean, promise, seconds_words, worst
from benchmarks.common.report import Sheet, machine, write
from benchmarks.relatives.lasso_contestants import alphas_of

PEERS = ("scikit-learn", "celer")
LEVELS = (1e-4, 1e-6)
LADDER = tuple(10.0**-k for k in range(2, 10))
JOBS: dict[str, dict[str, Any]] = {
    "path": {"job": "path", "least": 1e-2, "count": 100},
    "single": {"job": "single", "least": 1.0 / 20.0},
}
LIMIT = 60.0
REPEATS = 20
REFERENCE_TOL = 1e-10
AT_LEAST, NEVER_BELOW = 1.5, 0.9
"""Times as fast as the faster of the peers: geometric mean, and worst case."""


def _leukemia(folder: Path) -> None:
    """Both halves, standardised columns."""
    with np.load(shared_file("leukemia.npz")) as stored:
        X = np.vstack([stored["X"], stored["X_test"]]).astype(np.float64)
        y = np.concatenate([stored["y"], stored["y_test"]])
    X -= X.mean(axis=0)
    X /= X.std(axis=0)
    keep(folder, X, y > 0)


RECIPES: dict[str, Recipe] = {"leukemia": _leukemia, "20news": TEXTS["news20-unigrams"]}


@dataclass
class Climb:
    """What one library did in one case; `seconds` are those to each level."""

    library: str
    runs: list[tuple[float, np.ndarray]] = field(default_factory=list)
    seconds: dict[float, float | None] = field(default_factory=dict)
    best: float = np.inf
    primal: float = np.nan
    note: str = ""
    over_limit: bool = False

    def judge(self, bounds: np.ndarray) -> None:
        """Distances of all runs, now that everybody has been seen."""
        judged = [(seconds, float(np.max((primal - bounds) / primal))) for seconds, primal in self.runs]
        for level in LEVELS:
            self.seconds[level] = min((seconds for seconds, off in judged if off <= level), default=None)
        self.best = min((off for _, off in judged), default=np.inf)
        self.primal = min((float(np.sum(primal)) for _, primal in self.runs), default=np.nan)


class Referee:
    """Objectives of weights, and the best lower bound of every alpha."""

    def __init__(self, data: DataSet, task: dict[str, Any]):
        self.X, self.y = data.X, data.y - np.mean(data.y)
        self.alphas = alphas_of(self.X, self.y, task)
        self.bounds = np.zeros(len(self.alphas))

    def primal(self, arrays: dict[str, np.ndarray]) -> np.ndarray:
        """P of every alpha; their residuals, scaled into the domain of the dual, may raise the bounds."""
        shape = tuple(arrays["shape"].tolist())
        W = sparse.csc_matrix((arrays["values"], np.unravel_index(arrays["where"], shape)), shape=shape)
        R = self.y[:, None] - np.asarray((sparse.csr_matrix(self.X) @ W).todense() if sparse.issparse(self.X)
                                         else self.X @ W.toarray())  # fmt: skip
        n = len(self.y)
        squares = np.sum(R**2, axis=0)
        room = n * self.alphas / np.max(np.abs(self.X.T @ R), axis=0)
        scale = np.minimum(self.y @ R / squares, room)
        self.bounds = np.maximum(self.bounds, (scale * (self.y @ R) - 0.5 * scale**2 * squares) / n)
        return np.asarray(squares / (2 * n) + self.alphas * np.asarray(abs(W).sum(axis=0)).ravel())


def climb(library: str, data: DataSet, task: dict[str, Any], referee: Referee, limit: float) -> Climb:
    """Runs at smaller and smaller tolerances until 1e-6 is reached, or no more is to be had."""
    seen = Climb(library)
    try:
        with Worker("relatives.lasso_contestants", data.folder, library, task) as worker:
            if library == OURS:
                referee.primal(worker.run(limit, tol=REFERENCE_TOL).arrays)
            for tol in LADDER:
                run = worker.run(limit, tol=tol, repeat=REPEATS)
                primal = referee.primal(run.arrays)
                seen.runs.append((run.seconds, primal))
                if np.max((primal - referee.bounds) / primal) <= min(LEVELS):
                    break
    except OverLimitError:
        seen.note, seen.over_limit = f"over {limit:g} s at tol {tol:g}", True
    except PeerError as error:
        seen.note = str(error)
    return seen


def race(name: str, job: str, libraries: Sequence[str], limit: float) -> tuple[Sheet, list[Climb]]:
    """Everybody on one data set with one job; ourselves first, whose bounds tell the others when to stop."""
    data, task = load(name, RECIPES), JOBS[job]
    referee = Referee(data, task)
    climbs = [climb(library, data, task, referee, limit) for library in libraries]
    for seen in climbs:
        seen.judge(referee.bounds)
    sheet = Sheet(
        f"{job} on {data}", ("library", *(f"s to {level:.0e}" for level in LEVELS), "objective", "best", "note")
    )
    for seen in climbs:
        times = (seconds_words(seen.seconds[level]) for level in LEVELS)
        sheet.rows.append((seen.library, *times, f"{seen.primal:.9g}", f"{seen.best:.1e}", seen.note))
    return sheet, climbs


def run(
    libraries: Sequence[str], limit: float, console: Console, only: Sequence[str] = tuple(RECIPES)
) -> tuple[list[Sheet], list[Sheet]]:
    """All cases: sheets of the summary and of the cases. `libraries` are we and the peers that are there."""
    sheets: list[Sheet] = []
    ratios: list[tuple[str, Ratio]] = []
    summary = Sheet("Lasso: times as fast as the faster peer", ("figure", "times as fast", "promised", "kept"))
    for name in only:
        for job in JOBS:
            with console.status(f"{job} on {name}"):
                sheet, climbs = race(name, job, libraries, limit)
            console.print(sheet.for_terminal())
            sheets.append(sheet)
            for level in LEVELS:
                label = f"{job}, {name}, {level:.0e}"
                ratios.append((label, faster(climbs, level, limit, lambda row: row.library in PEERS)))
                summary.rows.append((label, str(ratios[-1][1]), "", ""))
    if ratios:
        mean = geometric_mean((ratio for _, ratio in ratios), with_bounds=True)
        summary.rows.append(promise("geometric mean", [mean], AT_LEAST))
        summary.rows.append(promise("worst case", [worst(ratios)], NEVER_BELOW))
    console.print(summary.for_terminal())
    return [summary], sheets


def main(arguments: Sequence[str] = ()) -> None:
    """Run the race and print it; write it down where that is asked for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.relatives.lasso")
    parser.add_argument("--only", type=names(RECIPES), default=[*RECIPES], metavar="DATA,...")
    parser.add_argument("--against", type=names(PEERS), default=[*PEERS], metavar="LIBRARY,...")
    parser.add_argument("--limit", type=float, default=LIMIT, metavar="SECONDS", help="time limit of a single run")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md")
    asked = parser.parse_args(arguments)
    console = Console(width=150)
    present, missing = installed(asked.against)
    about = [*machine(), *(f"{library}: {what}" for library, what in present.items()), *missing.values()]
    console.print(*about, sep="\n", highlight=False)
    summary, sheets = run([OURS, *present], asked.limit, console, asked.only)
    if asked.write:
        text = (__doc__ or "").partition("\n\n")[2]
        console.print(f"written to {write(asked.write, 'Lasso', text, about, summary, sheets)}")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
