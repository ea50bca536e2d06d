"""Monomials of the variables of a row, and where they stand.

Monomials of degree k are ordered by their last factor first. Those that end with variable l are the monomials of degree
k - 1 in the variables 0 to l, in their order, times x_l; and these are the first of their degree. So a degree is made
from the one before by d products of a stretch with a number, without looking anything up:

    degree k  =  (those of degree k - 1 in 1 variable) x_0, (in 2 variables) x_1, ..., (in d variables) x_(d-1)

A sparse row is a row in the few variables that it has: its monomials come in the same order, and only their columns,
made in the same way, tell which variables they are of. Degrees 0, 1, ... stand one after the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin._loops.compiling import loop
from maxmargin._loops.rows import CSRRows
from maxmargin._types import RowIndex, Vector


class Degrees(NamedTuple):
    """What is to be done with the monomials of degree 0, 1, ..."""

    offsets: RowIndex
    """First column; -1 where the degree is left out."""
    roots: Vector
    """Factors of the monomials in as many variables as the longest row has."""
    firsts: RowIndex
    """Where the factors of a degree begin, and where the last ones end."""


@loop
def fill_weights(d: int, degree: int, weights: Vector, runs: RowIndex) -> None:
    """Multinomial coefficients of all monomials in d variables; `runs` is how often the last factor stands there."""
    weights[0], runs[0] = 1.0, 0
    begin, end = 0, 1
    for k in range(1, degree + 1):
        place, before, width = end, 0, 1
        for last in range(d):
            for j in range(width):
                run = runs[begin + j] + 1 if j >= before and k > 1 else 1
                runs[place + j] = run
                weights[place + j] = weights[begin + j] * k / run
            place += width
            before, width = width, width * (last + k) // (last + 1)
        begin, end = end, place


@loop
def _multiply_out(x: Any, begin_of_row: int, d: int, degree: int, products: Any) -> None:
    """All monomials of x[begin_of_row], ..., x[begin_of_row + d - 1]."""
    products[0] = 1.0
    begin, end = 0, 1
    for k in range(1, degree + 1):
        place, width = end, 1
        for last in range(d):
            factor = x[np.uintp(begin_of_row + last)]
            for j in range(width):
                products[np.uintp(place + j)] = products[np.uintp(begin + j)] * factor
            place += width
            width = width * (last + k) // (last + 1)
        begin, end = end, place


@loop
def _number_columns(variables: Any, begin_of_row: int, d: int, degree: int, columns: RowIndex) -> None:
    """The column of every monomial of the variables of a row, among those of its degree."""
    columns[0] = 0
    begin, end = 0, 1
    for k in range(1, degree + 1):
        place, width = end, 1
        for last in range(d):
            before = np.int64(1)  # binom(variable + k - 1, k): as many have earlier last factors
            for t in range(1, k + 1):
                before = before * (np.int64(variables[np.uintp(begin_of_row + last)]) + t - 1) // t
            for j in range(width):
                columns[np.uintp(place + j)] = columns[np.uintp(begin + j)] + before
            place += width
            width = width * (last + k) // (last + 1)
        begin, end = end, place


@loop
def write_dense_monomials(
    x: Any, d: int, degrees: Degrees, products: Any, features: Any, start: int, end: int, stop: NDArray[np.uint8]
) -> None:
    """Features of rows start to end - 1, of d variables each, which stand in x one after the other."""
    offsets, roots, firsts = degrees
    for i in range(start, end):
        if stop[0] != 0:
            return
        _multiply_out(x, i * d, d, len(offsets) - 1, products)
        for k in range(len(offsets)):
            if offsets[k] < 0:
                continue
            first = firsts[k]
            for j in range(firsts[k + 1] - first):
                features[np.uintp(i), np.uintp(offsets[k] + j)] = (
                    products[np.uintp(first + j)] * roots[np.uintp(first + j)]
                )


@loop
def write_sparse_monomials(
    rows: CSRRows,
    degrees: Degrees,
    products: Any,
    numbers: RowIndex,
    starts: RowIndex,
    columns: Any,
    values: Any,
    start: int,
    end: int,
    stop: NDArray[np.uint8],
) -> None:
    """Columns and values of rows start to end - 1; row i has its entries from starts[i] on."""
    offsets, roots, firsts = degrees
    x, variables, row_starts = rows.values, rows.columns, rows.starts
    for i in range(start, end):
        if stop[0] != 0:
            return
        d = row_starts[i + 1] - row_starts[i]
        _multiply_out(x, row_starts[i], d, len(offsets) - 1, products)
        _number_columns(variables, row_starts[i], d, len(offsets) - 1, numbers)
        first, count, place = 0, 1, starts[i]
        for k in range(len(offsets)):
            if offsets[k] >= 0:
                for j in range(count):
                    columns[np.uintp(place + j)] = offsets[k] + numbers[np.uintp(first + j)]
                    values[np.uintp(place + j)] = products[np.uintp(first + j)] * roots[np.uintp(firsts[k] + j)]
                place += count
            first, count = first + count, count * (d + k) // (k + 1)
