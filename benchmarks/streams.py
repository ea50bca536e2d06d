"""The lecture's race on data larger than memory: relative gap against seconds for the three trainers.

The four tables look like those of the lecture: ocr (dense), dna (a quarter of 800 features, three positives in a
thousand), webspam-t and kddb (sparse, with millions of features). Rows come from a planted plane with noise; they are
written once to a block file, and the trainers may keep a tenth of its bytes in memory. The sparse tables have fewer
columns where `--megabytes` is small; rows do not get shorter.

A trainer is there when the relative gap that it knows of is at most 1e-3. The gap of its last check is computed anew
from the file. "in memory" reads the file once and fits the arrays.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from scipy import sparse

import maxmargin
from benchmarks.options import names
from benchmarks.report import Sheet, machine
from maxmargin import LinearSVC
from maxmargin.losses import Hinge
from maxmargin.problems import Intercept, Specification, StreamedProblem
from maxmargin.problems.tasks import Pair
from maxmargin.solvers.stream_block import BlockMinimisation
from maxmargin.solvers.stream_cached_loops import CachedLoops
from maxmargin.solvers.stream_selective import SelectiveBlockMinimisation
from maxmargin.solvers.stream_solver import StreamSolver

GAP = 1e-3
FULL = 4000.0  # megabytes at which the sparse tables have all their columns
_BATCH = 4 << 20  # bytes made at a time


class LookAlike(NamedTuple):
    """Shape of a table of the lecture."""

    n_features: int
    entries: int
    """In a row."""
    positive: float
    """Share of the rows."""
    C: float


TABLES = {
    "ocr": LookAlike(1156, 1156, 0.49, 1.0),
    "dna": LookAlike(800, 200, 0.003, 1.0),
    "webspam-t": LookAlike(16_610_000, 3700, 0.61, 1.0),
    "kddb": LookAlike(29_890_000, 29, 0.86, 1.0),
}
TRAINERS: dict[str, Callable[..., StreamSolver]] = {
    "block": BlockMinimisation,
    "selective-block": SelectiveBlockMinimisation,
    "cached-loops": CachedLoops,
}


def batches(table: LookAlike, megabytes: float) -> Iterator[tuple[Any, np.ndarray]]:
    """Rows of about that size in all."""
    rng = np.random.default_rng(0)
    is_dense = table.entries == table.n_features
    few = table.n_features <= 10_000
    columns = table.n_features if few else max(10 * table.entries, int(table.n_features * min(1.0, megabytes / FULL)))
    bytes_a_row = table.entries * (4 if is_dense else 8)
    planted = rng.standard_normal(columns, dtype=np.float32)
    n = max(200, int(megabytes * 1e6 / bytes_a_row))
    size = max(1, _BATCH // bytes_a_row)
    cut: float | None = None
    for top in range(0, n, size):
        m = min(size, n - top)
        if is_dense:
            X: Any = rng.standard_normal((m, columns), dtype=np.float32) / np.float32(np.sqrt(table.entries))
        else:
            # Low columns are frequent and high ones rare, as words are.
            skew = 1.0 if few else 3.0
            chosen = np.minimum((columns * rng.random((m, table.entries)) ** skew).astype(np.int32), columns - 1)
            values = rng.random((m, table.entries), dtype=np.float32) / np.float32(np.sqrt(table.entries))
            starts = np.arange(0, m * table.entries + 1, table.entries)
            X = sparse.csr_matrix((values.ravel(), chosen.ravel(), starts), shape=(m, columns))
            X.sum_duplicates()
        scores = np.asarray(X @ planted).ravel()
        scores += 0.3 * np.std(scores) * rng.standard_normal(m)
        cut = float(np.quantile(scores, 1.0 - table.positive)) if cut is None else cut
        yield X, np.where(scores > cut, 1, -1)


class Busy(threading.Thread):
    """Adds up the processor time of the reader's and the trainer's threads."""

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


def race(name: str, megabytes: float, limit: float, folder: str) -> Sheet:
    """All contestants on one table."""
    table = TABLES[name]
    path = Path(folder) / name
    path.mkdir()
    source = maxmargin.open(batches(table, megabytes), cache=path, memory=f"{max(1.0, megabytes / 50)}MB")
    n_rows = source.n_rows  # the first question about the data writes the file
    n_bytes = sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    specification = Specification(Pair(-1, 1), Hinge(), table.C, Intercept.AUGMENTED)
    sheet = Sheet(
        f"{name}: {n_rows} rows, {source.n_features} features, {n_bytes / 1e6:.0f} MB",
        ("solver", "seconds to 1e-3", "passes", "gap at the end", "reader CPU s", "trainer CPU s", "seconds in all"),
    )
    for eviction in (True, False):
        for title, kind in TRAINERS.items():
            problem = StreamedProblem(source, [specification], None)
            trainer = kind(tol=GAP, memory=n_bytes // 10, max_seconds=limit, eviction=eviction)
            kind(tol=GAP, memory=n_bytes // 10, max_iter=1).solve(problem)  # loads and compiles
            busy = Busy()
            busy.start()
            solution = trainer.solve(problem)
            busy.over.set()
            busy.join()
            history, last = solution.histories[0], solution.assessments[0]
            reached = [
                (seconds, passes)
                for seconds, passes, gap, primal in zip(
                    history.seconds, history.passes, history.gap, history.primal, strict=True
                )
                if gap <= GAP * abs(primal)
            ]
            sheet.rows.append(
                (
                    title + ("" if eviction else ", no eviction"),
                    f"{reached[0][0]:.2f}" if reached else f"over {limit:g}",
                    f"{reached[0][1]:.0f}" if reached else "",
                    f"{last.gap / abs(last.primal):.1e}",
                    f"{busy.total('reader'):.2f}",
                    f"{busy.total('trainer'):.2f}",
                    f"{solution.seconds:.2f}",
                )
            )
    sheet.rows.append(_in_memory(source, table))
    source.close()
    return sheet


def _in_memory(source: Any, table: LookAlike) -> tuple[str, ...]:
    """One read of the file and a fit of the arrays."""
    begin = time.perf_counter()
    X, y = source.head(source.n_rows)
    model = LinearSVC(loss="hinge", C=table.C, intercept="augmented", solver="dcd", tol=GAP, max_iter=200).fit(X, y)
    seconds = time.perf_counter() - begin
    certificate = model.certificate_
    return ("in memory", f"{seconds:.2f}", f"{certificate.passes:.0f}", f"{certificate.relative_gap:.1e}", "", "", "")


def main(arguments: Sequence[str] = ()) -> None:
    """Race on the tables named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks streams", description=__doc__)
    parser.add_argument("--only", type=names(TABLES), default=list(TABLES), help="tables, with commas between them")
    parser.add_argument("--megabytes", type=float, default=20.0, help="size of each table")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each trainer")
    chosen = parser.parse_args(list(arguments))
    console = Console()
    for line in machine():
        console.print(line)
    with tempfile.TemporaryDirectory(prefix="maxmargin-streams-") as folder:
        for name in chosen.only:
            console.print(race(name, chosen.megabytes, chosen.limit, folder).for_terminal())
