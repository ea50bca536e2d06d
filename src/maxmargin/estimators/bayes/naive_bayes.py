"""Naive Bayes: what its four estimators share.

By the chain rule and the assumption that features are independent within a class,

    P(c | x) = P(c) prod_j P(x_j | c) / sum over classes k of P(k) prod_j P(x_j | k)

Training is counting: sums over the rows of each class, added up block by block in one pass. So `fit` on a source of any
size, `fit` on arrays and any sequence of `partial_fit` give the same model. Products are sums of logarithms, so that
thousands of factors do not underflow.

An estimator says how a block of rows is added to the sums (`_add`), how probabilities follow from them (`_conclude`),
and how rows are scored (`_scorer`).
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin._types import Labels, Matrix, RowIndex, Rows, Vector
from maxmargin.backends.threads import StopFlag, over_ranges, thread_count
from maxmargin.data import Source, count_rows
from maxmargin.data.source import blocks
from maxmargin.errors import DataError, ParameterError
from maxmargin.estimators.bayes.counts import Scores, row_blocks, spread
from maxmargin.estimators.bayes.explanation import Explanation
from maxmargin.estimators.fitting.machine import all_or_nothing
from maxmargin.estimators.fitting.sources import AcceptsSources, Classifier, block_by_block
from maxmargin.estimators.fitting.streaming import carry
from maxmargin.estimators.fitting.validation import (
    check_finite,
    check_same_length,
    check_weights,
    our_errors,
    refuse_path,
)
from maxmargin.features.carried import carried_by
from maxmargin.problems import is_source


@dataclass(eq=False, repr=False, kw_only=True)
class NaiveBayes(AcceptsSources, Classifier, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the naive Bayes estimators."""

    n_jobs: int | None = None
    classes_: Labels = field(init=False)
    class_count_: Vector = field(init=False)
    n_features_in_: int = field(init=False)
    _trains_on_sources: ClassVar[bool] = True
    _sums: ClassVar[tuple[str, ...]]
    """Attributes that hold sums, one row a class."""

    @all_or_nothing
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Train on rows X with labels y; or on a source, which has labels and weights of its own, in one pass.

        A row of weight 2 is the row twice, of weight 0 its absence.
        """
        refuse_path(self, X)
        self._check_parameters()
        carried = None
        if is_source(X):
            carried = carried_by(X)
            if y is not None or sample_weight is not None:
                raise ParameterError("a source brings its own labels and weights; give fit nothing but the source.")
            self._learn_source(X)
        else:
            rows, labels, weight = self._checked(X, y, sample_weight, reset=True)
            self._begin(np.unique(labels))
            self._learn(rows, labels, weight)
        self._conclude()
        carry(self, carried)
        return self

    @all_or_nothing
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        """Add rows to what was learned so far; the first call names all classes that will come."""
        self._check_parameters()
        first, announced = not hasattr(self, "classes_"), self._announced(classes)
        rows, labels, weight = self._checked(X, y, sample_weight, reset=first)
        if first:
            self._begin(np.unique(announced))
        else:
            self._copy_sums()
        self._learn(rows, labels, weight)
        self._conclude()
        return self

    @block_by_block
    def predict(self, X: Any) -> Labels:
        """The class of the largest posterior for each row."""
        best = np.argmax(self._scores(X).limit(), axis=1)
        return np.asarray(self.classes_[best])

    @block_by_block
    def predict_joint_log_proba(self, X: Any) -> Matrix:
        """Logarithm of P(class) P(x | class): one row a row of X, one column a class; minus infinity for 0."""
        return self._scores(X).exact()

    @block_by_block
    def predict_log_proba(self, X: Any) -> Matrix:
        """Logarithm of the posterior of each class.

        A row that has the probability 0 in every class gets the limit of its posterior as alpha goes to 0.
        """
        return self._scores(X).log_posterior()

    def predict_proba(self, X: Any) -> Matrix:
        """Posterior of each class."""
        return np.exp(self.predict_log_proba(X))

    def explain(self, x: Any) -> Explanation:
        """How the posterior of one row comes about: prior, factor of each feature, their product, and the posterior.

        Parameters
        ----------
        x
            One row: a list of values, a row of a table, or a matrix with one row.
        """
        check_is_fitted(self)
        row = x if getattr(x, "ndim", 1) == 2 else [x.tolist() if hasattr(x, "tolist") else list(x)]
        if count_rows(row) != 1:
            raise DataError(f"explain takes one row, got {count_rows(row)}. Give X[i] for the row of number i.")
        checking = copy.copy(self)
        if not hasattr(x, "columns"):  # values without names are in the order of the training columns
            checking.__dict__.pop("feature_names_in_", None)
        rows = checking._checked_rows(row, reset=False)
        scores = self._scores_of(rows)
        return Explanation(
            classes=self.classes_,
            features=getattr(self, "feature_names_in_", np.array([f"x{j}" for j in range(self.n_features_in_)])),
            values=self._values(rows),
            log_prior=self._log_prior(),
            log_factors=self._log_factors(rows),
            log_joint=scores.exact()[0],
            posterior=np.exp(scores.log_posterior()[0]),
        )

    @property
    def certificate_(self) -> None:
        """None: a certificate bounds how far a search may have stopped from its optimum, and counting has no search."""
        return

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that `maxmargin.load` reads: arrays and text, never code."""
        from maxmargin.estimators.files.saving import save

        save(self, path)

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot be used with any data."""
        thread_count(self.n_jobs)

    def _begin(self, classes: Labels) -> None:
        """Sums of no rows."""
        self.classes_ = classes
        self.class_count_ = np.zeros(len(classes))

    def _add(self, X: Rows, code: RowIndex, weight: Vector) -> None:
        """Add rows to the sums; code[i] is the number of the class of row i."""
        self.class_count_ += np.bincount(code, weights=weight, minlength=len(self.classes_))

    def _conclude(self) -> None:
        """Probabilities from the sums."""
        raise NotImplementedError

    def _log_prior(self) -> Vector:
        """Logarithm of the prior of each class."""
        raise NotImplementedError

    def _scorer(self) -> Callable[[Rows], Scores]:
        """A function from rows to their scores."""
        raise NotImplementedError

    def _log_factors(self, X: Rows) -> Matrix:
        """Logarithm of P(x_j | class) of the only row of X: one row a feature, one column a class."""
        raise NotImplementedError

    def _values(self, X: Rows) -> list[Any]:
        """The values of the only row of X, as a table shows them."""
        row: list[Any] = (X.toarray() if hasattr(X, "toarray") else X)[0].tolist()
        return row

    def _scores(self, X: Any) -> Scores:
        check_is_fitted(self)
        return self._scores_of(self._checked_rows(X, reset=False))

    def _scores_of(self, X: Rows) -> Scores:
        """Scores of checked rows, blocks of them on every thread."""
        scorer, pieces = self._scorer(), [rows for _, rows in row_blocks(X)]

        def work(start: int, end: int, stop: StopFlag) -> list[Scores]:
            return [scorer(rows) for rows in pieces[start:end] if stop[0] == 0]

        parts = [part for some in over_ranges(work, len(pieces), self.n_jobs, brief=True) for part in some]
        zeros = [part.zeros for part in parts if part.zeros is not None]
        return Scores(np.vstack([part.log_joint for part in parts]), np.vstack(zeros) if zeros else None)

    def _learn(self, X: Rows, labels: Labels, weight: Vector) -> None:
        """Add checked rows to the sums, a block of them at a time."""
        code = np.searchsorted(self.classes_, labels)
        unknown = self.classes_[np.minimum(code, len(self.classes_) - 1)] != labels
        if np.any(unknown):
            raise DataError(
                f"The target label(s) {np.unique(labels[unknown]).tolist()} in y do not exist in the initial classes "
                f"{self.classes_.tolist()}."
            )
        for span, rows in row_blocks(X):
            self._add(rows, code[span], weight[span])

    def _learn_source(self, source: Source) -> None:
        """One pass over a source; classes may turn up in any block."""
        if hasattr(source, "require_labels"):  # rows in memory have labels, files may have none
            source.require_labels()
        counted = False
        for k, block in enumerate(blocks(source)):
            labels = _labels(block.y)
            rows = self._checked_rows(block.X, reset=k == 0)
            if k == 0:
                self._begin(labels[:0])
            self._make_room_for(labels)
            if np.any(block.weight):
                self._learn(rows, labels, _given_weights(block.weight, len(labels)))
                counted = True
        if not counted:
            raise DataError("the source has no row of positive weight; at least one row must count.")

    def _make_room_for(self, labels: Labels) -> None:
        """Make room in the sums for classes that were not met before."""
        classes = np.union1d(self.classes_, labels)
        if len(classes) == len(self.classes_):
            return
        places = np.searchsorted(classes, self.classes_)
        self._change_sums(lambda part: spread(part, places, len(classes)))
        self.classes_ = classes

    def _copy_sums(self) -> None:
        """Go on with copies, so that a call that is refused half-way leaves the model as it was."""
        self._change_sums(np.copy)

    def _change_sums(self, change: Callable[[Matrix], Matrix]) -> None:
        for name in self._sums:
            sums = getattr(self, name)
            setattr(self, name, [change(part) for part in sums] if isinstance(sums, list) else change(sums))

    def _announced(self, classes: Any) -> Labels:
        """The classes that `partial_fit` was told of, or that it knows already."""
        known: Labels | None = getattr(self, "classes_", None)
        given = known if classes is None else np.sort(_labels(classes))
        if given is None:
            raise ParameterError("classes must be passed on the first call to partial_fit.")
        if not len(given):
            raise ParameterError("classes is empty; name all classes that will come, at least one.")
        if known is not None and not np.array_equal(given, known):
            raise ParameterError(
                f"classes={np.asarray(classes).tolist()} is not the same as on last call to partial_fit, which was "
                f"{known.tolist()}. Leave it out, or call fit to begin anew."
            )
        return given

    def _checked(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> tuple[Rows, Labels, Vector]:
        """Rows, labels and weights, one of each a row."""
        rows = self._checked_rows(X, reset=reset)
        labels = _labels(y)
        check_same_length(rows, labels)
        return rows, labels, _given_weights(sample_weight, len(labels))

    def _checked_rows(self, X: Any, *, reset: bool) -> Rows:
        """Rows of finite numbers in the precision they came in, dense or CSR."""
        with our_errors():
            rows = validate_data(self, X, accept_sparse="csr", dtype="numeric", ensure_all_finite=False, reset=reset)
            check_finite(rows, getattr(X, "columns", None))
            return rows

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _labels(given: Any) -> Labels:
    """Class labels as a one-dimensional array."""
    if given is None:
        raise DataError("This estimator requires y to be passed, but the target y is None.")
    with our_errors():
        is_ready = isinstance(given, np.ndarray) and given.ndim == 1
        y: Labels = np.asarray(given if is_ready else column_or_1d(given, warn=True))
        if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
            raise DataError("Input y contains NaN or infinity; labels must be known.")
        if y.dtype.kind not in "iubUS":
            check_classification_targets(y)
    return y


def _given_weights(sample_weight: Any, n_rows: int) -> Vector:
    weight = check_weights(sample_weight, n_rows)
    return np.ones(n_rows) if weight is None else weight


def check_prior(prior: Any, n_classes: int) -> Vector:
    """Prior probabilities that were given, one a class."""
    values = np.asarray(prior, dtype=np.float64)
    if values.shape != (n_classes,):
        raise ParameterError(f"Number of priors must match number of classes: {n_classes}, got shape {values.shape}.")
    if not np.all(values >= 0.0):
        raise ParameterError(f"Priors must be non-negative, got {values.tolist()}.")
    if not np.isclose(values.sum(), 1.0):
        raise ParameterError(f"The sum of the priors should be 1, got {values.tolist()}, whose sum is {values.sum()}.")
    return values


def log_of(probabilities: Vector) -> Vector:
    """Logarithms, minus infinity for 0."""
    with np.errstate(divide="ignore"):
        return np.log(probabilities)
