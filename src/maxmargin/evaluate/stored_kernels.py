"""Kernel values of all rows, computed once for every fold, every pair of classes and every C of a search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.backends.threads import StopFlag
from maxmargin.data import count_rows
from maxmargin.kernels import Kernel
from maxmargin.problems import KernelProblem, Specification
from maxmargin.solvers.ascent import Ascent
from maxmargin.solvers.blocks import Blocks
from maxmargin.solvers.kernel_values import kernel_matrix, submatrix


class StoredKernel:
    """A kernel matrix over rows X, in single precision: to search, not to certify."""

    def __init__(self, kernel: Kernel, X: Rows):
        self.kernel, self.X = kernel, X
        self.values = kernel_matrix(kernel, X)

    def among(self, rows: RowIndex, columns: RowIndex, name: str) -> NDArray[np.float32]:
        """Values of some rows against some others, in memory that the next of that name may take over."""
        return submatrix(self.values, rows, columns, name)

    def problem(
        self, specification: Specification, y: Labels, sample_weight: Vector | None, used: RowIndex
    ) -> tuple[KernelProblem, RowIndex]:
        """The problem of a specification on some rows, with its part of the matrix, and its rows among those of X."""
        weight = None if sample_weight is None else sample_weight[used]
        problem, rows = specification.problem(_Positions(self.X, used), y[used], weight)
        assert isinstance(problem, KernelProblem)
        place = used if rows is None else used[rows]
        source = replace(problem.source, X=self.X, rows=place)
        return replace(problem, source=source, stored=self.among(place, place, "rows of a problem")), place


class _Positions:
    """Stands for the chosen rows while a specification looks at their labels; the rows themselves are not copied."""

    def __init__(self, X: Rows, used: RowIndex):
        self.shape = (len(used), *getattr(X, "shape", (count_rows(X),))[1:])
        self.ndim = len(self.shape)


def ascents(problem: KernelProblem, costs: Sequence[float], settings: Blocks, stop: StopFlag) -> Iterator[Ascent]:
    """The problem solved for every C, increasing, each from the answer before it."""
    before: Ascent | None = None
    for C in costs:
        ascent = settings.ascent(replace(problem, C=float(C)), None)
        ascent.is_for_scores = True
        if before is not None:
            ascent.go_on_from(before)
        ascent.run(stop)
        before = ascent
        yield ascent
