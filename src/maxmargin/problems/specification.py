"""Everything about a training problem except the data.

A fit builds its problem from a specification and the data; a certificate keeps the specification and builds the same
problem again when it is verified.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.data import ArraySource
from maxmargin.errors import DataError
from maxmargin.kernels import Kernel
from maxmargin.losses import Loss
from maxmargin.penalties import L2, Penalty
from maxmargin.problems.intercept import Intercept
from maxmargin.problems.kernel import KernelProblem
from maxmargin.problems.linear import LinearProblem
from maxmargin.problems.problem import Problem, ProblemKind
from maxmargin.problems.tasks import Task


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
