"""What the first fit of a process costs, with an empty Numba cache and with a warm one; import and start count."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

_DENSE = "from sklearn.datasets import load_iris; X, y = load_iris(return_X_y=True)"
_SPARSE = (
    "import numpy as np; from scipy import sparse; rng = np.random.default_rng(0); "
    "X = sparse.random(300, 1000, 0.05, format='csr', random_state=rng); y = rng.integers(0, 2, 300)"
)
_FIT = "from maxmargin import LinearSVC; {data}; LinearSVC(loss='{loss}').fit(X, y)"
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
    words = [sys.executable, "-W", "ignore", "-c", _FIT.format(data=data, loss=loss)]
    start = time.perf_counter()
    subprocess.run(words, check=True, env=os.environ | {"NUMBA_CACHE_DIR": cache})
    return time.perf_counter() - start
