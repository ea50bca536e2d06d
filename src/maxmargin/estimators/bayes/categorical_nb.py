"""Categorical naive Bayes: every feature has one of several values.

    P(x_j = v | c) = (N_cjv + alpha) / (N_c + alpha m_j)

N_cjv is the weight of the rows of class c with the value v of feature j, N_c that of all its rows, m_j the number of
values of feature j. A value that was never seen counts as seen 0 times: alpha / (N_c + alpha m_j).

A table of whole numbers holds category numbers 0, 1, 2, ... In any other table the categories of a column are the
values found in it, in order: numbers first, then words, then anything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import validate_data

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError, DataTypeError, ParameterError
from maxmargin.estimators.bayes.counts import Scores, Shares, shares, spread
from maxmargin.estimators.bayes.discrete_nb import DiscreteNaiveBayes
from maxmargin.estimators.fitting.validation import check_finite, our_errors

_ENTRIES = 1 << 20
_NUMBERS = (int, float, bool, np.number, np.bool_)
_NO_NUMBER = np.iinfo(np.int32).max
"""Stands for a fraction among category numbers: no training table goes so far."""


@dataclass(eq=False, repr=False, kw_only=True)
class CategoricalNB(DiscreteNaiveBayes):
    """Naive Bayes for features with a few values each: words, numbers, truth values.

    A drop-in replacement for scikit-learn's `CategoricalNB` that also takes tables of words as they are: lists, object
    arrays and data frames, without an encoder. A table of whole numbers holds category numbers 0, 1, 2, ... as in
    scikit-learn. In any other table the categories of a column are the values found in it: 1.5 is a category like
    "sunny", where scikit-learn cuts off the fraction.

    Where scikit-learn fails on a value that it has not seen, here the value counts as seen 0 times.

    Parameters
    ----------
    alpha
        Added to every count. 0 is safe: a row that is impossible in every class gets the limit of its posterior for
        small alpha.
    min_categories
        Number of categories that each feature has at least, one number or one a feature: room for values that the
        training rows lack.
    force_alpha, fit_prior, class_prior, n_jobs
        As in `MultinomialNB`.

    Attributes
    ----------
    classes_, class_count_
        Labels and weights of the classes.
    categories_
        For each feature the values that the columns of its counts stand for.
    n_categories_
        How many categories each feature has, with the room that `min_categories` asks for.
    category_count_, feature_log_prob_
        For each feature a matrix with one row a class and one column a category: the weight of the rows, and the
        logarithm of P(x_j = v | c).
    class_log_prior_
        Logarithm of P(c).
    certificate_
        None: nothing was searched for.

    Examples
    --------
    >>> from maxmargin import CategoricalNB
    >>> table = [["sunny", True], ["rainy", True], ["rainy", False], ["sunny", False]]
    >>> model = CategoricalNB().fit(table, ["stay", "stay", "go", "go"])
    >>> model.predict([["sunny", False], ["foggy", True]]).tolist()
    ['go', 'stay']
    """

    _sums = ("class_count_", "category_count_")
    alpha: float = 1.0
    min_categories: Any = None
    category_count_: list[Matrix] = field(init=False)
    categories_: list[Labels] = field(init=False)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if not isinstance(self.alpha, Real):
            raise ParameterError(f"alpha must be one number for all features, got alpha={self.alpha!r}.")

    def _least_categories(self) -> RowIndex:
        """`min_categories` for each feature."""
        least = np.asarray(1 if self.min_categories is None else self.min_categories)
        if least.dtype.kind not in "iu":
            raise ParameterError(f"'min_categories' should have integral type. Got {least.dtype} instead.")
        if least.ndim and least.shape != (self.n_features_in_,):
            raise ParameterError(
                f"'min_categories' should have shape ({self.n_features_in_},) when an array-like is provided. Got "
                f"{least.shape} instead."
            )
        if least.min() < 1:
            raise ParameterError(f"'min_categories' must be at least 1, got {self.min_categories!r}.")
        return np.broadcast_to(least, (self.n_features_in_,)).astype(np.int64)

    def _checked_rows(self, X: Any, *, reset: bool) -> Labels:
        """The table as it is, after its names and its width were compared with those of the training table."""
        table = as_table(X)
        with our_errors():
            validate_data(self, X if hasattr(X, "columns") else table, skip_check_array=True, reset=reset)
        if holds_numbers(table):
            check_finite(table, getattr(X, "columns", None))
            check_category_numbers(table)
        if reset:
            self._of_numbers = holds_numbers(table) and are_whole(table)
        elif self._of_numbers and not holds_numbers(table):
            raise DataError(
                "the model was trained on a table of category numbers, and this one holds other values. Give numbers, "
                "or train with words from the first row on."
            )
        return table

    def _begin(self, classes: Labels) -> None:
        super()._begin(classes)
        kind = np.int64 if self._of_numbers else object
        self.category_count_ = [np.zeros((len(classes), 0)) for _ in range(self.n_features_in_)]
        self.categories_ = [np.zeros(0, dtype=kind) for _ in range(self.n_features_in_)]

    def _copy_sums(self) -> None:
        super()._copy_sums()
        self.categories_ = list(self.categories_)

    def _add(self, X: Rows, code: RowIndex, weight: Vector) -> None:
        super()._add(X, code, weight)
        self._check_whole(X)
        if not np.all(weight):  # a row of weight 0 is absent, and so are its values
            counted = weight > 0.0
            X, code, weight = X[counted], code[counted], weight[counted]
        if not len(code):
            return
        for j in range(self.n_features_in_):
            column = self._column(X, j)
            self._make_room(column, j)
            count = self.category_count_[j]
            places = code * count.shape[1] + self._numbers(column, j)
            count += np.bincount(places, weights=weight, minlength=count.size).reshape(count.shape)

    def _check_whole(self, X: Rows) -> None:
        """Refuse fractions where the categories are numbers 0, 1, 2 and so on."""
        if self._of_numbers and not are_whole(X):
            raise DataError(
                "the model was trained on a table of category numbers, and this one holds numbers that are not whole. "
                "Give fractions from the first row on, and every number is a category of its own."
            )

    def _make_room(self, column: Any, j: int) -> None:
        """Widen the counts of feature j for the values in this column that were not met before."""
        known = self.categories_[j]
        if self._of_numbers:
            top = int(column.max()) + 1
            values = np.arange(top) if top > len(known) else known
        else:
            unknown = distinct(column, j).difference(known.tolist())
            values = in_order([*known.tolist(), *unknown]) if unknown else known
        if values is not known:
            places = np.arange(len(known)) if self._of_numbers else numbers_of(known.tolist(), values)
            # Beyond the known values there is only room, without counts.
            self.category_count_[j] = spread(self.category_count_[j][:, : len(known)], places, len(values), axis=1)
            self.categories_[j] = values

    def _numbers(self, column: Any, j: int) -> RowIndex:
        """Category numbers of a column; -1 for a value that was never seen."""
        if not self._of_numbers:
            return numbers_of(column, self.categories_[j])
        return np.where(column < self.category_count_[j].shape[1], column, -1)

    def _column(self, X: Rows, j: int) -> Any:
        """Column j as category numbers, or as a list of values."""
        if not self._of_numbers:
            return X[:, j].tolist()
        column = X[:, j]
        if column.dtype.kind == "f":
            column = np.where(column == np.rint(column), column, _NO_NUMBER)
        return column.astype(np.int64)

    def _conclude(self) -> None:
        super()._conclude()
        alpha, known = self._check_alpha(), [len(values) for values in self.categories_]
        self.n_categories_ = np.maximum(known, self._least_categories())
        shape = (len(self.classes_), self.n_features_in_)
        self._log_total, self._unseen_log_prob = np.zeros(shape), np.zeros(shape)
        self.feature_log_prob_ = []
        for j, size in enumerate(self.n_categories_.tolist()):
            count = self.category_count_[j]
            if size > count.shape[1]:
                count = self.category_count_[j] = spread(count, np.arange(count.shape[1]), size, axis=1)
            total = (count + alpha).sum(axis=1, keepdims=True)
            # The last of these columns stands for all values that were never seen.
            found = shares(spread(count, np.arange(size), size + 1, axis=1) + alpha, total, size)
            self.feature_log_prob_.append(found.log_share[:, :-1])
            self._unseen_log_prob[:, j] = found.log_share[:, -1]
            self._log_total[:, j] = found.log_total[:, 0]

    def _table(self, j: int) -> Shares:
        """Logarithms of the shares of feature j, with a last column for values that were never seen."""
        log_share = np.column_stack([self.feature_log_prob_[j], self._unseen_log_prob[:, j]])
        return Shares(log_share, self._log_total[:, [j]])

    def _scorer(self) -> Callable[[Rows], Scores]:
        tables = [self._table(j) for j in range(self.n_features_in_)]
        finite = [np.ascontiguousarray(table.finite().T) for table in tables]
        zero = [np.isneginf(table.log_share).T.astype(np.float64) for table in tables]
        any_zero = any(part.any() for part in zero)

        def score(X: Rows) -> Scores:
            log_joint = np.tile(self.class_log_prior_, (len(X), 1))
            zeros = np.zeros_like(log_joint) if any_zero else None
            for j in range(self.n_features_in_):
                numbers = self._numbers(self._column(X, j), j)
                log_joint += finite[j][numbers]
                if zeros is not None:
                    zeros += zero[j][numbers]
            return Scores(log_joint, zeros)

        return score

    def _log_factors(self, X: Rows) -> Matrix:
        tables = [self._table(j).log_share for j in range(self.n_features_in_)]
        return np.array([table[:, self._numbers(self._column(X, j), j)[0]] for j, table in enumerate(tables)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        tags.input_tags.positive_only = True
        return tags


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
