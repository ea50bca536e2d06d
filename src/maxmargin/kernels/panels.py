"""Kernel values of many rows against many rows, at the speed of the machine.

The right rows b are cut into panels, stored with one row a feature, scaled so that the kernel needs only an inner
product and what depends on one side:

    Gaussian      rows times sqrt(2 gamma):    k(a, b) = exp(<a, b> - 1/2 |a|^2 - 1/2 |b|^2)
    polynomial    rows times sqrt(gamma):      k(a, b) = (<a, b> + coef0)^degree
    linear        rows as they are:            k(a, b) = <a, b>

A batch of left rows meets a panel in a matrix product whose result stays in the cache while it becomes kernel values.
Left rows that are mostly zeros meet the panel entry by entry. Where there are too many features for panels, a few left
rows at a time are spread out over all features, and the right rows meet them entry by entry.

Gaussian values lose digits where gamma |a|^2 is large, because the exponent is a difference of large numbers. Dense
rows are therefore taken relative to their mean, and single precision is left for double where it would lose more than
a few bits. Where double would, or for any other kernel, there are no panels (`Panels.of` gives None), and the caller
asks the kernel itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from maxmargin._types import Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import StopFlag, one_blas_thread, over_ranges
from maxmargin.data import squared_norms
from maxmargin.kernels.base import Kernel
from maxmargin.kernels.vectors import Gaussian, Linear, Polynomial

_USUAL = 64.0  # half a squared length, in the exponent: at this mean, single precision loses six bits of most values
_LONGEST = 4096.0  # the same for a single row: twelve bits, of values that are next to zero except among outliers
_LONGEST_DOUBLE = 1e5  # the same for double precision: eleven digits are left even among outliers
_BARELY = 1e7  # the longest row for double precision whose values are stored in single
_LARGEST_SINGLE = 1e30  # kernel values that single precision may hold, with room for sums of them
_PANEL_BYTES = 1 << 19
_BATCH = 256
_BATCHES = 8
_PART = 32_768  # left rows that are scaled at a time
_FEW = 32  # left rows that are spread out over all features at a time
_MAX_DENSE_FEATURES = 4096
_SPARSE = 0.15  # share of entries other than zero below which rows are taken entry by entry


class _Form(NamedTuple):
    """A kernel as a function of inner products of scaled rows."""

    scale: float
    is_gaussian: bool
    coef0: float = 0.0
    degree: int = 1


def _form(kernel: Kernel) -> _Form | None:
    if isinstance(kernel, Gaussian):
        return _Form(math.sqrt(2.0 * kernel.gamma), True)
    if isinstance(kernel, Linear):
        return _Form(1.0, False)
    if isinstance(kernel, Polynomial) and isinstance(kernel.degree, int) and kernel.degree >= 1:
        return _Form(math.sqrt(kernel.gamma), False, kernel.coef0, kernel.degree)
    return None


class Batch(NamedTuple):
    """Left rows, scaled; `halves` has 1/2 |a|^2 of each."""

    rows: Rows
    halves: NDArray[Any]

    def part(self, which: slice | RowIndex) -> Batch:
        """Some of the rows."""
        return Batch(self.rows[which], self.halves[which])


@dataclass(frozen=True)
class Panels:
    """Right rows, ready to meet batches of left rows."""

    form: _Form
    rows: Rows
    """The right rows, scaled: dense or CSR."""
    halves: NDArray[Any]
    centre: Vector | None
    dtype: Any
    """Precision of the arithmetic, float32 or float64."""

    @classmethod
    def of(cls, kernel: Kernel, rows: Rows, *, single: bool, shifted: bool = False) -> Panels | None:
        """Panels of the given rows; None where the kernel has no fast form, or not on these rows.

        With `single` the values are as precise as numbers stored in single precision need be. With `shifted` those of
        a linear kernel are of rows relative to their mean, where that is far from the origin: good for sums with
        coefficients that add up to zero, which change by the same number for all rows.
        """
        form = _form(kernel)
        if form is None or rows.shape[1] == 0:
            return None
        rows = _entries_where_few(rows)
        halves = 0.5 * form.scale**2 * squared_norms(rows)
        centre: Vector | None = None
        is_linear = not form.is_gaussian and form.degree == 1
        if (form.is_gaussian and not _are_short(halves)) or (shifted and is_linear and _are_far(rows)):
            if sparse.issparse(rows) and rows.shape[1] <= _MAX_DENSE_FEATURES:
                rows = rows.toarray()
            if not sparse.issparse(rows):
                centre = np.asarray(np.mean(rows, axis=0, dtype=np.float64))
                halves = 0.5 * form.scale**2 * squared_norms(rows, centre)
        longest = float(np.max(halves, initial=0.0))
        if form.is_gaussian and longest > (_BARELY if single else _LONGEST_DOUBLE):
            return None
        if not form.is_gaussian and (2.0 * longest + abs(form.coef0)) ** form.degree > _LARGEST_SINGLE:
            return None
        dtype = np.float32 if single and (not form.is_gaussian or _are_short(halves)) else np.float64
        scaled, halves = _scaled(rows, form, centre, dtype)
        return cls(form, scaled, halves, centre, dtype)

    def only(self, which: RowIndex) -> Panels:
        """Panels of some of the right rows."""
        return Panels(self.form, self.rows[which], self.halves[which], self.centre, self.dtype)

    @property
    def n_columns(self) -> int:
        """Number of right rows."""
        return len(self.halves)

    @property
    def entries_a_row(self) -> float:
        """Entries of a row that take part in a product."""
        entries = self.rows.nnz / max(1, self.n_columns) if sparse.issparse(self.rows) else self.rows.shape[1]
        return float(entries)

    @cached_property
    def width(self) -> int:
        """Right rows in a panel."""
        features = min(self.rows.shape[1], _MAX_DENSE_FEATURES)
        fitting = _PANEL_BYTES // (features * np.dtype(self.dtype).itemsize)
        return int(min(512, max(64, fitting // 64 * 64)))

    @cached_property
    def _is_wide(self) -> bool:
        return bool(sparse.issparse(self.rows) and self.rows.shape[1] > _MAX_DENSE_FEATURES)

    @cached_property
    def _panels(self) -> list[NDArray[Any]]:
        """Features by right rows, a panel each."""
        panels = []
        for first in range(0, self.n_columns, self.width):
            part = self.rows[first : first + self.width]
            panels.append(np.ascontiguousarray((part.toarray() if sparse.issparse(part) else part).T))
        return panels

    def batch(self, A: Rows) -> Batch:
        """Left rows as the panels take them."""
        is_dense = not sparse.issparse(self.rows)
        if sparse.issparse(A) and is_dense:  # or made dense, to be centred
            A = A.toarray()
        elif self.centre is None:
            A = _entries_where_few(A) if is_dense else sparse.csr_matrix(A)
        return Batch(*_scaled(A, self.form, self.centre, self.dtype))

    @cached_property
    def own(self) -> Batch:
        """The right rows as left ones."""
        return Batch(self.rows, self.halves)

    def fill(self, left: Batch, out: NDArray[Any], places: RowIndex | None = None) -> None:
        """k(a_i, b_j) into row places[i] of `out`, which has one column a right row; threads share the columns."""
        targets = np.arange(len(left.halves)) if places is None else places
        n_panels = -(-self.n_columns // self.width)
        self._prepare()

        def work(start: int, end: int, stop: StopFlag) -> None:
            for first, products, rows in self._tiles(left, range(start, end)):
                if stop[0] != 0:
                    return
                self._finish(products, left.halves[rows], first, targets[rows], first, out)

        with one_blas_thread():
            over_ranges(work, n_panels, brief=True)

    def fill_own(self, out: NDArray[Any]) -> None:
        """k(b_i, b_j) of all right rows into the square `out`: half of it computed, the other half mirrored."""
        from maxmargin._loops.kernel.tiles import mirror_lower

        n, width = self.n_columns, self.width
        n_panels = -(-n // width)
        self._prepare()

        def work(start: int, end: int, stop: StopFlag) -> None:
            for turn in range(start, end):
                # The first panels have the most rows below them: one from each end is the same work for everybody.
                for panel in {turn, n_panels - 1 - turn}:
                    below = np.arange(panel * width, n)
                    left = self.own.part(slice(panel * width, n))
                    for first, products, rows in self._tiles(left, range(panel, panel + 1)):
                        if stop[0] != 0:
                            return
                        self._finish(products, self.halves[below[rows]], first, below[rows], first, out)

        def finish(start: int, end: int, stop: StopFlag) -> None:
            mirror_lower(out, n, width, start, end, stop)

        with one_blas_thread():
            over_ranges(work, -(-n_panels // 2), brief=True)
        over_ranges(finish, n_panels, brief=True)

    def combine(self, left: Batch, coefficients: Matrix) -> Matrix:
        """sum_j k(a_i, b_j) coefficients_jk, in double precision; threads share the left rows."""
        total = np.zeros((len(left.halves), coefficients.shape[1]))
        n_batches = -(-len(total) // _BATCH)
        n_panels = -(-self.n_columns // self.width)
        self._prepare()
        add = self._adder(np.ascontiguousarray(coefficients))

        def work(start: int, end: int, stop: StopFlag) -> None:
            # Several batches meet a panel while it is in the cache.
            for top in range(start, end, _BATCHES):
                rows = slice(top * _BATCH, min(top + _BATCHES, end) * _BATCH)
                part, sums = left.part(rows), total[rows]
                for first, products, inside in self._tiles(part, range(n_panels)):
                    if stop[0] != 0:
                        return
                    add(products, part.halves[inside], first, sums[inside])

        with one_blas_thread():
            over_ranges(work, n_batches, brief=True)
        return total

    def suits(self, A: Rows) -> bool:
        """Whether left rows are short enough for the precision of the panels."""
        if not self.form.is_gaussian:
            return True
        norms = squared_norms(A, None if sparse.issparse(A) else self.centre)
        return 0.5 * self.form.scale**2 * float(np.max(norms, initial=0.0)) <= _LONGEST_DOUBLE

    def combine_all(self, A: Rows, coefficients: Matrix) -> Matrix:
        """`combine` for rows as they come, a part of them copied at a time."""
        total = np.empty((A.shape[0], coefficients.shape[1]))
        for first in range(0, A.shape[0], _PART):
            part = slice(first, first + _PART)
            total[part] = self.combine(self.batch(A[part]), coefficients)
        return total

    def _adder(self, coefficients: Matrix) -> Callable[[NDArray[Any], NDArray[Any], int, Matrix], None]:
        """What adds a tile to the sums of its left rows."""
        from maxmargin._loops.kernel.tiles import gaussian_sums_double, gaussian_sums_single

        if self.form.is_gaussian and coefficients.shape[1] == 1:
            sum_up = gaussian_sums_single if self.dtype == np.float32 else gaussian_sums_double
            weights = coefficients[:, 0]

            def straight(products: NDArray[Any], halves: NDArray[Any], first: int, sums: Matrix) -> None:
                columns = slice(first, first + products.shape[1])
                sum_up(products, halves, self.halves[columns], weights[columns], sums[:, 0])

            return straight

        def stored(products: NDArray[Any], halves: NDArray[Any], first: int, sums: Matrix) -> None:
            # Values do not overwrite the products: a loop whose input is its output has no vector instructions.
            values = np.empty(products.shape)
            self._finish(products, halves, first, np.arange(len(values)), 0, values)
            sums += values @ coefficients[first : first + products.shape[1]]

        return stored

    def _prepare(self) -> None:
        """What threads share is made before they start."""
        if not self._is_wide:
            _ = self._panels

    def _tiles(self, left: Batch, panels: range) -> Iterator[tuple[int, NDArray[Any], slice]]:
        """First right row, inner products (overwritten by the next tile), and the left rows of each tile."""
        n, step = len(left.halves), _FEW if self._is_wide else _BATCH
        buffer = np.empty((min(step, n), self.width), dtype=self.dtype)
        multiply = self._multiplier(left)
        parts = [slice(start, min(start + step, n)) for start in range(0, n, step)]
        # What is prepared at a cost, a panel or a few left rows that are spread out, meets all others in turn.
        tiles = product(parts, panels) if self._is_wide else ((rows, panel) for panel, rows in product(panels, parts))
        for rows, panel in tiles:
            first = panel * self.width
            width = min(self.width, self.n_columns - first)
            tile = buffer[: rows.stop - rows.start]
            products = tile if width == self.width else np.ascontiguousarray(tile[:, :width])
            multiply(panel, rows, products)
            yield first, products, rows

    def _multiplier(self, left: Batch) -> Callable[[int, slice, NDArray[Any]], None]:
        """How left rows of this kind meet a panel."""
        from maxmargin._loops.kernel.tiles import scattered_products, sparse_products

        A, B = left.rows, self.rows
        if self._is_wide:
            spread = np.zeros((B.shape[1], _FEW), dtype=self.dtype)
            total = np.empty(_FEW, dtype=self.dtype)
            there: slice | None = None

            def scattered(panel: int, rows: slice, products: NDArray[Any]) -> None:
                nonlocal there
                if rows != there:
                    spread[:] = 0.0
                    few = A[rows].tocoo()
                    spread[few.col, few.row] = few.data
                    there = rows
                scattered_products(spread, B.data, B.indices, B.indptr, panel * self.width, total, products)

            return scattered
        panels = self._panels
        if sparse.issparse(A):

            def by_entries(panel: int, rows: slice, products: NDArray[Any]) -> None:
                sparse_products(A.data, A.indices, A.indptr[rows.start : rows.stop + 1], panels[panel], products)

            return by_entries

        def by_matrix(panel: int, rows: slice, products: NDArray[Any]) -> None:
            np.matmul(A[rows], panels[panel], out=products)

        return by_matrix

    def _finish(
        self,
        products: NDArray[Any],
        halves: NDArray[Any],
        first: int,
        places: RowIndex,
        column: int,
        out: NDArray[Any],
    ) -> None:
        """Inner products become kernel values."""
        from maxmargin._loops.kernel.tiles import gaussian_double, gaussian_single, powers

        if self.form.is_gaussian:
            right = self.halves[first : first + products.shape[1]]
            finish = gaussian_single if self.dtype == np.float32 else gaussian_double
            finish(products, halves, right, places, column, out)
        else:
            powers(products, self.form.coef0, self.form.degree, places, column, out)


def _are_short(halves: Vector) -> bool:
    """Whether single precision will do for rows of these half squared lengths."""
    return len(halves) == 0 or (float(np.mean(halves)) <= _USUAL and float(np.max(halves)) <= _LONGEST)


def _are_far(rows: Rows) -> bool:
    """Whether most of the length of the rows is that of their mean."""
    mean = np.asarray(rows.mean(axis=0, dtype=np.float64)).ravel()
    return bool(mean @ mean > 0.5 * float(np.mean(squared_norms(rows))))


def _entries_where_few(rows: Rows) -> Rows:
    """Rows that are mostly zeros as CSR, with columns in 32 bits; others dense."""
    if sparse.issparse(rows):
        entries = rows.nnz / max(1, rows.shape[0] * rows.shape[1])
        if entries >= _SPARSE:
            return rows.toarray()
        return sparse.csr_matrix(rows)
    if np.count_nonzero(rows) >= _SPARSE * rows.size:
        return rows
    return sparse.csr_matrix(rows)


def _scaled(rows: Rows, form: _Form, centre: Vector | None, dtype: Any) -> tuple[Rows, NDArray[Any]]:
    """Rows times the scale of the kernel, and half the squares of their lengths."""
    if sparse.issparse(rows):
        scaled = sparse.csr_matrix(
            (rows.data.astype(dtype) * dtype(form.scale), rows.indices, rows.indptr), shape=rows.shape, copy=False
        )
    else:
        shifted = rows if centre is None else rows - centre
        scaled = np.multiply(shifted, form.scale, dtype=dtype, casting="same_kind", order="C")
    return scaled, (0.5 * squared_norms(scaled)).astype(dtype)
