"""Following a fit while it runs: one line on the screen, and whoever else wants to know.

`verbose=1` shows one line with the sub-problem, the passes over the data, the relative gap and the tolerance, and the
seconds. On a terminal and in a notebook the line is rewritten in place beside a bar; elsewhere a plain line is written
about once a second and at the end of each sub-problem.

The bar shows how much of the way from the first gap to the tolerance is done, in powers of ten: a solver that gains
a digit in equal times moves it evenly.

A notebook shows what is displayed under a name, and replaces it when something is displayed under the same name again.
Every front end can do that, with widgets and without, and a saved notebook keeps the last state. The bar is a
`<progress>` of HTML, which follows the light and the dark; where there is no HTML, it is a line of text.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from html import escape
from typing import Any, Protocol

from maxmargin.backends.threads import raise_if_interrupted
from maxmargin.problems import History, Status
from maxmargin.problems.solution import listening

_SECONDS_BETWEEN_LINES = 1.0
_SECONDS_BETWEEN_UPDATES = 0.1
_FORESEEABLE = 0.2  # of the way must be done before anything is said about the rest


class Watcher(Protocol):
    """Is told of every sub-problem, by number; the calls may come from several threads, but never two at once."""

    def begin(self, number: int) -> None:
        """A sub-problem is begun."""

    def check(self, number: int, history: History) -> None:
        """Its solver has looked at the gap."""

    def end(self, number: int, status: Status | None) -> None:
        """It has ended; without a status after an error."""


class Watch:
    """The watchers of one fit."""

    def __init__(self, watchers: Sequence[Watcher]):
        self._watchers, self._lock = watchers, threading.Lock()

    @contextmanager
    def part(self, number: int) -> Iterator[list[Status]]:
        """Follow the solver of a sub-problem inside the block, which appends to the list how that ended."""
        status: list[Status] = []
        self._tell("begin", number)
        try:
            with listening(lambda history: self._check(number, history)):
                yield status
        finally:
            self._tell("end", number, status[-1] if status else None)

    def _check(self, number: int, history: History) -> None:
        raise_if_interrupted()  # a solver that has no loops of its own to be stopped in is stopped here
        self._tell("check", number, history)

    def _tell(self, what: str, *arguments: Any) -> None:
        if not self._watchers:
            return
        with self._lock:
            for watcher in self._watchers:
                getattr(watcher, what)(*arguments)


class ProgressLine:
    """What the line says, and when; the subclasses know how to write."""

    def __init__(self, name: str, tasks: Sequence[str], tol: float, source: Any = None):
        self.name, self.tasks, self.tol, self.source = name, tasks, tol, source
        self.begun = time.perf_counter()
        self.read_before = _read_from(source)
        self.first_gap: dict[int, float] = {}
        self.shares = [0.0] * len(tasks)
        self.said: dict[int, str] = {}
        self.ended: set[int] = set()

    def begin(self, number: int) -> None:
        """A sub-problem is begun."""

    def check(self, number: int, history: History) -> None:
        """Its solver has looked at the gap."""
        short = max(history.relative_gap, history.violation or 0.0)
        self.shares[number] = max(self.shares[number], self._share(number, short))
        self.said[number] = self._words(history) + self._rates()
        self.show(number, self.said[number] + self._left(), final=False)

    def end(self, number: int, status: Status | None) -> None:
        """It has ended."""
        self.ended.add(number)
        if status is Status.CONVERGED:  # one that ended short of the tolerance keeps the bar that it has
            self.shares[number] = 1.0
        words = (self.said.get(number, ""), "" if status is None else status.name.lower())
        self.show(number, ", ".join(part for part in words if part), final=True)

    def show(self, number: int, words: str, *, final: bool) -> None:
        """Bring the line up to date."""
        raise NotImplementedError

    def place(self, number: int) -> str:
        """Which sub-problem of how many; nothing where there is only one."""
        return "" if len(self.tasks) == 1 else f" {number + 1} of {len(self.tasks)}"

    def _words(self, history: History) -> str:
        gap = history.relative_gap
        shown = f"{gap:.1e}" if math.isfinite(gap) else "not known"
        if history.estimated[-1]:  # a sum of losses seen at different times, which may even fall below the dual
            shown = f"about {max(gap, 0.0):.1e}"
        violation = "" if history.violation is None else f", KKT {history.violation:.1e}"
        return f"{history.passes[-1]:.0f} passes, gap {shown}{violation} (tol {self.tol:.0e})"

    def _rates(self) -> str:
        """How fast rows are read, where they come from a source."""
        seconds = max(time.perf_counter() - self.begun, 1e-9)
        rows, read = (now - before for now, before in zip(_read_from(self.source), self.read_before, strict=True))
        return f", {rows / seconds:,.0f} rows/s, {read / seconds / 1e6:.0f} MB/s" if rows else ""

    def _left(self) -> str:
        """About how long it will take, once a part of the way is done."""
        shares = [1.0 if number in self.ended else share for number, share in enumerate(self.shares)]
        done, seconds = sum(shares) / len(shares), time.perf_counter() - self.begun
        if not _FORESEEABLE <= done < 1.0 or seconds < _SECONDS_BETWEEN_LINES:
            return ""
        return f", about {seconds * (1.0 - done) / done:.0f} s left"

    def _share(self, number: int, gap: float) -> float:
        """Share of the way to the tolerance that is done."""
        if not math.isfinite(gap) or gap <= 0.0:
            return 1.0 if gap <= 0.0 else 0.0
        first = self.first_gap.setdefault(number, gap)
        if first <= self.tol:
            return 1.0
        return min(1.0, max(0.0, math.log(first / gap) / math.log(first / self.tol)))


class PlainLines(ProgressLine):
    """Lines for a file or a pipe: about one a second, and one for each sub-problem at its end."""

    def __init__(self, name: str, tasks: Sequence[str], tol: float, source: Any = None):
        super().__init__(name, tasks, tol, source)
        self.written = self.begun

    def show(self, number: int, words: str, *, final: bool) -> None:
        """Write a line, if one is due."""
        now = time.perf_counter()
        if not final and now - self.written < _SECONDS_BETWEEN_LINES:
            return
        self.written = now
        task = "" if len(self.tasks) == 1 else f" ({self.tasks[number]})"
        said = ", ".join(part for part in (words, f"{now - self.begun:.1f} s") if part)
        print(f"{self.name}{self.place(number)}{task}: {said}", flush=True)


class LiveLine(ProgressLine):
    """One line with a bar, rewritten in place."""

    def __init__(self, name: str, tasks: Sequence[str], tol: float, bar: Any, source: Any = None):
        super().__init__(name, tasks, tol, source)
        self.bar = bar
        self.task = bar.add_task(name, total=len(tasks), words="")

    def show(self, number: int, words: str, *, final: bool) -> None:
        """Rewrite the line."""
        name = self.name + self.place(number)
        if final and len(self.tasks) > 1:
            name, words = self.name, f"{len(self.ended)} of {len(self.tasks)} done"
        self.bar.update(self.task, description=name, completed=sum(self.shares), words=words)


def _read_from(source: Any) -> tuple[int, int]:
    """Rows and bytes that a source has given; nothing where it does not count."""
    return getattr(source, "rows_read", 0), getattr(source, "bytes_read", 0)


@contextmanager
def watching(
    name: str, tasks: Sequence[str], tol: float, *, verbose: bool, others: Sequence[Watcher] = (), source: Any = None
) -> Iterator[Watch]:
    """A watch over the sub-problems of a fit: the line of `verbose`, and other watchers.

    `source` is what rows are read from while they are trained on, if they are.
    """
    with ExitStack() as stack:
        line = [] if not verbose else [stack.enter_context(_line(name, tasks, tol, source))]
        yield Watch([*line, *others])


@contextmanager
def _line(name: str, tasks: Sequence[str], tol: float, source: Any) -> Iterator[ProgressLine]:
    with live_bar() as bar:
        yield PlainLines(name, tasks, tol, source) if bar is None else LiveLine(name, tasks, tol, bar, source)


@contextmanager
def live_bar() -> Iterator[Any]:
    """A bar that is rewritten in place, or None where only plain lines can be written."""
    if in_notebook():
        with notebook_bar() as shown:
            yield shown
        return
    from rich.console import Console

    console = Console(force_jupyter=False)
    # The console believes in a terminal when the environment asks for colours; only a real one can rewrite a line.
    if not sys.stdout.isatty() or console.is_dumb_terminal:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(8), TextColumn("{task.fields[words]}"), TimeElapsedColumn())
    with Progress(*columns, console=console) as bar:
        yield bar


def in_notebook() -> bool:
    """Whether a notebook shows what is written: a kernel runs, and nobody has turned the output elsewhere."""
    ipython = sys.modules.get("IPython")  # a kernel has imported it; without one there is no need to
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None and type(sys.stdout).__module__.startswith("ipykernel.")


@contextmanager
def notebook_bar() -> Iterator[NotebookBar]:
    """A bar of which the last state is shown at the end, also after an error."""
    bar = NotebookBar()
    try:
        yield bar
    finally:
        bar.show()


class NotebookBar:
    """One task with its bar; called as a terminal's bar is (`rich.progress.Progress`)."""

    def __init__(self) -> None:
        self._begun = self._shown = time.perf_counter()
        self._display: Any = None
        self._name, self._words, self._done, self._total = "", "", 0.0, 1.0

    def add_task(self, description: str, *, total: float, words: str) -> int:
        """Show the bar, empty; the number is that of the only task."""
        self._name, self._words, self._total = description, words, total
        self.show()
        return 0

    def update(self, task: int, *, completed: float, words: str, description: str | None = None) -> None:
        """So much is done; what is shown follows a few times a second."""
        self._name, self._words, self._done = description or self._name, words, completed
        if time.perf_counter() - self._shown >= _SECONDS_BETWEEN_UPDATES:
            self.show()

    def show(self) -> None:
        """Replace what is shown by how things are."""
        self._shown = time.perf_counter()
        if self._display is None:
            self._display = sys.modules["IPython"].display.display(self._bundle(), raw=True, display_id=True)
        else:
            self._display.update(self._bundle(), raw=True)

    def _bundle(self) -> dict[str, str]:
        """The bar as text and as HTML."""
        seconds = f"{self._shown - self._begun:.1f} s"
        words = f"{self._words}, {seconds}" if self._words else seconds
        bar = f'<progress value="{self._done:.4g}" max="{self._total:g}" style="width:8em"></progress>'
        return {
            "text/plain": f"{self._name}: {words}",
            "text/html": f'<div style="font-family:monospace">{escape(self._name)} {bar} {escape(words)}</div>',
        }
