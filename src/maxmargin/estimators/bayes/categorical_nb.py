"""Categorical naive Bayes: every feature has one of several values.

    P(x_j = v | c) = (N_cjv + alpha) / (N_c + alpha m_j)

N_cjv is the weight of the rows of class c with the value v of feature j, N_c that of all its rows, m_j the number of
values of feature j. A value that was never seen counts as seen 0 times: alpha / (N_c + alpha m_j).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.bayes.categories import (
    are_whole,
    as_table,
    check_category_numbers,
    distinct,
    holds_numbers,
    in_order,
    numbers_of,
)
from maxmargin.estimators.bayes.class_sums import spread
from maxmargin.estimators.bayes.discrete_nb import DiscreteNaiveBayes
from maxmargin.estimators.bayes.smoothing import Scores, Shares, shares
from maxmargin.estimators.fitting.validation import check_finite, our_errors

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
