"""Peak memory of fits from a block file.

Each fit has a process of its own, which begins, imports the library and fits; its peak is the resident memory that the
system has seen at most. It may be `memory`, the weights, 9 bytes a row, and 300 MB for the interpreter, the libraries
and compiled loops. scikit-learn imports pandas where that is installed, which is some 70 MB of these.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.common.options import names
from benchmarks.common.report import Sheet, machine
from benchmarks.streams.main import GAP, opened
from benchmarks.streams.tables import TABLES
from maxmargin.data.byte_sizes import byte_count

BESIDE = 300e6
TRAINERS = ("block", "selective-block", "cached-loops")
_FIT = """
import resource, sys, warnings
import maxmargin
from maxmargin import LinearSVC
path, stream, memory, tol, seconds = sys.argv[1:]
warnings.simplefilter("ignore")  # a fit that ends by the clock has seen its peak, too
source = maxmargin.open(path)
model = LinearSVC(loss="hinge", stream=stream, memory=memory, tol=float(tol), max_seconds=float(seconds)).fit(source)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, model.certificate_.status.name, model.n_iter_)
"""


def fit(path: Path, stream: str, memory: str, seconds: float) -> tuple[float, str, str]:
    """Peak in bytes, how the fit ended, and its passes."""
    command = [sys.executable, "-c", _FIT, str(path), stream, memory, str(GAP), str(seconds)]
    peak, status, passes = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split(maxsplit=2)
    return float(peak), status, passes.strip()


def main(arguments: Sequence[str] = ()) -> None:
    """All trainers on the tables named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks streams_memory")
    parser.add_argument("--only", type=names(TABLES), default=list(TABLES), help="tables, with commas between them")
    parser.add_argument("--trainers", type=names(TRAINERS), default=list(TRAINERS), help=", ".join(TRAINERS))
    parser.add_argument("--megabytes", type=float, default=20.0, help="size of a table")
    parser.add_argument("--memory", default="2MB", help="what a fit may use")
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each fit")
    parser.add_argument("--folder", type=Path, help="where the tables are kept for the next time")
    asked = parser.parse_args(list(arguments))
    console = Console(width=150)
    console.print(*machine(), sep="\n", highlight=False)
    columns = ("case", "trainer", "memory MB", "w MB", "9 B a row MB", "bound MB", "peak MB", "ended", "passes")
    sheet = Sheet("Peak memory", columns)
    with tempfile.TemporaryDirectory(prefix="maxmargin-memory-") as temporary:
        for name in asked.only:
            with opened(name, asked.megabytes, asked.folder or Path(temporary)) as source:
                memory, weights, rows = byte_count("memory", asked.memory), 8.0 * source.n_features, 9.0 * source.n_rows
                for trainer in asked.trainers:
                    peak, status, passes = fit(source.path, trainer, asked.memory, asked.limit)
                    sizes = (memory, weights, rows, memory + weights + rows + BESIDE, peak)
                    sheet.rows.append((name, trainer, *(f"{size / 1e6:,.0f}" for size in sizes), status, passes))
    console.print(sheet.for_terminal())


if __name__ == "__main__":
    main(sys.argv[1:])
