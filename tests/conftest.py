"""Shared by all tests: lanes, the share of the cores that a worker has, seeds, and the data beside the checkout."""

import os
import signal
from pathlib import Path

HERE = Path(__file__).parent
os.environ.setdefault("MPLBACKEND", "Agg")
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell makes its background jobs deaf to Ctrl-C

WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
"""Processes that run tests side by side."""
if WORKERS > 1:
    # Threads of BLAS and OpenMP wait by spinning, and take the core that another worker needs. They read this as they
    # are loaded.
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

import numpy as np  # noqa: E402 - after the environment is set
import pytest  # noqa: E402 - likewise
from hypothesis import settings  # noqa: E402 - likewise

from maxmargin.backends.threads import at_most, cores  # noqa: E402 - likewise
from tests.quick import FILES as QUICK  # noqa: E402 - likewise

# The same examples in every run, and no deadline: a busy machine is not a failure.
settings.register_profile("maxmargin", deadline=None, derandomize=True)
settings.load_profile("maxmargin")


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="only the tests of tests/quick.py that are not slow")


def pytest_configure(config):
    if config.option.quick:
        missing = [name for name in QUICK if not (HERE / name).exists()]
        if missing:
            raise pytest.UsageError(f"tests/quick.py names files that are not there: {', '.join(missing)}")


def pytest_ignore_collect(collection_path, config):
    """Files of which no test can be chosen are not even imported."""
    if not collection_path.match("test_*.py"):
        return None
    left_out = config.option.quick and collection_path.relative_to(HERE).as_posix() not in QUICK
    return left_out or (config.option.markexpr == "alone" and "mark.alone" not in collection_path.read_text()) or None


def pytest_collection_modifyitems(config, items):
    if config.option.quick:
        waits = [item for item in items if item.get_closest_marker("slow") or item.get_closest_marker("alone")]
        config.hook.pytest_deselected(items=waits)
        left = set(items) - set(waits)
        items[:] = [item for item in items if item in left]


@pytest.fixture(scope="session", autouse=True)
def _share_of_the_cores():
    """Beside other workers n_jobs=None is a share of the cores, but never one: threads are part of what is tested."""
    if WORKERS == 1:
        yield
        return
    with at_most(max(2, cores() // WORKERS)):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def shared_data():
    """Folder of real data sets that lies beside the checkout of a developer; a fresh clone has none."""
    folder = HERE.parents[1] / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the shared data sets are not beside this checkout")
    return folder
