"""Scikit-learn's callbacks, such as its progress bar, on the estimators of this library.

Scikit-learn 1.9 brought `model.set_callbacks(...)`. With an older one the estimators simply lack that method. A fit is
a tree of tasks, of which the callbacks are told begin and end:

    fit                  one a fit
      sub-problem        one a class or pair of classes, where there are several
        check            the way from one look at the duality gap to the next

How many checks there will be nobody knows beforehand. Like scikit-learn's own, the last task of a row is empty: it was
begun when the solver stopped. At the end of the fit a callback may have the fitted estimator. A callback that asks to
stop early is not obeyed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from maxmargin._types import Labels, Rows, Vector
from maxmargin.problems import History, Status

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]  # the other one of the two that the import chose from
        """Stands in for scikit-learn's; there is nothing to support."""

    def with_callbacks(method: Any) -> Any:
        """Stand in for scikit-learn's."""
        return method


__all__ = ["CallbackSupportMixin", "FitCallbacks"]


class FitCallbacks:
    """Tells the callbacks of an estimator about one fit; a `Watcher` of its sub-problems."""

    def __init__(self, estimator: Any, tasks: Sequence[str], X: Rows, y: Labels, sample_weight: Vector | None):
        self.estimator = estimator
        self.data = {"X": X, "y": y, "metadata": None if sample_weight is None else {"sample_weight": sample_weight}}
        several = len(tasks) > 1
        try:
            self.root = estimator._init_callback_context(
                max_subtasks=len(tasks) if several else None, sequential_subtasks=not several
            )
            self.root.call_on_fit_task_begin(estimator=estimator, **self.data)
        except BaseException:  # also after Ctrl-C the callbacks are told that the fit is over
            self.abandon()
            raise
        # Made here, in one thread; the sub-problems may be solved in several.
        self.parts = [
            self.root.subcontext(task_name=task, task_id=number, max_subtasks=None) if several else self.root
            for number, task in enumerate(tasks)
        ]
        self.open: dict[int, Any] = {}

    def begin(self, number: int) -> None:
        """A sub-problem is begun."""
        if self.parts[number] is not self.root:
            self.parts[number].call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self._open_check(number)

    def check(self, number: int, history: History) -> None:
        """One check ends where the next begins."""
        self.open.pop(number).call_on_fit_task_end(estimator=self.estimator, **self.data)
        self._open_check(number)

    def end(self, number: int, status: Status | None) -> None:
        """It has ended."""
        if number in self.open:
            self.open.pop(number).call_on_fit_task_end(estimator=self.estimator)
        if self.parts[number] is not self.root:
            self.parts[number].call_on_fit_task_end(estimator=self.estimator, **self.data)

    def _open_check(self, number: int) -> None:
        context = self.parts[number].subcontext(task_name="check")
        context.call_on_fit_task_begin(estimator=self.estimator, **self.data)
        self.open[number] = context

    def finish(self) -> None:
        """The fit is over and the estimator fitted."""
        try:
            self.root.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes={}, **self.data)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Let the callbacks take down what they set up, also after an error."""
        _take_down(self.estimator)


_take_down: Callable[[Any], None] = with_callbacks(lambda estimator: None)
