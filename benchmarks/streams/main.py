"""The lecture's race on data larger than memory: relative gap against seconds for the three trainers.

The tables look like those of the lecture (`benchmarks/streams/tables.py`). They are written once to a block file, and
the trainers may keep a tenth of its bytes in memory. The file stays in the system's page cache, so reading costs what
copying and checking cost, not what a disk does. Hinge loss, C = 1, augmented intercept.

A trainer is there at the first pass after which the true relative gap is at most 1e-3: the points at which its own
estimate says so are kept, and their gaps computed from the file when the clock has stopped. One that is there only at
the end of its time, within a pass, counts with that time. "converged" is the whole fit, with KKT violation and gap
within 1e-3 and the certificate. CPU seconds of readers and trainer are those until then. "in memory" is one read of the
file and a fit of the arrays by dual coordinate descent, which looks at its gap less often.

"eviction off" keeps settled rows in training until they are dropped. "on the fly" expands dna's sequences to features
each time they are read, "stored" reads the features.
"""

from __future__ import annotations

import argparse
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

import maxmargin
from benchmarks.common.options import names
from benchmarks.common.ratios import Ratio, geometric_mean
from benchmarks.common.report import RESULTS, Sheet, machine, write
from benchmarks.streams.tables import EXPANSION, TABLES, batches
from maxmargin import LinearSVC
from maxmargin.certificates.assessment import assess_together
from maxmargin.losses import Hinge
from maxmargin.problems import History, Intercept, LinearProblem, SharedRows, Specification
from maxmargin.problems.solution import listening
from maxmargin.problems.specification import Pair
from maxmargin.solvers.streams.cached_loops import CachedLoops
from maxmargin.solvers.streams.trainers import BlockMinimisation, SelectiveBlockMinimisation, StreamSolver

GAP = 1e-3
PARTS = ("race", "eviction", "expansion")
TRAINERS: dict[str, Callable[..., StreamSolver]] = {
    "block": BlockMinimisation,
    "selective-block": SelectiveBlockMinimisation,
    "cached-loops": CachedLoops,
}
COLUMNS = (
    "solver",
    "seconds to 1e-3",
    "passes",
    "true gap there",
    "converged s",
    "KKT at the end",
    "reader CPU s",
    "trainer CPU s",
)
_KEPT = 4  # points whose gaps are computed afterwards


class Busy(threading.Thread):
    """Adds up the processor time of the readers' and the trainer's threads."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seconds: dict[str, dict[int, tuple[float, float]]] = {"reader": {}, "trainer": {}}
        self.over = threading.Event()

    def run(self) -> None:
        """Look at all threads every so often."""
        tick = os.sysconf("SC_CLK_TCK")
        while not self.over.wait(0.02):
            for thread in threading.enumerate():
                kind = {"maxmargin-reader": "reader", "maxmargin-leader": "trainer"}.get(thread.name[:16])
                stat = Path(f"/proc/self/task/{thread.native_id}/stat")
                if kind is None or thread.native_id is None or not stat.exists():
                    continue
                try:
                    used = stat.read_text().rpartition(")")[2].split()
                except OSError:  # the thread ended meanwhile
                    continue
                now = (int(used[11]) + int(used[12])) / tick
                first = 0.0 if kind == "reader" else now  # readers are born and die with a pass, trainers are not
                first = self.seconds[kind].get(thread.native_id, (first, now))[0]
                self.seconds[kind][thread.native_id] = (first, now)

    def total(self, kind: str) -> float:
        """Seconds of all threads of a kind."""
        return sum(now - first for first, now in self.seconds[kind].values())


class Kept(NamedTuple):
    """A point on the way, and when it was reached."""

    seconds: float
    passes: float
    beta: np.ndarray
    weights: np.ndarray
    bias: np.ndarray


class Watcher:
    """Keeps the points that look as if they were there; it sees them in the place of a keeper of checkpoints."""

    def __init__(self) -> None:
        self.point: Any = None
        self.kept: list[Kept] = []

    def restore(self, point: Any, place: Any) -> bool:
        """Remember the point."""
        self.point = point
        return False

    def keep(self, point: Any, place: Any, *, now: bool = False) -> None:
        """No checkpoints."""

    def heard(self, history: History) -> None:
        """Copy the point, if its estimated gap is small enough and not many were kept."""
        if history.relative_gap <= GAP and len(self.kept) < _KEPT:
            at = self.point
            copies = at.beta.copy(), at.weights.copy(), at.intercepts.copy()
            self.kept.append(Kept(history.seconds[-1], history.passes[-1], *copies))


class Run(NamedTuple):
    """One trainer on one table."""

    history: History
    row: tuple[str, ...]
    seconds: float
    """To the true gap; infinite where it did not get there."""
    limit: float


def run(title: str, trainer: StreamSolver, source: Any, limit: float) -> Run:
    """Train, and look at the points kept when the clock has stopped."""
    specification = Specification(Pair(-1, 1), Hinge(), 1.0, Intercept.AUGMENTED)
    problem = SharedRows(source, [specification], None).problems[0]
    type(trainer)(tol=GAP, memory=trainer.memory, max_iter=2).solve(problem)  # loads and compiles
    watcher, busy = Watcher(), Busy()
    busy.start()
    with listening(watcher.heard):
        solution = replace(trainer, keeper=watcher).solve(problem)
    busy.over.set()
    busy.join()
    there = next(((kept, gap) for kept in watcher.kept if (gap := _true_gap(problem, kept)) <= GAP), None)
    last, is_done = solution.assessment, solution.status.name == "CONVERGED"
    end = last.gap / abs(last.primal)
    seconds = there[0].seconds if there else limit if end <= GAP else np.inf  # some get there within a pass
    row = (
        title,
        f"{seconds:.2f}" if np.isfinite(seconds) else f"over {limit:g}",
        f"{there[0].passes:.0f}" if there else "",
        f"{there[1]:.1e}" if there else f"{end:.1e} at the end",
        f"{solution.seconds:.2f}" if is_done else f"over {limit:g}",
        f"{last.kkt_violation:.1e}",
        f"{busy.total('reader'):.2f}",
        f"{busy.total('trainer'):.2f}",
    )
    return Run(solution.history, row, seconds, limit)


def _true_gap(problem: LinearProblem, kept: Kept) -> float:
    """The relative gap of a point, from the data."""
    found = assess_together([problem], kept.beta, kept.weights, [float(b) for b in kept.bias]).parts[0]
    return found.gap / abs(found.primal)


def in_memory(source: Any) -> tuple[tuple[str, ...], float]:
    """One read of the file and a fit of the arrays."""
    begin = time.perf_counter()
    X, y = source.head(source.n_rows)
    read = time.perf_counter() - begin
    model = LinearSVC(loss="hinge", intercept="augmented", solver="dcd", tol=GAP, max_iter=200).fit(X, y)
    seconds = time.perf_counter() - begin
    history, certificate = model.history_, model.certificate_
    gaps = np.array(history.gap) / np.abs(history.primal)
    at = int(np.argmax(gaps <= GAP))
    there = read + history.seconds[at]
    row = ("in memory", f"{there:.2f}", f"{history.passes[at]:.0f}", f"{gaps[at]:.1e}", f"{seconds:.2f}")
    return (*row, f"{certificate.kkt_violation:.1e}", f"{read:.2f} to read", ""), there


def opened(name: str, megabytes: float, folder: Path, *, expanded: bool = True) -> Any:
    """The table as a block file, made first where the folder has none."""
    path = folder / f"{name}-{megabytes:g}{'' if expanded else '-sequences'}"
    path.mkdir(parents=True, exist_ok=True)
    if not list(path.glob("*.blocks")):
        memory, dtype = f"{min(16.0, max(1.0, megabytes / 200))}MB", "float32" if expanded else "uint8"
        source = maxmargin.open(batches(name, megabytes, expanded=expanded), cache=path, memory=memory, dtype=dtype)
        assert source.n_rows > 0  # the first question about the data writes the file
        source.close()
    return maxmargin.open(next(path.glob("*.blocks")))


def race(name: str, megabytes: float, limit: float, folder: Path, parts: Sequence[str]) -> tuple[Sheet, dict[str, Run]]:
    """All contestants on one table."""
    source = opened(name, megabytes, folder)
    size = f"{source.n_rows:,} rows, {source.n_features:,} features, {source.n_bytes / 1e6:,.0f} MB"
    sheet, runs = Sheet(f"{name}: {size}", COLUMNS), {}
    settings = {"tol": GAP, "memory": source.n_bytes // 10, "max_seconds": limit}
    contestants = {title: kind(**settings) for title, kind in TRAINERS.items()} if "race" in parts else {}
    if "eviction" in parts:
        contestants["cached-loops, eviction off"] = CachedLoops(eviction=False, **settings)
    for title, trainer in contestants.items():
        runs[title] = run(title, trainer, source, limit)
        sheet.rows.append(runs[title].row)
    if "expansion" in parts and name == "dna":
        sequences = opened(name, megabytes, folder, expanded=False).map(EXPANSION)
        runs["cached-loops, on the fly"] = run("cached-loops, on the fly", CachedLoops(**settings), sequences, limit)
        sheet.rows.append(runs["cached-loops, on the fly"].row)
        sheet.notes.append(f"on the fly reads {sequences.source.n_bytes / 1e6:,.0f} MB in a pass")
    if "race" in parts:
        sheet.notes.append(f"peak memory of this process so far {_peak():.0f} MB, with the copies of points kept")
        row, seconds = in_memory(source)
        sheet.rows.append(row)
        sheet.notes.append(
            f"cached-loops takes {runs['cached-loops'].seconds / seconds:.2f} times as long as in memory"
        )
    source.close()
    return sheet, runs


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def summary(found: dict[str, dict[str, Run]]) -> Sheet:
    """How many times sooner cached-loops is there than the others."""
    others = list(TRAINERS)[:2]
    sheet = Sheet("How many times sooner cached-loops is at a relative gap of 1e-3", ("case", *others))
    ratios = {name: [_sooner(runs["cached-loops"], runs[other]) for other in others] for name, runs in found.items()}
    sheet.rows.extend((name, *map(str, row)) for name, row in ratios.items())
    means = [geometric_mean(column, with_bounds=True) for column in zip(*ratios.values(), strict=True)]
    sheet.rows.append(("geometric mean", *map(str, means)))
    if any(one.is_bound for row in ratios.values() for one in row):
        sheet.notes.append("after a sign > is a lower bound: the other one was not there within its limit")
    return sheet


def _sooner(ours: Run, theirs: Run) -> Ratio:
    if np.isinf(ours.seconds):
        return Ratio(np.nan, "not there")
    if np.isinf(theirs.seconds):
        return Ratio(theirs.limit / ours.seconds, f"> {theirs.limit / ours.seconds:.3g}", is_bound=True)
    return Ratio(theirs.seconds / ours.seconds)


def draw(found: dict[str, dict[str, Run]], path: Path) -> None:
    """Relative gap against seconds, a panel a table."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt
    from matplotlib import ticker
    from matplotlib.lines import Line2D

    figure, panels = plt.subplots(1, len(found), figsize=(4.2 * len(found), 3.6), squeeze=False, layout="constrained")
    titles = list(dict.fromkeys(title for runs in found.values() for title in runs))
    for panel, (name, runs) in zip(panels[0], found.items(), strict=True):
        for title, one in runs.items():
            gaps = np.abs(np.array(one.history.gap)) / np.abs(one.history.primal)
            panel.loglog(one.history.seconds, gaps, color=f"C{titles.index(title)}", linewidth=1.5)
        panel.xaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.xaxis.set_major_formatter(ticker.FormatStrFormatter("%g"))
        panel.xaxis.set_minor_formatter(ticker.NullFormatter())
        panel.axhline(GAP, color="grey", linewidth=0.8, linestyle=":")
        panel.set_title(name)
        panel.set_xlabel("seconds")
    panels[0, 0].set_ylabel("relative gap, as estimated after each pass")
    lines = [Line2D([], [], color=f"C{k}", label=title) for k, title in enumerate(titles)]
    panels[0, -1].legend(handles=lines, frameon=False, fontsize="small")
    figure.savefig(path, dpi=110)


def _sizes(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def _for_each(given: list[float], tables: list[str]) -> list[float]:
    return given * len(tables) if len(given) == 1 else given


def main(arguments: Sequence[str] = ()) -> None:
    """Race on the tables named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks streams")
    parser.add_argument("--only", type=names(TABLES), default=list(TABLES), help="tables, with commas between them")
    parser.add_argument("--parts", type=names(PARTS), default=list(PARTS), help=", ".join(PARTS))
    parser.add_argument("--megabytes", type=_sizes, default=[100.0], help="size of all tables, or of each, with commas")
    parser.add_argument(
        "--limit", type=_sizes, default=[15.0], help="seconds for each trainer; one limit, or one a table"
    )
    parser.add_argument("--folder", type=Path, help="where the tables are kept for the next time")
    parser.add_argument("--write", metavar="NAME", help="write results/NAME.md and NAME.png")
    asked = parser.parse_args(list(arguments))
    console, about = Console(width=170), machine()
    console.print(*about, sep="\n", highlight=False)
    sheets, found = [], {}
    with tempfile.TemporaryDirectory(prefix="maxmargin-streams-") as temporary:
        sizes, limits = (_for_each(given, asked.only) for given in (asked.megabytes, asked.limit))
        for name, megabytes, limit in zip(asked.only, sizes, limits, strict=True):
            folder = asked.folder or Path(temporary)
            sheet, found[name] = race(name, megabytes, limit, folder, asked.parts)
            sheets.append(sheet)
            console.print(sheet.for_terminal())
    results = [summary(found)] if "race" in asked.parts else []
    for sheet in results:
        console.print(sheet.for_terminal())
    if asked.write:
        draw(found, RESULTS / f"{asked.write}.png")
        text = (__doc__ or "").partition("\n\n")[2] + f"\n![Relative gap against seconds]({asked.write}.png)\n"
        console.print(f"written to {write(asked.write, 'Data larger than memory', text, about, results, sheets)}")


if __name__ == "__main__":
    main(sys.argv[1:])
