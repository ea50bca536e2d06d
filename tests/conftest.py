"""Shared by all tests: a compile cache named after the loops it holds, seeds, and the data beside the checkout."""

import hashlib
import os
import signal
import tempfile
from pathlib import Path

# A caller's cache entry does not notice an edit of a loop it calls, so the directory is named after all loops together.
# This must happen before Numba is imported.
_LOOPS = Path(__file__).parents[1] / "src" / "maxmargin" / "_loops"
_digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(_LOOPS.rglob("*.py")))).hexdigest()[:16]
os.environ.setdefault("NUMBA_CACHE_DIR", str(Path(tempfile.gettempdir()) / f"maxmargin-loops-{_digest}"))
os.environ.setdefault("MPLBACKEND", "Agg")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes its background jobs deaf to Ctrl-C

import numpy as np  # noqa: E402 - after the environment is set
import pytest  # noqa: E402 - likewise
from hypothesis import settings  # noqa: E402 - likewise

# The same examples in every run, and no deadline: a busy machine is not a failure.
settings.register_profile("maxmargin", deadline=None, derandomize=True)
settings.load_profile("maxmargin")


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def shared_data():
    """Folder of real data sets that lies beside the checkout of a developer; a fresh clone has none."""
    folder = Path(__file__).parents[2] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data sets are not beside this checkout")
    return folder
