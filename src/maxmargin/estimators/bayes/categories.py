"""Tables of categories: which values a column has, and their numbers.

A table of whole numbers holds category numbers 0, 1, 2, ... In any other table the categories of a column are the
values found in it, in order: numbers first, then words, then anything else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse

from maxmargin._types import Labels, RowIndex
from maxmargin.errors import DataError, DataTypeError

_ENTRIES = 1 << 20
_NUMBERS = (int, float, bool, np.number, np.bool_)


def as_table(X: Any) -> Labels:
    """A matrix of values as they are: numbers where all are numbers, else objects."""
    if sparse.issparse(X):
        raise DataTypeError(
            "Sparse data were passed to CategoricalNB, which takes dense tables. Use BernoulliNB or MultinomialNB for "
            "sparse rows."
        )
    if hasattr(X, "to_numpy"):
        table = np.asarray(X.to_numpy())
    else:
        table = X if isinstance(X, np.ndarray) else np.array(list(X) if isinstance(X, tuple) else X, dtype=object)
    if table.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers.")
    if table.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {table.ndim}D array instead. Reshape your data: one row of a table is [row], one "
            "column is column.reshape(-1, 1)."
        )
    if 0 in table.shape:
        what = "sample" if table.shape[0] == 0 else "feature"
        raise DataError(f"Found array with 0 {what}(s) (shape={table.shape}) while a minimum of 1 is required.")
    if table.dtype.kind == "O" and all(issubclass(kind, _NUMBERS) for kind in set(map(type, table.ravel().tolist()))):
        table = np.array(table.tolist())
    return table


def holds_numbers(table: Labels) -> bool:
    """Whether every entry is a number."""
    return table.dtype.kind in "biuf"


def are_whole(table: Labels) -> bool:
    """Whether every entry of a table of numbers is whole; looked at a few rows at a time."""
    step = max(1, _ENTRIES // table.shape[1])
    return table.dtype.kind != "f" or all(
        bool(np.all(table[top : top + step] == np.rint(table[top : top + step]))) for top in range(0, len(table), step)
    )


def check_category_numbers(table: Labels) -> None:
    """Refuse a table of numbers with a negative one, or with one so large that the counts below it would not fit."""
    if table.min() < 0:
        raise DataError(
            f"Negative values in data passed to CategoricalNB (input X): {table.min()}. Category numbers begin with 0; "
            "values of any other kind can be given as words."
        )
    if table.max() >= np.iinfo(np.int32).max:
        raise DataError(
            f"the category number {table.max()} is too large: a count for every number below it would be kept. Give "
            "such values as words."
        )


def distinct(column: list[Any], number: int) -> set[Any]:
    """The different values of a column; missing ones and those that are no plain values are refused."""
    try:
        values = set(column)
    except TypeError as error:
        raise DataTypeError(
            f"column {number}: a category must be a string or a number, or another value that can be hashed ({error})."
        ) from error
    for value in values:
        if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
            row = next(row for row, other in enumerate(column) if other is value)
            raise DataError(
                f"Input X contains NaN: row {row}, column {number} is missing ({value!r}). Fill it with a word of its "
                "own, such as 'missing', or drop the row."
            )
    return values


def in_order(values: Iterable[Any]) -> Labels:
    """Categories as an array: numbers by size, then words by the alphabet, then the rest."""
    ordered = sorted(values, key=_place)
    kinds = {type(value) for value in ordered}
    if kinds == {bool} or (kinds == {int} and max(map(abs, ordered)) < 2**63) or kinds in ({float}, {int, float}):
        return np.array(ordered)
    array = np.empty(len(ordered), dtype=object)
    array[:] = ordered
    return array


def _place(value: Any) -> tuple[int, Any]:
    if isinstance(value, _NUMBERS):
        return 0, value
    return (1, value) if isinstance(value, str) else (2, f"{type(value).__name__} {value!r}")


def numbers_of(column: list[Any], categories: Labels) -> RowIndex:
    """Number of the category of each value; -1 for values that are not among them."""
    place = {value: number for number, value in enumerate(categories.tolist())}
    try:
        return np.fromiter((place.get(value, -1) for value in column), dtype=np.int64, count=len(column))
    except TypeError as error:
        raise DataTypeError(f"a category must be a string or a number, or another plain value ({error}).") from error
