"""Everything about a training problem except the data: which rows a sub-problem uses, loss, cost, intercept, kernel.

A classifier of many classes is several binary problems over the same rows. Each is named by its task, so that a
certificate can build the sub-problem again from the user's own labels.

A fit builds its problem from a specification and the data; a certificate keeps the specification and builds the same
problem again when it is verified.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.data import ArraySource
from maxmargin.errors import DataError, label_in_words
from maxmargin.kernels import Kernel
from maxmargin.losses import Loss
from maxmargin.penalties import L2, Penalty
from maxmargin.problems.intercept import Intercept
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.problem import LinearProblem, Problem, ProblemKind


class Task(ABC):
    """Rows and targets of a sub-problem."""

    @abstractmethod
    def rows(self, y: Labels) -> RowIndex | None:
        """Positions of the rows used, or None for all."""

    @abstractmethod
    def targets(self, y: Labels) -> Vector:
        """Targets of the given rows (those used)."""

    @property
    def aim(self) -> str:
        """What it is for, where a machine has one for each of several aims."""
        return ""


@dataclass(frozen=True)
class Regression(Task):
    """All rows, with their numbers."""

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """The numbers themselves."""
        return np.asarray(y, dtype=np.float64)

    def __str__(self) -> str:
        return "regression"


@dataclass(frozen=True)
class Pair(Task):
    """Rows of two classes: +1 for `positive`, -1 for `negative`."""

    negative: Any
    positive: Any

    def rows(self, y: Labels) -> RowIndex | None:
        """Rows of either class; None where there is no third."""
        used = (y == self.positive) | (y == self.negative)
        return None if np.all(used) else np.flatnonzero(used)

    def targets(self, y: Labels) -> Vector:
        """+1 or -1."""
        return np.where(y == self.positive, 1.0, -1.0)

    def __str__(self) -> str:
        return f"{self.positive} against {self.negative}"

    @property
    def aim(self) -> str:
        """Which classes are told from each other."""
        return f"for telling class {label_in_words(self.positive)} from class {label_in_words(self.negative)}"


@dataclass(frozen=True)
class OneClass(Task):
    """All rows, on the same side; labels have no meaning."""

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """+1."""
        return np.ones(len(y))

    def __str__(self) -> str:
        return "one class"


@dataclass(frozen=True)
class OneVersusRest(Task):
    """All rows: +1 for `positive`, -1 for every other class."""

    positive: Any

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """+1 or -1."""
        return np.where(y == self.positive, 1.0, -1.0)

    def __str__(self) -> str:
        return f"{self.positive} against the rest"

    @property
    def aim(self) -> str:
        """Which class is told from the others."""
        return f"for telling class {label_in_words(self.positive)} from the other classes"


@dataclass(frozen=True)
class AllClasses(Task):
    """All rows, with the number of their class."""

    classes: tuple[Any, ...]

    def rows(self, y: Labels) -> None:
        """All."""
        return

    def targets(self, y: Labels) -> Vector:
        """0, 1, ..., K - 1."""
        return np.searchsorted(np.asarray(self.classes), y).astype(np.float64)

    def __str__(self) -> str:
        return f"{len(self.classes)} classes at once"


@dataclass(frozen=True)
class Specification(ProblemKind):
    """Task, loss, cost, intercept, and a kernel (None for a linear problem)."""

    task: Task
    loss: Loss
    C: float
    intercept: Intercept
    kernel: Kernel | None = None
    penalty: Penalty = L2()  # noqa: RUF009 - a frozen value
    class_weight: tuple[tuple[Any, float], ...] = field(default=())
    """Factor on C of each label that has one."""
    nu: float | None = None
    """Share of rows that may be margin errors; a certificate is about the C or epsilon that it led to, not about it."""

    def problem(self, X: Rows, y: Labels, sample_weight: Vector | None = None) -> tuple[Problem, RowIndex | None]:
        """The problem on these arrays, and the positions of the rows it uses (None for all).

        C_i = C * class_weight * sample_weight. Rows with C_i = 0 are left out: they are as good as absent.
        """
        rows = self.task.rows(y)
        labels = y if rows is None else y[rows]
        weight = self._row_weights(labels, None if sample_weight is None else sample_weight[_all(rows)])
        if np.any(weight == 0.0):
            kept = np.flatnonzero(weight)
            rows = kept if rows is None else rows[kept]
            labels, weight = labels[kept], weight[kept]
        if len(labels) == 0:
            raise DataError("every row has weight zero; at least one row must count.")
        targets = self.task.targets(labels)
        source = ArraySource(X, targets, weight, rows)
        if self.kernel is None:
            return LinearProblem(source, self.loss, self.C, self.intercept, self.penalty), rows
        return KernelProblem(source, self.loss, self.C, self.intercept, self.kernel, self.nu), rows

    def _row_weights(self, labels: Labels, sample_weight: Vector | None) -> Vector:
        weight = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        for label, factor in self.class_weight:
            weight = np.where(labels == label, weight * factor, weight)
        return weight


def _all(rows: RowIndex | None) -> RowIndex | slice:
    return slice(None) if rows is None else rows
