"""Rows of data inside compiled loops: the only file that knows how they are laid out.

A loop takes `DenseRows` or `CSRRows` and calls the functions below; one source of a loop serves both. Without the
compiler (NUMBA_DISABLE_JIT=1) the plain bodies run; they are the meaning. The compiled versions are registered at the
end.

Bounds and columns are unsigned inside the compiled loops: with signed ones LLVM cannot tell that a gather stays in
range and emits one five times slower.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload

from maxmargin._loops.compiling import FAST


class DenseRows(NamedTuple):
    """Rows of a C-ordered matrix."""

    values: Any


class CSRRows(NamedTuple):
    """Rows of a sparse matrix: entries starts[i] to starts[i + 1] - 1 belong to row i."""

    values: Any
    columns: Any
    starts: Any


def row_dot(rows: Any, i: Any, w: Any) -> float:
    """The inner product <x_i, w>."""
    if isinstance(rows, DenseRows):
        return float(rows.values[i] @ w)
    span = slice(rows.starts[i], rows.starts[i + 1])
    return float(rows.values[span] @ w[rows.columns[span]])


def add_row(rows: Any, i: Any, factor: Any, w: Any) -> None:
    """Add factor times x_i to w, in place."""
    if isinstance(rows, DenseRows):
        w += factor * rows.values[i]
    else:
        span = slice(rows.starts[i], rows.starts[i + 1])
        np.add.at(w, rows.columns[span], factor * rows.values[span])


def add_squared_row(rows: Any, i: Any, factor: Any, w: Any) -> None:
    """Add factor times the squared entries of x_i to w, in place."""
    if isinstance(rows, DenseRows):
        w += factor * np.square(rows.values[i])
    else:
        span = slice(rows.starts[i], rows.starts[i + 1])
        np.add.at(w, rows.columns[span], factor * np.square(rows.values[span]))


def careful_row_dot(rows: Any, i: Any, w: Any) -> float:
    """The inner product <x_i, w>, added in the order of the entries: what a certificate reports."""
    return row_dot(rows, i, w)


def careful_add_row(rows: Any, i: Any, factor: Any, w: Any, missed: Any) -> None:
    """Add factor times x_i to w; what rounding loses of each sum is collected in `missed`."""
    step = np.zeros_like(w)
    add_row(rows, i, factor, step)
    total = w + step
    missed += np.where(np.abs(w) >= np.abs(step), (w - total) + step, (step - total) + w)
    w[:] = total


def row_square(rows: Any, i: Any) -> float:
    """The squared norm |x_i|^2."""
    if isinstance(rows, DenseRows):
        return float(rows.values[i] @ rows.values[i])
    span = slice(rows.starts[i], rows.starts[i + 1])
    return float(rows.values[span] @ rows.values[span])


def copy_row(rows: Any, i: Any, into: Any, at: Any) -> None:
    """Row i becomes row `at` of `into`; of sparse rows all before `at` must be there already."""
    if isinstance(rows, DenseRows):
        into.values[at] = rows.values[i]
        return
    first, last, top = rows.starts[i], rows.starts[i + 1], into.starts[at]
    into.values[top : top + last - first] = rows.values[first:last]
    into.columns[top : top + last - first] = rows.columns[first:last]
    into.starts[at + 1] = top + last - first


def row_fits(rows: Any, i: Any, into: Any, at: Any, end: Any) -> bool:
    """Whether the entries of row i have room in `into` behind its rows before `at`, and before entry `end`."""
    if isinstance(rows, DenseRows):
        return True
    return bool(into.starts[at] + rows.starts[i + 1] - rows.starts[i] <= end)


def _is_dense(rows: Any) -> bool:
    return isinstance(rows, types.BaseNamedTuple) and getattr(rows, "instance_class", None) is DenseRows


_OPTIONS: Any = {"fastmath": FAST, "nogil": True}


@overload(row_dot, jit_options=_OPTIONS, inline="never")
def _row_dot(rows: Any, i: Any, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, w: Any) -> float:
            x = rows.values[i]
            total = 0.0
            for j in range(np.uintp(len(x))):
                total += x[j] * w[j]
            return total

        return dense

    def sparse(rows: Any, i: Any, w: Any) -> float:
        total = 0.0
        for k in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            total += rows.values[k] * w[np.uint32(rows.columns[k])]
        return total

    return sparse


@overload(add_row, jit_options=_OPTIONS, inline="never")
def _add_row(rows: Any, i: Any, factor: Any, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, factor: Any, w: Any) -> None:
            x = rows.values[i]
            for j in range(np.uintp(len(x))):
                w[j] += factor * x[j]

        return dense

    def sparse(rows: Any, i: Any, factor: Any, w: Any) -> None:
        for k in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            w[np.uint32(rows.columns[k])] += factor * rows.values[k]

    return sparse


@overload(add_squared_row, jit_options=_OPTIONS, inline="never")
def _add_squared_row(rows: Any, i: Any, factor: Any, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, factor: Any, w: Any) -> None:
            x = rows.values[i]
            for j in range(np.uintp(len(x))):
                w[j] += factor * x[j] * x[j]

        return dense

    def sparse(rows: Any, i: Any, factor: Any, w: Any) -> None:
        for k in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            w[np.uint32(rows.columns[k])] += factor * rows.values[k] * rows.values[k]

    return sparse


@overload(row_square, jit_options=_OPTIONS, inline="never")
def _row_square(rows: Any, i: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any) -> float:
            x = rows.values[i]
            total = 0.0
            for j in range(np.uintp(len(x))):
                total += float(x[j]) * float(x[j])
            return total

        return dense

    def sparse(rows: Any, i: Any) -> float:
        total = 0.0
        for k in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            total += float(rows.values[k]) * float(rows.values[k])
        return total

    return sparse


@overload(copy_row, jit_options=_OPTIONS, inline="never")
def _copy_row(rows: Any, i: Any, into: Any, at: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, into: Any, at: Any) -> None:
            x, place = rows.values[i], into.values[at]
            for j in range(np.uintp(len(x))):
                place[j] = x[j]

        return dense

    def sparse(rows: Any, i: Any, into: Any, at: Any) -> None:
        first, top = np.uintp(rows.starts[i]), np.uintp(into.starts[at])
        length = np.uintp(rows.starts[i + 1]) - first
        for k in range(length):
            into.values[top + k] = rows.values[first + k]
            into.columns[top + k] = rows.columns[first + k]
        into.starts[at + 1] = into.starts[at] + np.int64(length)

    return sparse


@overload(row_fits, jit_options=_OPTIONS, inline="never")
def _row_fits(rows: Any, i: Any, into: Any, at: Any, end: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, into: Any, at: Any, end: Any) -> bool:
            return True

        return dense

    def sparse(rows: Any, i: Any, into: Any, at: Any, end: Any) -> Any:
        return into.starts[at] + rows.starts[i + 1] - rows.starts[i] <= end

    return sparse


_EXACT: Any = {"nogil": True}  # no reordering: it would take a compensated sum for zero


@overload(careful_row_dot, jit_options=_EXACT, inline="never")
def _careful_row_dot(rows: Any, i: Any, w: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, w: Any) -> float:
            x = rows.values[i]
            total = 0.0
            for j in range(np.uintp(len(x))):
                total += x[j] * w[j]
            return total

        return dense

    def sparse(rows: Any, i: Any, w: Any) -> float:
        total = 0.0
        for k in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            total += rows.values[k] * w[np.uint32(rows.columns[k])]
        return total

    return sparse


@overload(careful_add_row, jit_options=_EXACT, inline="never")
def _careful_add_row(rows: Any, i: Any, factor: Any, w: Any, missed: Any) -> Any:
    if _is_dense(rows):

        def dense(rows: Any, i: Any, factor: Any, w: Any, missed: Any) -> None:
            x = rows.values[i]
            for j in range(np.uintp(len(x))):
                before, step = w[j], factor * x[j]
                total = before + step
                missed[j] += (before - total) + step if abs(before) >= abs(step) else (step - total) + before
                w[j] = total

        return dense

    def sparse(rows: Any, i: Any, factor: Any, w: Any, missed: Any) -> None:
        for k in range(np.uintp(rows.starts[i]), np.uintp(rows.starts[i + 1])):
            j = np.uint32(rows.columns[k])
            before, step = w[j], factor * rows.values[k]
            total = before + step
            missed[j] += (before - total) + step if abs(before) >= abs(step) else (step - total) + before
            w[j] = total

    return sparse
