"""How fast text is parsed and blocks are read.

Each figure is the best of a few rounds on data in the page cache, in megabytes of text or of decoded rows. CPU counts
the seconds of the threads that work; on a busy machine it tells more than the clock. Page faults of the last round tell
whether memory is used again: each stands for 4 kilobytes, or for a larger page, that the system had to clear first.
Written are the megabytes of the last round that went to files.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from sklearn.datasets import load_svmlight_file

import maxmargin
from benchmarks.common.report import Sheet, machine
from maxmargin.data import PulledSource
from maxmargin.data.formats.csv_text import CsvInput
from maxmargin.data.formats.inputs import Reading
from maxmargin.data.formats.libsvm_text import LibsvmInput

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


class Cost(NamedTuple):
    """What a piece of work costs: the least seconds of a few rounds, and page faults and bytes written of the last."""

    clock: float
    cpu: float
    faults: int
    written: int

    def row(self, case: str, figure: str, megabytes: float) -> tuple[str, ...]:
        """A row of the table."""
        return (
            case,
            figure,
            f"{megabytes:.0f}",
            f"{megabytes / self.clock:.0f}",
            f"{megabytes / self.cpu:.0f}",
            f"{self.faults:,}",
            f"{self.written / 1e6:.0f}",
        )


def cost(work: Callable[[], object], rounds: int = ROUNDS) -> Cost:
    """Measure a piece of work."""
    clocks, cpus, faults, written = [], [], 0, 0
    for _ in range(rounds):
        before, bytes_before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt, _bytes_written()
        clock, cpu = time.perf_counter(), time.process_time()
        work()
        clocks.append(time.perf_counter() - clock)
        cpus.append(time.process_time() - cpu)
        faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
        written = _bytes_written() - bytes_before
    return Cost(min(clocks), min(cpus), faults, written)


def _bytes_written() -> int:
    """Bytes that this process has written so far; 0 where the system does not tell."""
    told = Path("/proc/self/io")
    if not told.exists():
        return 0
    return int(dict(line.split(": ") for line in told.read_text().splitlines())["wchar"])


def _parse(path: Path, n_jobs: int) -> Callable[[], None]:
    def work() -> None:
        for _ in LibsvmInput([path], Reading(np.dtype(np.float32), zero_based=False, n_jobs=n_jobs)).batches():
            pass

    return work


def _parse_table(path: Path) -> None:
    for _ in CsvInput([path], Reading(np.dtype(np.float32), label=0)).batches():
        pass


def parsing(path: Path, kind: str) -> list[tuple[str, ...]]:
    """Rows of the table about one kind of text."""
    size = path.stat().st_size / 1e6
    found = [cost(_parse(path, threads)).row(kind, f"parse, {threads} threads", size) for threads in (1, 2)]

    def first_pass() -> None:
        with maxmargin.open(path) as source:
            source.span(0)

    found.append(cost(first_pass).row(kind, "parse and write blocks", size))
    found.append(cost(lambda: load_svmlight_file(str(path)), rounds=1).row(kind, "scikit-learn", size))
    return found


def reading(source: PulledSource, kind: str) -> list[tuple[str, ...]]:
    """Rows of the table about reading blocks: each into memory of its own, and all into the same."""
    buffers = source.buffers()

    def fresh() -> None:
        for _ in source:
            pass

    def same() -> int:
        total = 0
        for k in range(source.n_blocks):
            X = source.read(k, buffers).X
            arrays = [X] if isinstance(X, np.ndarray) else [X.data, X.indices, X.indptr]
            total += sum(array.nbytes for array in arrays)
        return total

    size = same() / 1e6
    found = [
        cost(fresh).row(kind, f"read {source.n_blocks} blocks, new memory", size),
        cost(same).row(kind, f"read {source.n_blocks} blocks, same memory", size),
    ]
    buffers.close()
    return found


def tables(folder: Path, megabytes: float) -> list[tuple[str, ...]]:
    """Rows of the table about dense numbers: as comma-separated text, as blocks, and as a NumPy file."""
    X = np.random.default_rng(0).random((int(megabytes * 250), 1000), dtype=np.float32)
    y = X[:, 0] > 0.5
    text, plain = folder / "rows.csv", folder / "rows.npy"
    once = "".join(",".join(f"{value:.6f}" for value in row) + "\n" for row in X[:500, :100].tolist())
    text.write_text(once * max(1, round(megabytes * 1e6 / len(once))))
    np.save(plain, X)
    found = [cost(lambda: _parse_table(text)).row("table", "parse CSV", text.stat().st_size / 1e6)]

    def stored() -> None:
        with maxmargin.open([(X, y)], memory="32MB") as source:
            source.span(0)

    def in_place() -> None:
        with maxmargin.open(plain, labels=y, memory="32MB") as source:
            source.span(0)

    size = X.nbytes / 1e6
    found.append(cost(stored).row("dense float32", "first pass of arrays", size))
    found.append(cost(in_place).row("dense float32", "first pass of .npy", size))
    for kind, given, labels in (("blocks", [(X, y)], None), (".npy", plain, y)):
        with maxmargin.open(given, labels=labels, memory="32MB") as source:  # type: ignore[arg-type] # either is fine
            found.extend(reading(source, f"dense float32, {kind}"))
    return found


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks streams_reading", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("--megabytes", type=float, default=50.0, help="size of each text")
    asked = parser.parse_args(arguments)
    columns = ("case", "figure", "MB", "MB/s", "MB per CPU second", "page faults", "written MB")
    sheet = Sheet("Reading files", columns, notes=machine())
    console = Console(width=150)
    with tempfile.TemporaryDirectory(prefix="maxmargin-") as folder:
        path = Path(folder) / "rows.txt"
        for kind, form in KINDS.items():
            with console.status(kind):
                path.write_text(text_of(form, asked.megabytes))
                sheet.rows.extend(parsing(path, kind))
                with maxmargin.open(path, memory="32MB") as source:
                    sheet.rows.extend(reading(source, kind))
        with console.status("tables"):
            sheet.rows.extend(tables(Path(folder), asked.megabytes))
    console.print(sheet.for_terminal())


if __name__ == "__main__":
    main(sys.argv[1:])
