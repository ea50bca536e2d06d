"""What the first fit of a process costs, with an empty Numba cache and with a warm one; import and start count.

The second table lists what was compiled for the first fits, loop by loop, with the seconds that each took. A loop that
calls another counts the seconds of that one, too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console

from benchmarks.common.report import Sheet, machine

_DENSE = "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True)"
_SPARSE = (
    "import numpy as np; from scipy import sparse; rng = np.random.default_rng(0); "
    "X = sparse.random(300, 1000, 0.05, format='csr', random_state=rng); y = rng.integers(0, 2, 300)"
)
_FIT = "from maxmargin import LinearSVC; {data}; LinearSVC(loss='{loss}').fit(X, y)"
_LISTEN = """
import json, sys, time
from numba.core import event
class Listener(event.Listener):
    begun, seen = [], []
    def on_start(self, happening):
        self.begun.append(time.perf_counter())
    def on_end(self, happening):
        name = happening.data["dispatcher"].py_func.__qualname__
        self.seen.append((name, str(happening.data["args"]), len(self.begun), time.perf_counter() - self.begun.pop()))
listener = Listener()
event.register("numba:compile", listener)
begin = time.perf_counter()
{fit}
print(json.dumps([listener.seen, time.perf_counter() - begin]))
"""
REPEATS = 3


@dataclass(frozen=True)
class Startup:
    """Wall-clock seconds of whole processes that import the package and fit once."""

    empty_cache_iris: float
    empty_cache_sparse: float
    warm_cache_iris: float


def measure() -> Startup:
    """Run the processes; each empty cache is a fresh folder."""
    with tempfile.TemporaryDirectory(prefix="maxmargin-numba-") as cache:
        first = _seconds(_DENSE, "squared_hinge", cache)
        warm = min(_seconds(_DENSE, "squared_hinge", cache) for _ in range(REPEATS))
    with tempfile.TemporaryDirectory(prefix="maxmargin-numba-") as cache:
        sparse = _seconds(_SPARSE, "hinge", cache)
    return Startup(first, sparse, warm)


def _seconds(data: str, loss: str, cache: str) -> float:
    start = time.perf_counter()
    _run(_FIT.format(data=data, loss=loss), cache)
    return time.perf_counter() - start


def _run(program: str, cache: str) -> str:
    words = [sys.executable, "-W", "ignore", "-c", program]
    return subprocess.run(
        words, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | {"NUMBA_CACHE_DIR": cache}
    ).stdout


def compiled(data: str, loss: str) -> tuple[list[tuple[str, str, int, float]], float]:
    """Name, types, depth and seconds of everything compiled for a first fit, and the seconds of import and fit."""
    fit = _FIT.format(data=data, loss=loss)
    with tempfile.TemporaryDirectory(prefix="maxmargin-numba-") as cache:
        seen, total = json.loads(_run(_LISTEN.replace("{fit}", fit), cache))
    return [tuple(one) for one in seen], float(total)


def main(arguments: Sequence[str] = ()) -> None:
    """Print both tables."""
    console = Console(width=150)
    with console.status("first fits of fresh processes"):
        found = measure()
    sheet = Sheet("First fits of fresh processes", ("figure", "seconds", "aim"), notes=machine())
    sheet.rows.append(("iris, empty cache", f"{found.empty_cache_iris:.2f}", "6"))
    sheet.rows.append(("small CSR, hinge, empty cache", f"{found.empty_cache_sparse:.2f}", "6"))
    sheet.rows.append(("iris, warm cache", f"{found.warm_cache_iris:.2f}", "1"))
    console.print(sheet.for_terminal())
    cases = {
        "iris, squared hinge": (_DENSE, "squared_hinge"),
        "small CSR, squared hinge": (_SPARSE, "squared_hinge"),
        "small CSR, hinge": (_SPARSE, "hinge"),
    }
    for title, case in cases.items():
        with console.status(title):
            seen, total = compiled(*case)
        outer = sum(seconds for _, _, depth, seconds in seen if depth == 1)
        note = f"{len(seen)} signatures, {outer:.2f} s of compiling in {total:.2f} s of import and fit"
        table = Sheet(f"Compiled for {title}", ("case", "note", "depth", "seconds"), notes=[note])
        for name, types, depth, seconds in sorted(seen, key=lambda one: -one[3]):
            table.rows.append((name, _short(types), str(depth), f"{seconds:.2f}"))
        console.print(table.for_terminal())


def _short(types: str) -> str:
    for long, short in (("Array(", ""), ("array(", ""), ("float64", "f8"), ("float32", "f4"), ("int64", "i8")):
        types = types.replace(long, short)
    return types if len(types) <= 70 else types[:67] + "..."


if __name__ == "__main__":
    main(sys.argv[1:])
