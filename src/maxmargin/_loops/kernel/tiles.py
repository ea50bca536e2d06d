"""From inner products to kernel values, or sums of them, while a tile is in the cache; inner products of sparse rows.

A tile has one row for each row a of a batch and one column for each row b of a panel. Rows are scaled beforehand
(`kernels.panels`), so that

    Gaussian      k = exp(<a, b> - 1/2 |a|^2 - 1/2 |b|^2)
    polynomial    k = (<a, b> + coef0)^degree

Values go to row `places[i]` of `out`, from column `first` on. Those of a Gaussian that are used once are summed up at
once and never stored:

    total_i += sum_j weight_j k(a_i, b_j)

Certificates are computed from values and sums in double precision, so their loops keep the order of operations as it
is written (`elementwise_loop`). The m terms of a tile are summed up by pairs: each goes through log2 m additions, and
the error of the sum is at most (log2 m + 1) u sum_j |weight_j| k, with u the unit roundoff; from left to right it could
be m times u. Sums in single precision only search, and may be reordered (`search_loop`).
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import elementwise_loop, search_loop
from maxmargin._loops.exponential import exp_double, exp_single
from maxmargin._loops.extremes import smaller
from maxmargin._types import Matrix, RowIndex, Vector

Single: TypeAlias = NDArray[np.float32]
Values: TypeAlias = NDArray[Any]
"""Of single or double precision."""


@elementwise_loop
def gaussian_single(products: Single, left: Single, right: Single, places: RowIndex, first: int, out: Single) -> None:
    """Exponentials of a tile, in single precision."""
    for i in range(products.shape[0]):
        values, row, shift = products[i], out[places[i], first : first + products.shape[1]], left[i]
        for j in range(values.shape[0]):
            row[j] = exp_single(min(values[j] - shift - right[j], np.float32(0.0)))


@elementwise_loop
def gaussian_double(products: Matrix, left: Vector, right: Vector, places: RowIndex, first: int, out: Values) -> None:
    """Exponentials of a tile, in double precision; `out` may be single."""
    for i in range(products.shape[0]):
        values, row, shift = products[i], out[places[i], first : first + products.shape[1]], left[i]
        for j in range(values.shape[0]):
            row[j] = exp_double(min(values[j] - shift - right[j], 0.0))


@search_loop
def gaussian_sums_single(products: Single, left: Single, right: Single, weights: Vector, total: Vector) -> None:
    """Weighted sums of a tile of a Gaussian kernel: exponentials in single precision, products and sums in double."""
    kept = np.empty(products.shape[1], dtype=np.float32)  # two loops, because one would be as wide as its doubles
    for i in range(products.shape[0]):
        values, shift, sum_ = products[i], left[i], 0.0
        for j in range(values.shape[0]):
            kept[j] = exp_single(smaller(values[j] - shift - right[j], np.float32(0.0)))
        for j in range(values.shape[0]):
            sum_ += weights[j] * np.float64(kept[j])
        total[i] += sum_


@elementwise_loop
def gaussian_sums_double(products: Matrix, left: Vector, right: Vector, weights: Vector, total: Vector) -> None:
    """The same in double precision, summed up by pairs: the second half is added to the first, again and again."""
    kept = np.empty(products.shape[1])
    for i in range(products.shape[0]):
        values, shift, n = products[i], left[i], products.shape[1]
        for j in range(values.shape[0]):
            kept[j] = weights[j] * exp_double(min(values[j] - shift - right[j], 0.0))
        while n > 1:
            half = (n + 1) // 2
            first, second = kept[:half], kept[half:n]
            for j in range(second.shape[0]):
                first[j] += second[j]
            n = half
        total[i] += kept[0]


@elementwise_loop
def powers(products: Values, coef0: float, degree: int, places: RowIndex, first: int, out: Values) -> None:
    """(product + coef0)^degree, in the precision of the products; degree 1 and coef0 = 0 is the linear kernel."""
    constant = products.dtype.type(coef0)
    for i in range(products.shape[0]):
        values, row = products[i], out[places[i], first : first + products.shape[1]]
        for j in range(values.shape[0]):
            base = values[j] + constant
            power = base
            for _ in range(degree - 1):
                power *= base
            row[j] = power


@elementwise_loop
def sparse_products(values: Values, columns: Values, starts: Values, panel: Values, products: Values) -> None:
    """Inner products of CSR rows with the columns of a dense panel, four entries at a time."""
    for i in range(products.shape[0]):
        row = products[i]
        for j in range(row.shape[0]):
            row[j] = 0.0
        k, end = np.int64(starts[i]), np.int64(starts[i + 1])
        while k + 4 <= end:
            v0, v1, v2, v3 = values[k], values[k + 1], values[k + 2], values[k + 3]
            p0, p1 = panel[columns[k]], panel[columns[k + 1]]
            p2, p3 = panel[columns[k + 2]], panel[columns[k + 3]]
            for j in range(row.shape[0]):
                row[j] += v0 * p0[j] + v1 * p1[j] + v2 * p2[j] + v3 * p3[j]
            k += 4
        while k < end:
            v0, p0 = values[k], panel[columns[k]]
            for j in range(row.shape[0]):
                row[j] += v0 * p0[j]
            k += 1


@elementwise_loop
def scattered_products(
    left: Values, values: Values, columns: Values, starts: Values, first: int, total: Values, products: Values
) -> None:
    """Inner products of a few rows, which stand as columns in `left`, with CSR rows `first` and on.

    Each entry of a CSR row meets one line of `left`, which holds that feature of all the few rows.
    """
    few = left.shape[1]
    for j in range(products.shape[1]):
        for t in range(few):
            total[t] = 0.0
        for k in range(starts[first + j], starts[first + j + 1]):
            value, line = values[k], left[columns[k]]
            for t in range(few):
                total[t] += value * line[t]
        for t in range(products.shape[0]):
            products[t, j] = total[t]


@elementwise_loop
def mirror_lower(out: Values, n: int, width: int, start: int, end: int, stop: NDArray[np.uint8]) -> None:
    """Entries above the diagonal panels of a symmetric matrix, from those below, for panels start to end - 1.

    Panel p has the rows and columns p * width and on; what is within a panel is already there.
    """
    for panel in range(start, end):
        first, last = panel * width, min((panel + 1) * width, n)
        for left in range(last, n, 32):
            if stop[0] != 0:
                return
            for top in range(first, last, 32):
                for i in range(top, min(top + 32, last)):
                    for j in range(left, min(left + 32, n)):
                        out[i, j] = out[j, i]
