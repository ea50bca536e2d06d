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
        yield _Count(_whole.get() or name, pieces, total, bar).add


class _Count:
    """The number of pieces that are done, and when to show it."""

    def __init__(self, name: str, pieces: str, total: int, bar: Any):
        self.name, self.pieces, self.total, self.bar = name, pieces, total, bar
        self.task = None if bar is None else bar.add_task(name, total=total, words="")
        self.done, self.lock = 0, threading.Lock()
        self.begun = self.written = time.perf_counter()

    def add(self, count: int) -> None:
        """So many more are done."""
        with self.lock:
            self.done += count
            words = f"{self.done} of {self.total} {self.pieces}"
            if self.bar is not None:
                self.bar.update(self.task, completed=self.done, words=words)
                return
            now = time.perf_counter()
            if self.done >= self.total or now - self.written >= _SECONDS_BETWEEN_LINES:
                self.written = now
                print(f"{self.name}: {words}, {now - self.begun:.1f} s", flush=True)
