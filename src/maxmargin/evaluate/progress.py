"""Following work that is made of many alike pieces: how many of them are done.

On a terminal and in a notebook one line with a bar is rewritten in place; elsewhere a plain line is written about once
a second and at the end. Work that calls other work, as a comparison does cross-validations, gives it its own name.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

from maxmargin.estimators.fitting.parameters import check_verbose
from maxmargin.estimators.fitting.progress import live_bar

Tick: TypeAlias = Callable[[int], None]
"""Is told that so many pieces more are done; from any thread."""

_SECONDS_BETWEEN_LINES = 1.0
_whole: ContextVar[str | None] = ContextVar("whole", default=None)


@contextmanager
def working_on(name: str) -> Iterator[None]:
    """Give all counting inside this name: that of the work which the person has asked for."""
    before = _whole.set(name)
    try:
        yield
    finally:
        _whole.reset(before)


@contextmanager
def counting(name: str, pieces: str, total: int, verbose: Any) -> Iterator[Tick]:
    """What to call when pieces are done; silent where `verbose` is 0."""
    if not check_verbose(verbose):
        yield lambda count: None
        return
    with live_bar() as bar:
        name, lock = _whole.get() or name, threading.Lock()
        task = None if bar is None else bar.add_task(name, total=total, words="")
        done, begun = 0, time.perf_counter()
        written = begun

        def add(count: int) -> None:
            nonlocal done, written
            with lock:
                done += count
                words = f"{done} of {total} {pieces}"
                if bar is not None:
                    bar.update(task, completed=done, words=words)
                    return
                now = time.perf_counter()
                if done >= total or now - written >= _SECONDS_BETWEEN_LINES:
                    written = now
                    print(f"{name}: {words}, {now - begun:.1f} s", flush=True)

        yield add
