"""Kernel values in single precision: squares of some rows, the change of scores, and matrices that several fits share.

    square     k(x_i, x_j) among the rows of a working set, stored, because pair steps read them again and again
    change     sum_j step_j k(x_i, x_j) of every row i, for the rows j whose coefficient moved: each value is used
               once, so it is summed up straight out of the cache and never stored

Rows that are active for a while (`ActiveRows`) keep kernel rows among themselves, each from the third time that its
coefficient moves.

A kernel that has no fast form may be anybody's function, and slow. Its values are stored once and for all where they
fit, and else asked for again. So are those of rows with many entries, if the rows are few.

Inside `sharing` a problem with the same kernel on rows of the same X is given its part of one matrix of all rows, which
is formed when first asked for: that of a path over C.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._loops.kernel.pair_steps import add_rows, gather, mirror, pick
from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.backends.scratch import scratch
from maxmargin.backends.threads import StopFlag, over_ranges
from maxmargin.data import count_rows, take_rows
from maxmargin.kernels import Kernel
from maxmargin.kernels.panels import Panels
from maxmargin.problems import KernelProblem

_MOVES = 2  # of a row among active ones before its kernel row is kept: a new place in memory costs more than a value
_BRIEF_VALUES = 500_000  # kernel values that one thread adds up before another has woken
_COSTLY = 100  # entries of a row from which computing a value takes much longer than reading it
_FEW_ROWS = 8192
_CHUNK_VALUES = 1 << 22  # of an unknown kernel, asked for at a time
_LARGEST = 1 << 30  # bytes of a shared matrix where nobody says more

Single = NDArray[np.float32]


class KernelValues:
    """Kernel values between the used rows of a problem."""

    def __init__(self, problem: KernelProblem, budget: int, *, shifted: bool = False):
        self.problem, self.n_rows = problem, problem.n_rows
        self._panels: Panels | None = None
        if problem.kernel.on == "vectors" and problem.stored is None:
            self._panels = Panels.of(problem.kernel, problem.source.take(slice(None)), single=True, shifted=shifted)
        fits = 4 * self.n_rows**2 <= budget
        is_costly = self._panels is None or (self._panels.entries_a_row > _COSTLY and self.n_rows <= _FEW_ROWS)
        self.is_stored = problem.stored is not None or (fits and is_costly)

    def diagonal(self) -> Vector:
        """k(x_i, x_i) of every row; of the shifted kernel where it is."""
        if self._panels is None or self._panels.form.is_gaussian or self._panels.centre is None:
            return self.problem.diagonal()
        return 2.0 * self._panels.halves.astype(np.float64)

    def ready(self, rows: RowIndex) -> Panels | None:
        """The given rows, ready to meet others; None where values are stored, or asked of the kernel itself."""
        return None if self._panels is None or self.is_stored else self._panels.only(rows)

    def fill(
        self, rows: RowIndex, columns: RowIndex, out: Single, places: RowIndex, ready: Panels | None = None
    ) -> None:
        """k(x_i, x_j) for i in `rows` and j in `columns`, which may be ready, into the rows `places` of `out`."""
        if self.is_stored:
            pick(self.matrix, rows, columns.astype(np.uint32), places, out)
        elif self._panels is not None:
            (ready or self._panels.only(columns)).fill(self._panels.own.part(rows), out, places)
        else:
            for part in _chunks(len(rows), self.n_rows):
                out[places[part], : len(columns)] = self.problem.kernel_rows(rows[part])[:, columns]

    def change(
        self, rows: RowIndex, steps: Vector, among: RowIndex | None = None, ready: Panels | None = None
    ) -> Vector:
        """sum_j steps_j k(x_i, x_j) over the given rows j, for every row i, or for those `among` which are ready."""
        if self._panels is not None and not self.is_stored:
            left = self._panels.own if ready is None else ready.own
            return self._panels.only(rows).combine(left, steps[:, None])[:, 0]
        total = np.zeros(self.n_rows)
        if self.is_stored:
            _add_side_by_side(self.matrix, rows, steps, total)
        else:
            for part in _chunks(len(rows), self.n_rows):
                total += steps[part] @ self.problem.kernel_rows(rows[part])
        return total if among is None else total[among]

    @cached_property
    def matrix(self) -> Single:
        """All values, where they are stored."""
        if self.problem.stored is not None:
            return self.problem.stored
        matrix = scratch("kernel matrix", self.n_rows**2).reshape(self.n_rows, self.n_rows)
        if self._panels is not None:
            self._panels.fill_own(matrix)
            return matrix
        for part in _chunks(self.n_rows, self.n_rows):
            matrix[part] = self.problem.kernel_rows(np.arange(self.n_rows)[part])
        return matrix


class ActiveRows:
    """Some rows, and kernel rows among them: of those that moved several times."""

    def __init__(self, values: KernelValues, rows: RowIndex, buffer: Single):
        n = len(rows)
        self.rows = rows
        capacity = min(n, len(buffer) // n)
        self._values, self._kept = values, buffer[: capacity * n].reshape(capacity, n)
        self._slot_of = np.full(n, -1, dtype=np.int64)
        self._moves = np.zeros(n, dtype=np.int64)
        self._filled = 0
        self._ready = values.ready(rows)
        if values.is_stored and n == values.n_rows:
            self._kept, self._filled = values.matrix, n
            self._slot_of[:] = np.arange(n)

    def add(self, places: RowIndex, steps: Vector, F: Vector) -> None:
        """F_i += sum_j steps_j k(x_i, x_j) over active rows j at the given places, for every active row i."""
        self._moves[places] += 1
        is_kept = self._slot_of[places] >= 0
        wanted = np.flatnonzero(~is_kept & ((self._moves[places] > _MOVES) | (self._ready is None)))
        is_kept[wanted[: len(self._kept) - self._filled]] = True
        if not np.all(is_kept):
            F += self._values.change(self.rows[places[~is_kept]], steps[~is_kept], self.rows, self._ready)
        if np.any(is_kept):
            _add_side_by_side(self._kept, self._slots(places[is_kept]), steps[is_kept], F, _BRIEF_VALUES)

    def fill_square(self, places: RowIndex, fresh: RowIndex, Q: Single) -> None:
        """Rows and columns `fresh` of the kernel matrix Q among the active rows at the given places."""
        slots = self._slot_of[places[fresh]]
        present = slots >= 0
        kept, targets, order = slots[present], fresh[present], np.argsort(places)
        n_jobs = 1 if len(fresh) * len(places) < _BRIEF_VALUES else None

        def take_kept(start: int, end: int, stop: StopFlag) -> None:
            gather(self._kept, kept, places, order, targets, start, end, stop, Q)

        over_ranges(take_kept, len(kept), n_jobs, brief=True)
        missing = fresh[~present]
        if len(missing):
            self._values.fill(self.rows[places[missing]], self.rows[places], Q, missing)
        if len(fresh) < len(places):
            over_ranges(lambda *span: mirror(Q, fresh, *span), len(places), n_jobs, brief=True)

    def _slots(self, places: RowIndex) -> RowIndex:
        missing = places[self._slot_of[places] < 0]
        if len(missing):
            slots = np.arange(self._filled, self._filled + len(missing))
            self._values.fill(self.rows[missing], self.rows, self._kept, slots, self._ready)
            self._slot_of[missing] = slots
            self._filled += len(missing)
        return self._slot_of[places]


def _add_side_by_side(values: Single, slots: RowIndex, steps: Vector, total: Vector, brief: int = 0) -> None:
    """total_j += sum_p steps_p values[slots_p, j]; threads share the columns, where the values are not so few."""
    n_jobs = 1 if len(slots) * len(total) < brief else None

    def work(start: int, end: int, stop: StopFlag) -> None:
        add_rows(values, slots, steps, start, end, stop, total)

    over_ranges(work, len(total), n_jobs, brief=True)


def _chunks(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Rows of which an unknown kernel is asked at a time."""
    step = max(1, _CHUNK_VALUES // n_columns)
    return (slice(first, first + step) for first in range(0, n_rows, step))


# Matrices that are shared ---------------------------------------------------------------------------------------------


def kernel_matrix(kernel: Kernel, X: Rows) -> Single:
    """k(x_i, x_j) of all rows."""
    every = np.arange(count_rows(X))
    matrix = np.empty((len(every), len(every)), dtype=np.float32)
    panels = Panels.of(kernel, X, single=True) if kernel.on == "vectors" else None
    if panels is not None:
        panels.fill_own(matrix)
        return matrix
    for part in _chunks(len(every), len(every)):
        matrix[part] = kernel.columns(take_rows(X, part), X, every)
    return matrix


def submatrix(matrix: Single, rows: RowIndex, columns: RowIndex, name: str = "") -> Single:
    """Some rows and columns of a matrix; NumPy's way to say that is several times slower.

    A name says that they may lie where those of the same name lay before (`backends.scratch`).
    """
    size = len(rows) * len(columns)
    out = (scratch(name, size) if name else np.empty(size, dtype=np.float32)).reshape(len(rows), len(columns))
    pick(matrix, rows, columns.astype(np.uint32), np.arange(len(rows)), out)
    return out


class _SharedMatrix:
    def __init__(self, kernel: Kernel, X: Rows):
        self.kernel, self.X = kernel, X

    @cached_property
    def values(self) -> Single:
        return kernel_matrix(self.kernel, self.X)


_shared: ContextVar[_SharedMatrix | None] = ContextVar("shared", default=None)


@contextmanager
def sharing(kernel: Kernel, X: Rows, memory: int | None) -> Iterator[None]:
    """Let fits inside the block share the kernel matrix of X, if it fits the memory."""
    fits = 4 * count_rows(X) ** 2 <= (memory or _LARGEST)
    token = _shared.set(_SharedMatrix(kernel, X) if fits else None)
    try:
        yield
    finally:
        _shared.reset(token)


def with_shared_values(problem: KernelProblem) -> KernelProblem:
    """The problem, with its part of the shared matrix where there is one for it."""
    shared = _shared.get()
    if shared is None or problem.stored is not None or shared.kernel != problem.kernel:
        return problem
    if not _are_same(shared.X, problem.source.X):
        return problem
    rows = problem.source.rows
    return replace(problem, stored=shared.values if rows is None else submatrix(shared.values, rows, rows))


def _are_same(A: Rows, B: Rows) -> bool:
    """Whether two sets of rows are the same numbers in the same memory."""
    left, right = (X.data if sparse.issparse(X) else X for X in (A, B))
    if A is B or not isinstance(left, np.ndarray) or not isinstance(right, np.ndarray):
        return A is B
    return bool(A.shape == B.shape and left.__array_interface__ == right.__array_interface__)
