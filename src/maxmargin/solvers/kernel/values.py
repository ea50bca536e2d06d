"""Kernel values as a working-set method wants them: squares of some rows, and the change of scores.

    square     k(x_i, x_j) among the rows of a working set, stored, because pair steps read them again and again
    change     sum_j step_j k(x_i, x_j) of every row i, for the rows j whose coefficient moved: each value is used
               once, so it is summed up straight out of the cache and never stored

Rows that are active for a while (`ActiveRows`) keep kernel rows among themselves, each from the third time that its
coefficient moves.

A kernel that has no fast form may be anybody's function, and slow. Its values are stored once and for all where they
fit, and else asked for again. So are those of rows with many entries, if the rows are few.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.kernel.working_sets import add_rows, gather, mirror, pick
from maxmargin._types import RowIndex, Rows, Vector
from maxmargin.backends.scratch import scratch
from maxmargin.backends.threads import over_ranges
from maxmargin.data import count_rows
from maxmargin.kernels import Kernel
from maxmargin.kernels.panels import Panels
from maxmargin.problems import KernelProblem

_MOVES = 2  # of a row among active ones before its kernel row is kept: a new place in memory costs more than a value
_BRIEF_VALUES = 500_000  # kernel values that one thread adds up before another has woken
_COSTLY = 100  # entries of a row from which computing a value takes much longer than reading it
_FEW_ROWS = 8192
_CHUNK_VALUES = 1 << 22  # of an unknown kernel, asked for at a time


class KernelValues:
    """Kernel values between the used rows of a problem, in single precision."""

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
        """The given rows, ready to meet others."""
        return None if self._panels is None or self.is_stored else self._panels.only(rows)

    def fill_ready(
        self, rows: RowIndex, ready: Panels | None, columns: RowIndex, out: NDArray[np.float32], places: RowIndex
    ) -> None:
        """`fill` for columns that were made ready."""
        if self._panels is None or ready is None:
            self.fill(rows, columns, out, places)
        else:
            ready.fill(self._panels.own.part(rows), out, places)

    def fill(self, rows: RowIndex, columns: RowIndex, out: NDArray[np.float32], places: RowIndex) -> None:
        """k(x_i, x_j) for i in `rows` and j in `columns`, into the rows `places` of `out`."""
        if self._panels is not None and not self.is_stored:
            self._panels.only(columns).fill(self._panels.own.part(rows), out, places)
            return
        if self.is_stored:
            pick(self.matrix, rows, columns.astype(np.uint32), places, out)
            return
        for part in self._chunks(rows):
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
            over_ranges(
                lambda start, end, stop: add_rows(self.matrix, rows, steps, start, end, stop, total),
                self.n_rows,
                brief=True,
            )
        else:
            for part in self._chunks(rows):
                total += steps[part] @ self.problem.kernel_rows(rows[part])
        return total if among is None else total[among]

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """All values, where they are stored."""
        if self.problem.stored is not None:
            return self.problem.stored
        matrix = scratch("kernel matrix", self.n_rows**2).reshape(self.n_rows, self.n_rows)
        if self._panels is not None:
            self._panels.fill_own(matrix)
            return matrix
        every = np.arange(self.n_rows)
        for part in self._chunks(every):
            matrix[part] = self.problem.kernel_rows(every[part])
        return matrix

    def _chunks(self, rows: RowIndex) -> list[slice]:
        step = max(1, _CHUNK_VALUES // self.n_rows)
        return [slice(first, first + step) for first in range(0, len(rows), step)]


def kernel_matrix(kernel: Kernel, X: Rows) -> NDArray[np.float32]:
    """k(x_i, x_j) of all rows, in single precision."""
    n = count_rows(X)
    matrix = np.empty((n, n), dtype=np.float32)
    panels = Panels.of(kernel, X, single=True) if kernel.on == "vectors" else None
    if panels is not None:
        panels.fill_own(matrix)
        return matrix
    every = np.arange(n)
    step = max(1, _CHUNK_VALUES // n)
    for first in range(0, n, step):
        part = every[first : first + step]
        matrix[part] = kernel.columns(X[part] if hasattr(X, "shape") else [X[i] for i in part], X, every)
    return matrix


def submatrix(matrix: NDArray[np.float32], rows: RowIndex, columns: RowIndex, name: str = "") -> NDArray[np.float32]:
    """Some rows and columns of a matrix; NumPy's way to say that is several times slower.

    A name says that they may lie where those of the same name lay before (`backends.scratch`).
    """
    size = len(rows) * len(columns)
    out = (scratch(name, size) if name else np.empty(size, dtype=np.float32)).reshape(len(rows), len(columns))
    pick(matrix, rows, columns.astype(np.uint32), np.arange(len(rows)), out)
    return out


class ActiveRows:
    """Some rows, and kernel rows among them: of those that moved several times."""

    def __init__(self, values: KernelValues, rows: RowIndex, buffer: NDArray[np.float32]):
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
        if not np.any(is_kept):
            return
        slots, others = self._slots(places[is_kept]), steps[is_kept]
        n_jobs = 1 if len(slots) * len(F) < _BRIEF_VALUES else None
        over_ranges(
            lambda start, end, stop: add_rows(self._kept, slots, others, start, end, stop, F),
            len(F),
            n_jobs,
            brief=True,
        )

    def fill_square(self, places: RowIndex, fresh: RowIndex, Q: NDArray[np.float32]) -> None:
        """Rows and columns `fresh` of the kernel matrix Q among the active rows at the given places."""
        slots = self._slot_of[places[fresh]]
        present = slots >= 0
        kept, targets, order = slots[present], fresh[present], np.argsort(places)
        n_jobs = 1 if len(fresh) * len(places) < _BRIEF_VALUES else None
        over_ranges(
            lambda start, end, stop: gather(self._kept, kept, places, order, targets, start, end, stop, Q),
            len(kept),
            n_jobs,
            brief=True,
        )
        missing = fresh[~present]
        if len(missing):
            self._values.fill(self.rows[places[missing]], self.rows[places], Q, missing)
        if len(fresh) < len(places):
            over_ranges(lambda start, end, stop: mirror(Q, fresh, start, end, stop), len(places), n_jobs, brief=True)

    def _slots(self, places: RowIndex) -> RowIndex:
        missing = places[self._slot_of[places] < 0]
        if len(missing):
            slots = np.arange(self._filled, self._filled + len(missing))
            self._values.fill_ready(self.rows[missing], self._ready, self.rows, self._kept, slots)
            self._slot_of[missing] = slots
            self._filled += len(missing)
        return self._slot_of[places]
