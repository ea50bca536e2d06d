"""How many files of the library a fit passes through.

A reader who follows a fit opens each of these files, so their number says how far the way is. A file counts when one of
its functions runs, or one of its compiled loops is called from Python; a loop that only other loops call does not show.
Every walk is the second fit of its kind in the process: imports and compiling belong to the first.

    python -m benchmarks walk [--brief]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console

from benchmarks.common.report import Sheet
from benchmarks.lines import HOME, count_lines

ROWS, FEATURES = 10_000, 20
MEMORY = "1MB"  # the rows take 1.6 MB


class Walk(NamedTuple):
    """The functions that ran, by file, and the most files that there are to be."""

    functions: dict[str, set[str]]
    goal: int


class Recorder:
    """Hears of every call in every thread, and writes it down while there is a walk."""

    def __init__(self) -> None:
        self.functions: dict[str, set[str]] | None = None

    def hear(self, frame: FrameType, event: str, _: Any) -> None:
        """What the interpreter calls."""
        code = frame.f_code
        inside = event == "call" and code.co_name != "<module>" and code.co_filename.startswith(str(HOME))
        if inside and self.functions is not None:
            place = Path(code.co_filename).relative_to(HOME).as_posix()
            self.functions.setdefault(place, set()).add(code.co_name)

    def walk(self, fit: Callable[[], object], goal: int) -> Walk:
        """The walk of a fit, which is done twice."""
        fit()
        self.functions = found = {}
        fit()
        self.functions = None
        return Walk(found, goal)


def walks() -> dict[str, Walk]:
    """The three walks by name; the threads of this process go on being listened to."""
    recorder = Recorder()
    # A profile and not a trace: Numba tells of calls of its loops to a profile only. A thread has the one that was set
    # when it began, so this comes before the first fit makes the pools.
    threading.setprofile(recorder.hear)
    sys.setprofile(recorder.hear)
    from maxmargin import SVC, LinearSVC
    from maxmargin import open as open_rows

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    y = np.where(X @ rng.normal(size=FEATURES) + rng.normal(size=ROWS) > 0.0, 1, -1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.txt"
        path.write_text(_libsvm_text(X, y))
        return {
            "SVC": recorder.walk(lambda: SVC().fit(X, y), 30),
            "LinearSVC": recorder.walk(lambda: LinearSVC().fit(X, y), 30),
            "LinearSVC, from a file": recorder.walk(
                lambda: LinearSVC(memory=MEMORY).fit(open_rows(path, memory=MEMORY)), 45
            ),
        }


def _libsvm_text(X: np.ndarray, y: np.ndarray) -> str:
    rows = (" ".join(f"{column}:{value:.6g}" for column, value in enumerate(row, 1)) for row in X)
    return "".join(f"{label} {row}\n" for label, row in zip(y, rows, strict=True))


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table, and the files of each walk."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks walk", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--brief", action="store_true", help="the table alone")
    asked = parser.parse_args(arguments)
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as child:
        found = child.submit(walks).result()
    sheet = Sheet("Files that a fit passes through", ("case", "files", "lines in them", "goal", "reached"))
    console = Console(width=150)
    for name, (functions, goal) in found.items():
        if not asked.brief:
            console.print(f"{name}: {len(functions)} files", style="bold")
            for place, names in sorted(functions.items()):
                console.print(f"  {place:44} {', '.join(sorted(names))}", highlight=False)
            console.print()
        lines = sum(count_lines(HOME / place) for place in functions)
        reached = "yes" if len(functions) <= goal else "no"
        sheet.rows.append((name, str(len(functions)), f"{lines:,}", f"<= {goal}", reached))
    sheet.notes.append(f"second fits of {ROWS:,} rows and {FEATURES} columns; the file is read within {MEMORY}")
    console.print(sheet.for_terminal())


if __name__ == "__main__":
    main(sys.argv[1:])
