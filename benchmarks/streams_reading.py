"""How fast text is parsed and blocks are read.

Each figure is the best of a few rounds on data in the page cache, in megabytes of text or of decoded rows. CPU counts
the seconds of the threads that work; on a busy machine it tells more than the clock.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from sklearn.datasets import load_svmlight_file

import maxmargin
from benchmarks.report import Sheet, machine
from maxmargin.data.libsvm_text import LibsvmInput
from maxmargin.data.pulled import PulledSource

KINDS = {"6 decimals": "%.6f", "3 digits": "%.3g", "17 digits": "%.17g", "ones": "1"}
ROUNDS = 5
ENTRIES_A_ROW, COLUMNS = 100, 50_000


def text_of(form: str, megabytes: float) -> str:
    """LIBSVM text of about that size: rows drawn once, repeated."""
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(500):
        columns = np.sort(rng.choice(COLUMNS, ENTRIES_A_ROW, replace=False)) + 1
        values = [form % value if "%" in form else form for value in rng.random(ENTRIES_A_ROW)]
        entries = " ".join(f"{column}:{value}" for column, value in zip(columns, values, strict=True))
        lines.append(f"{rng.choice(['+1', '-1'])} {entries}\n")
    once = "".join(lines)
    return once * max(1, round(megabytes * 1e6 / len(once)))


def best(work: Callable[[], object]) -> tuple[float, float]:
    """Smallest wall-clock and CPU seconds of a few rounds."""
    clocks, cpus = [], []
    for _ in range(ROUNDS):
        clock, cpu = time.perf_counter(), time.process_time()
        work()
        clocks.append(time.perf_counter() - clock)
        cpus.append(time.process_time() - cpu)
    return min(clocks), min(cpus)


def _parse(path: Path, n_jobs: int) -> Callable[[], None]:
    def work() -> None:
        for _ in LibsvmInput([path], np.dtype(np.float32), None, False, 0, n_jobs).batches():
            pass

    return work


def parsing(path: Path, kind: str) -> list[tuple[str, ...]]:
    """Rows of the table about one kind of text."""
    size = path.stat().st_size / 1e6
    found = []
    for threads in (1, 2):
        clock, cpu = best(_parse(path, threads))
        found.append((kind, f"parse, {threads} threads", f"{size:.0f}", f"{size / clock:.0f}", f"{size / cpu:.0f}"))

    def first_pass() -> None:
        with maxmargin.open(path) as source:
            source.span(0)

    clock, cpu = best(first_pass)
    found.append((kind, "parse and write blocks", f"{size:.0f}", f"{size / clock:.0f}", f"{size / cpu:.0f}"))
    clock, cpu = _once(lambda: load_svmlight_file(str(path)))
    found.append((kind, "scikit-learn", f"{size:.0f}", f"{size / clock:.0f}", f"{size / cpu:.0f}"))
    return found


def _once(work: Callable[[], object]) -> tuple[float, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - clock, time.process_time() - cpu


def reading(source: PulledSource, kind: str) -> tuple[str, ...]:
    """Row of the table about reading blocks into the same memory again and again."""
    buffers = source.buffers()

    def work() -> int:
        total = 0
        for k in range(source.n_blocks):
            X = source.read(k, buffers).X
            arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
            total += sum(array.nbytes for array in arrays)
        return total

    size = work() / 1e6
    clock, cpu = best(work)
    buffers.close()
    return (kind, f"read {source.n_blocks} blocks", f"{size:.0f}", f"{size / clock:.0f}", f"{size / cpu:.0f}")


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks streams_reading", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--megabytes", type=float, default=50.0, help="size of each text")
    asked = parser.parse_args(arguments)
    columns = ("case", "figure", "MB", "MB/s", "MB per CPU second")
    sheet = Sheet("Reading files", columns, notes=machine())
    console = Console(width=150)
    with tempfile.TemporaryDirectory(prefix="maxmargin-") as folder:
        path = Path(folder) / "rows.txt"
        for kind, form in KINDS.items():
            with console.status(kind):
                path.write_text(text_of(form, asked.megabytes))
                sheet.rows.extend(parsing(path, kind))
                with maxmargin.open(path, memory="32MB") as source:
                    sheet.rows.append(reading(source, kind))
        with console.status("dense"):
            X = np.random.default_rng(0).random((int(asked.megabytes * 250), 1000), dtype=np.float32)
            with maxmargin.open([(X, X[:, 0] > 0.5)], memory="32MB") as source:
                sheet.rows.append(reading(source, "dense float32"))
    console.print(sheet.for_terminal())


if __name__ == "__main__":
    main(sys.argv[1:])
