"""One pool of threads for every compiled loop, and a Ctrl-C that ends them.

A compiled loop that runs in the main thread delays KeyboardInterrupt until it returns. So loops run in worker threads
while the main thread waits; when the wait is interrupted the stop flag is raised, the loops notice it within
milliseconds, and the interrupt goes on.

A loop for `over_ranges` takes `(start, end, stop)` and works on rows start to end - 1 until `stop[0]` is not 0.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import ParameterError

StopFlag: TypeAlias = NDArray[np.uint8]

_pool: ThreadPoolExecutor | None = None
_pool_process: int | None = None
_pool_lock = threading.Lock()
_MAX_THREADS = 256


def cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Number of threads meant by `n_jobs`: None is all cores, -1 too, -2 all but one."""
    if n_jobs is None:
        return cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ParameterError(
            f"n_jobs must be None (all cores), a positive number of threads, or negative to count "
            f"from all cores downwards (-1 is all), got n_jobs={n_jobs!r}."
        )
    return min(int(n_jobs), _MAX_THREADS) if n_jobs > 0 else max(1, cores() + 1 + int(n_jobs))


def _threads() -> ThreadPoolExecutor:
    """Return the pool, made anew in a forked child, where the parent's threads do not exist."""
    global _pool, _pool_process
    with _pool_lock:
        if _pool is None or _pool_process != os.getpid():
            _pool = ThreadPoolExecutor(max_workers=max(4, 2 * cores()), thread_name_prefix="maxmargin")
            _pool_process = os.getpid()
        return _pool


def run_together(tasks: list[Callable[[StopFlag], Any]]) -> list[Any]:
    """Run `tasks` at the same time, each given the shared stop flag; return their results in order.

    The first exception, KeyboardInterrupt included, raises the flag, waits until every task has returned, and goes on.
    A task must not itself call `run_together`: the pool could then wait for itself.
    """
    stop: StopFlag = np.zeros(1, dtype=np.uint8)
    futures: list[Future[Any]] = [_threads().submit(task, stop) for task in tasks]
    try:
        return [future.result() for future in futures]
    except BaseException:
        stop[0] = 1
        wait(futures)
        raise


def run_until_interrupted(task: Callable[[StopFlag], Any]) -> tuple[Any, bool]:
    """Run one task in a worker; on Ctrl-C ask it to stop, wait for it, and return what it has with True."""
    stop: StopFlag = np.zeros(1, dtype=np.uint8)
    future = _threads().submit(task, stop)
    try:
        return future.result(), False
    except KeyboardInterrupt:
        stop[0] = 1
        return future.result(), True


def over_ranges(work: Callable[[int, int, StopFlag], Any], n_rows: int, n_jobs: int | None = None) -> list[Any]:
    """Cut rows 0 to n_rows - 1 into one even range a thread and run `work` on all of them."""
    threads = max(1, min(thread_count(n_jobs), n_rows))
    edges = [n_rows * k // threads for k in range(threads + 1)]

    def task(start: int, end: int) -> Callable[[StopFlag], Any]:
        return lambda stop: work(start, end, stop)

    return run_together([task(edges[k], edges[k + 1]) for k in range(threads)])


@functools.cache
def _blas() -> Any:
    """The BLAS libraries of this process; finding them takes milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread a call, because the callers are themselves the threads."""
    with _blas().limit(limits=1, user_api="blas"):
        yield
