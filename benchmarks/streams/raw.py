"""Columns in their own units, larger than memory: rounds of coordinate steps alone, and with Newton steps after them.

Rows of covtype with a little noise, copied until there are enough: elevations in metres beside flags of 0 and 1, as a
table comes from a database. In memory a fit on arrays takes what `solver="auto"` chooses.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from rich.console import Console

import maxmargin
from benchmarks.common.data import SHARED
from benchmarks.common.report import Sheet, machine
from maxmargin import LinearSVC, LogisticRegression
from maxmargin.errors import NotConvergedWarning
from maxmargin.solvers.streams.cached_loops import CachedLoops

MODELS = {
    "hinge": LinearSVC(loss="hinge"),
    "squared hinge": LinearSVC(loss="squared_hinge"),
    "logistic": LogisticRegression(),
}
NOISE = 0.01  # of each column's spread


def copies(X: Any, y: Any, megabytes: float) -> Iterator[tuple[Any, Any]]:
    """The rows again and again, with noise of their own, until there are that many megabytes."""
    rng = np.random.default_rng(0)
    spread = (NOISE * X.std(axis=0)).astype(np.float32)
    for _ in range(max(1, round(megabytes * 1e6 / X.nbytes))):
        yield X + spread * rng.standard_normal(X.shape, dtype=np.float32), y


def fit(model: Any, data: Sequence[Any], **settings: Any) -> tuple[str, ...]:
    """Seconds, passes and certificate of one fit."""
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)  # the table says so
        certificate = model.set_params(**settings).fit(*data).certificate_
    seconds = time.perf_counter() - begin
    return (
        f"{seconds:.1f}",
        f"{certificate.passes:.0f}",
        f"{certificate.relative_gap:.1e}",
        f"{certificate.kkt_violation:.1e}",
        certificate.status.name,
    )


def main(arguments: Sequence[str] = ()) -> None:
    """All losses, three ways."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks streams_raw")
    parser.add_argument("--megabytes", type=float, default=125.0, help="size of the table")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for each fit")
    parser.add_argument("--tol", type=float, default=1e-4)
    asked = parser.parse_args(list(arguments))
    console = Console(width=150)
    console.print(*machine(), sep="\n", highlight=False)
    with np.load(SHARED / "covtype.npz") as table:
        X, y = table["X"].astype(np.float32), np.where(table["y"] == 2, 1, -1)
    with (
        tempfile.TemporaryDirectory(prefix="maxmargin-raw-") as folder,
        maxmargin.open(copies(X, y, asked.megabytes), cache=Path(folder)) as source,
    ):
        arrays = source.head(source.n_rows)
        size = f"{source.n_rows:,} rows, {source.n_features} features, {source.n_bytes / 1e6:,.0f} MB"
        sheet = Sheet(f"covtype, raw: {size}", ("case", "solver", "seconds", "passes", "gap", "KKT", "ended"))
        settings = {"tol": asked.tol, "max_seconds": asked.limit, "memory": int(source.n_bytes / 10)}
        for name, model in MODELS.items():
            with patch.object(CachedLoops, "has_newton", False):
                rounds = fit(model, (source,), stream="cached-loops", **settings)
            sheet.rows.append((name, "rounds alone", *rounds))
            sheet.rows.append((name, "cached-loops", *fit(model, (source,), stream="cached-loops", **settings)))
            sheet.rows.append((name, "in memory", *fit(model, arrays, stream=None, **settings)))
    console.print(sheet.for_terminal())


if __name__ == "__main__":
    main(sys.argv[1:])
