"""A progress bar in a notebook: one piece of output, which is replaced in place.

A notebook shows what is displayed under a name, and replaces it when something is displayed under the same name again.
Every front end can do that, with widgets and without, and a saved notebook keeps the last state. The bar is a
`<progress>` of HTML, which follows the light and the dark; where there is no HTML, it is a line of text.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

_SECONDS_BETWEEN_UPDATES = 0.1


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
