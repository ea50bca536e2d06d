"""How much memory a fit needs beside its input.

Each line is a process of its own. It fits a few rows, which loads and compiles everything, and notes its peak of memory
so far. Then it makes the data in place and fits them. What the peak has grown by is the input and whatever the fit
added to it: a ratio of 1 is no copy at all, 1.5 would be half a copy, and 3 a single-precision input taken to double.

Solvers keep vectors with one number a row: about 20 of them for a smooth loss, 30 for the hinge. They weigh little
beside rows of 500 numbers and a good deal beside rows of 125, so both are measured.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from scipy import sparse

from benchmarks.common.report import Sheet, machine

LAYOUTS = (
    "dense float32",
    "dense float64",
    "narrow float32",
    "Fortran float32",
    "CSR float32",
    "CSR float64",
    "CSR float64 int64",
)
MODELS = ("LinearSVC", "LinearSVC hinge", "LogisticRegression")
ALLOWED = {"dense": 1.3, "narrow": 1.3, "Fortran": 2.3, "CSR": 1.5}
"""Largest ratio that is in order; a Fortran-ordered matrix is copied once, because solvers go through it by rows."""

DENSE_COLUMNS, NARROW_COLUMNS, SPARSE_COLUMNS, ENTRIES_A_ROW = 500, 125, 20_000, 100
BLOCK = 2_000  # rows made at a time


def make(layout: str, megabytes: float) -> tuple[Any, np.ndarray]:
    """Rows of about that size and labels from a planted plane with noise, without anything large beside them."""
    rng = np.random.default_rng(0)
    kind, dtype, *wide = layout.split()
    dense = kind != "CSR"
    width = NARROW_COLUMNS if kind == "narrow" else DENSE_COLUMNS if dense else ENTRIES_A_ROW
    columns = width if dense else SPARSE_COLUMNS
    planted = rng.standard_normal(columns, dtype=np.float32)
    entry = np.dtype(dtype).itemsize + (0 if dense else np.dtype(wide[0] if wide else "int32").itemsize)
    n = int(megabytes * 1e6 / (width * entry))
    y = np.empty(n, dtype=np.int8)
    values = np.empty((n, width), dtype=dtype, order="F" if kind == "Fortran" else "C")
    numbers = None if dense else np.empty((n, width), dtype=wide[0] if wide else "int32")
    for top in range(0, n, BLOCK):
        block = rng.standard_normal((min(BLOCK, n - top), width), dtype=np.float32) / np.sqrt(np.float32(width))
        values[top : top + BLOCK] = block
        weights = planted
        if numbers is not None:
            stride = SPARSE_COLUMNS // width
            chosen = rng.integers(0, stride, block.shape) + stride * np.arange(width)
            numbers[top : top + BLOCK] = chosen
            weights = planted[chosen]
        scores = np.sum(block * weights, axis=1)
        y[top : top + BLOCK] = scores + 0.5 * rng.standard_normal(len(block)) > 0.0
    if numbers is None:
        return values, y
    X = sparse.csr_matrix((n, columns), dtype=dtype)  # given the arrays at once, it would copy wide column numbers
    X.data, X.indices = values.reshape(-1), numbers.reshape(-1)
    X.indptr = np.arange(0, n * width + 1, width, dtype=numbers.dtype)
    X.has_canonical_format = True
    return X, y


def measure(layout: str, model: str, megabytes: float, max_iter: int | None = None) -> dict[str, float]:
    """Input and growth of the peak, in MB, in a fresh process."""
    words = [sys.executable, "-m", "benchmarks.memory", "--worker", layout, model, str(megabytes), str(max_iter or -1)]
    here = Path(__file__).parents[1]
    done = subprocess.run(words, check=True, capture_output=True, text=True, cwd=here)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _worker(layout: str, model: str, megabytes: float, max_iter: int) -> None:
    from maxmargin import LinearSVC, LogisticRegression

    options = {"loss": "hinge"} if model.endswith("hinge") else {}
    kind = LogisticRegression if model == "LogisticRegression" else LinearSVC
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(**options).fit(*make(layout, 1.0))
        before = _peak()
        X, y = make(layout, megabytes)
        size = X.data.nbytes if not sparse.issparse(X) else X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
        made = _peak()
        fitted = kind(max_iter=max_iter, **options).fit(X, y)
    record = {"input": size / 1e6, "made": made - before, "added": _peak() - before}
    print(json.dumps(record | {"gap": fitted.certificate_.relative_gap, "seconds": fitted.certificate_.seconds}))


def _peak() -> float:
    """Largest amount of memory this process ever had, in MB."""
    status = Path("/proc/self/status")
    if status.exists():  # unlike ru_maxrss this begins anew in a process that was started by a large one
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1e3
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main(arguments: Sequence[str] = ()) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks memory", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--megabytes", type=float, default=200.0, help="size of each input")
    parser.add_argument("--layouts", type=lambda text: text.split(","), default=list(LAYOUTS), metavar="LAYOUT,...")
    parser.add_argument("--models", type=lambda text: text.split(","), default=list(MODELS), metavar="MODEL,...")
    parser.add_argument("--max-iter", type=int, help="steps of a fit; to the tolerance without it")
    asked = parser.parse_args(arguments)
    columns = ("case", "solver", "input MB", "added peak MB", "ratio", "allowed", "seconds", "relative gap")
    sheet = Sheet("Memory of a fit", columns, notes=machine())
    console = Console(width=150)
    for layout in asked.layouts:
        for model in asked.models:
            with console.status(f"{layout}, {model}"):
                seen = measure(layout, model, asked.megabytes, asked.max_iter)
            figures = (f"{seen['input']:,.0f}", f"{seen['added']:,.0f}", f"{seen['added'] / seen['input']:.2f}")
            end = (f"{ALLOWED[layout.split()[0]]:g}", f"{seen['seconds']:.1f}", f"{seen['gap']:.0e}")
            sheet.rows.append((layout, model, *figures, *end))
    console.print(sheet.for_terminal())


if __name__ == "__main__" and sys.argv[1:2] == ["--worker"]:
    _worker(sys.argv[2], sys.argv[3], float(sys.argv[4]), int(sys.argv[5]))
