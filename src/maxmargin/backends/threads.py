"""Threads for every compiled loop, and a Ctrl-C that ends them.

A compiled loop that runs in the main thread delays KeyboardInterrupt until it returns. So loops run in worker threads
while the main thread waits; when the wait is interrupted the stop flag is raised, the loops notice it within
milliseconds, and the interrupt goes on.

Three kinds of threads, so that none ever waits for one of its own kind:

    helpers       run the pieces of one loop (`run_together`, `over_ranges`) and wait for nobody
    leaders       run a whole solver that has a stop flag (`run_until_interrupted`) and may wait for helpers
    apart         run whole jobs side by side (`run_apart`); inside one, every loop runs in the job's own thread

A loop for `over_ranges` takes `(start, end, stop)` and works on rows start to end - 1 until `stop[0]` is not 0. Every
task sees the context variables of the thread that started it.
"""

from __future__ import annotations

import functools
import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import ParameterError

StopFlag: TypeAlias = NDArray[np.uint8]
Result = TypeVar("Result")

_pools: dict[str, ThreadPoolExecutor] = {}
_pools_process: int | None = None
_pools_lock = threading.Lock()
_MAX_THREADS = 256


class _Here(threading.local):
    """What the current thread works for."""

    stop: StopFlag | None = None
    """Flag of the job or loop that this thread runs; None where it may hand loops to helpers."""
    minds_the_flag: bool = False
    """Whether the task now running looks at the flag itself, and must not be thrown out of its loops."""


_here = _Here()
_most_threads: ContextVar[int | None] = ContextVar("most_threads", default=None)


@contextmanager
def at_most(n_jobs: int | None) -> Iterator[None]:
    """Inside, n_jobs=None means this many threads."""
    token = _most_threads.set(thread_count(n_jobs))
    try:
        yield
    finally:
        _most_threads.reset(token)


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def thread_count(n_jobs: int | None) -> int:
    """Number of threads meant by `n_jobs`: None is all cores, -1 too, -2 all but one."""
    if n_jobs is None:
        return _most_threads.get() or cores()
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, (int, np.integer)) or n_jobs == 0:
        raise ParameterError(
            f"n_jobs must be None (all cores), a positive number of threads, or negative to count "
            f"from all cores downwards (-1 is all), got n_jobs={n_jobs!r}."
        )
    return min(int(n_jobs), _MAX_THREADS) if n_jobs > 0 else max(1, cores() + 1 + int(n_jobs))


def _submit(kind: str, task: Callable[[StopFlag], Any], stop: StopFlag) -> Future[Any]:
    """Hand a task to the pool of that kind, made anew in a forked child, where the parent's threads do not exist."""
    global _pools_process
    with _pools_lock:
        if _pools_process != os.getpid():
            _pools.clear()
            _pools_process = os.getpid()
        if kind not in _pools:
            # Idle threads are used again before a new one is made, so that a large limit costs nothing.
            size = max(4, 2 * cores()) if kind == "helpers" else _MAX_THREADS
            _pools[kind] = ThreadPoolExecutor(max_workers=size, thread_name_prefix=f"maxmargin-{kind}")
        pool = _pools[kind]
    work = functools.partial(_as_helper, task) if kind == "helpers" else task
    return pool.submit(copy_context().run, work, stop)


def _as_helper(task: Callable[[StopFlag], Any], stop: StopFlag) -> Any:
    """Run a task whose own loops, if it has any, run in this thread."""
    _here.stop, _here.minds_the_flag = stop, True
    try:
        return task(stop)
    finally:
        _here.stop, _here.minds_the_flag = None, False


def run_together(tasks: list[Callable[[StopFlag], Any]], *, brief: bool = False) -> list[Any]:
    """Run `tasks` at the same time, each given the shared stop flag; return their results in order.

    The first exception, KeyboardInterrupt included, raises the flag, waits until every task has returned, and goes on.
    Of brief tasks, which end within a fraction of a second, this thread does one itself.
    """
    stop: StopFlag = np.zeros(1, dtype=np.uint8)
    if _here.stop is not None:  # one after the other in this thread, with the interrupt that the main thread would have
        flag = stop if _here.minds_the_flag else _here.stop  # who looks at the flag wants whole loops all the same
        results = [task(flag) for task in tasks]
        raise_if_interrupted()
        return results
    futures = [_submit("helpers", task, stop) for task in (tasks[1:] if brief else tasks)]
    try:
        own = [tasks[0](stop)] if brief else []
        return own + [future.result() for future in futures]
    except BaseException:  # Ctrl-C, too: no thread may go on working on arrays that the caller drops
        stop[0] = 1
        wait(futures)
        raise


def raise_if_interrupted() -> None:
    """Raise KeyboardInterrupt in a job of `run_apart` that was asked to stop; elsewhere do nothing."""
    if _here.stop is not None and _here.stop[0] != 0 and not _here.minds_the_flag:
        raise KeyboardInterrupt


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let the loops of a job of `run_apart` run to their end although it was asked to stop; elsewhere do nothing."""
    before = _here.minds_the_flag
    _here.minds_the_flag = _here.stop is not None
    try:
        yield
    finally:
        _here.minds_the_flag = before


def run_until_interrupted(task: Callable[[StopFlag], Any], *, brief: bool = False) -> tuple[Any, bool]:
    """Run one task in a worker; on Ctrl-C ask it to stop, wait for it, and return what it has with True.

    A brief task, whose loops return within milliseconds and which may be left between any two of them, runs in this
    thread, because waking another one takes longer than a small fit; after Ctrl-C its result is None.
    """
    if _here.stop is not None:
        before, _here.minds_the_flag = _here.minds_the_flag, True
        try:
            return task(_here.stop), bool(_here.stop[0])
        finally:
            _here.minds_the_flag = before
    stop: StopFlag = np.zeros(1, dtype=np.uint8)
    if brief:
        try:
            return task(stop), False
        except KeyboardInterrupt:
            return None, True
    future = _submit("leaders", task, stop)
    try:
        return future.result(), False
    except KeyboardInterrupt:
        stop[0] = 1
        return future.result(), True


def run_apart(jobs: Sequence[Callable[[], Result]], n_threads: int) -> list[Result]:
    """Run jobs that know nothing of each other, at most `n_threads` at a time; return their results in order.

    On Ctrl-C every job, begun or not, meets a KeyboardInterrupt at its next loop, or the flag that its
    `run_until_interrupted` waits for; what the jobs then return is the result. Any other exception ends the jobs that
    run, and goes on; of several the one of the first job.
    """
    stop: StopFlag = np.zeros(1, dtype=np.uint8)

    def alone(job: Callable[[], Result]) -> Result:
        _here.stop = stop
        return job()

    with ThreadPoolExecutor(n_threads, thread_name_prefix="maxmargin-apart") as pool:
        futures = [pool.submit(copy_context().run, alone, job) for job in jobs]
        try:
            return [future.result() for future in futures]
        except KeyboardInterrupt:
            stop[0] = 1
            return [future.result() for future in futures]
        except BaseException:  # whatever ended one job ends the others, and then goes on
            stop[0] = 1
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def over_ranges(
    work: Callable[[int, int, StopFlag], Any], n_rows: int, n_jobs: int | None = None, *, brief: bool = False
) -> list[Any]:
    """Cut rows 0 to n_rows - 1 into one even range a thread and run `work` on all of them."""
    threads = max(1, min(thread_count(n_jobs), n_rows))
    edges = [n_rows * k // threads for k in range(threads + 1)]

    return run_together([functools.partial(work, *ends) for ends in itertools.pairwise(edges)], brief=brief)


@functools.cache
def _blas() -> list[Any]:
    """The BLAS libraries of this process; finding them takes milliseconds, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return [library for library in ThreadpoolController().lib_controllers if library.user_api == "blas"]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS use one thread a call, because the callers are themselves the threads."""
    before = [library.get_num_threads() for library in _blas()]
    try:
        for library in _blas():
            _set_threads(library, 1)
        yield
    finally:
        for library, threads in zip(_blas(), before, strict=True):
            _set_threads(library, threads)


def _set_threads(library: Any, count: int) -> None:
    """Set the threads of a BLAS library for every thread of this process.

    threadpoolctl lets only the Python thread that set them first set them again, and ignores the others in silence.
    Fits run in threads of their own, so what they ask for must count whichever thread they run in.
    """
    getattr(library, "_real_set_num_threads", library.set_num_threads)(count)
