"""The thread pool: order, stop flag, interrupts, forks; and imports that cost nothing."""

import os
import subprocess
import sys
import time

import numpy as np
import pytest

from maxmargin.backends.threads import over_ranges, run_together, thread_count
from maxmargin.errors import ParameterError


def test_ranges_cover_every_row_once_for_any_number_of_threads():
    for n_rows in (0, 1, 7, 100):
        for n_jobs in (1, 2, 5, None):
            seen = np.zeros(n_rows, dtype=int)

            def work(start, end, stop, seen=seen):
                seen[start:end] += 1
                return end - start

            assert sum(over_ranges(work, n_rows, n_jobs)) == n_rows
            assert np.all(seen == 1)


def test_results_come_in_the_order_of_the_tasks():
    def task(k):
        return lambda stop: (time.sleep(0.01 * (3 - k)), k)[1]

    assert run_together([task(k) for k in range(4)]) == [0, 1, 2, 3]


def test_an_error_in_one_task_stops_the_others_and_goes_on():
    ended = []

    def waits(stop):
        while not stop[0]:
            time.sleep(0.001)
        ended.append(True)

    def fails(stop):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run_together([fails, waits])
    assert ended == [True]


def test_thread_counts():
    assert thread_count(3) == 3
    assert thread_count(-1) == thread_count(None) >= 1
    for bad in (0, 1.5, "two", True):
        with pytest.raises(ParameterError, match="n_jobs"):
            thread_count(bad)


def _python(program, **environment):
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env={**os.environ, **environment}
    )


def test_import_brings_in_no_heavy_package():
    done = _python(
        "import sys, maxmargin; print([m for m in ('sklearn', 'numba', 'scipy', 'matplotlib') if m in sys.modules])"
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_estimators_do_not_import_the_compiler():
    done = _python("import sys; from maxmargin import SVC; print('numba' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr


def test_loops_compile_where_no_cache_can_be_written():
    """Numba refuses to decorate a cached function there; ours falls back to compiling in every process."""
    program = """
import numba.core.caching as caching
def nowhere(self, *args, **kwargs):
    raise RuntimeError("cannot cache function: no locator available for file")
caching.FunctionCache.__init__ = nowhere
from maxmargin.kernels import EditDistance
print(float(EditDistance(1.0)(["ab"], ["ab"])[0, 0]))
"""
    done = _python(program)
    assert done.stdout.strip() == "1.0", done.stderr


def test_the_known_names_are_there_and_others_are_not():
    import maxmargin

    for name in maxmargin.__all__:
        assert getattr(maxmargin, name) is not None
    assert "SVC" in dir(maxmargin)
    with pytest.raises(AttributeError, match="no attribute 'SVX'"):
        maxmargin.SVX  # noqa: B018 - the access is the test
