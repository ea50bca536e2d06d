"""Rows of which a part is sealed: it comes out as a score of a trained model, and in no other form."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.metaestimators import _safe_split
from sklearn.utils.validation import _num_samples

from maxmargin._types import Labels, RowIndex, Rows, Vector
from maxmargin.errors import DataError, DataTypeError
from maxmargin.estimators.fitting.validation import check_weights, our_errors
from maxmargin.evaluate.comparable_scores import check_score
from maxmargin.evaluate.data_hash import data_hash
from maxmargin.evaluate.fold_checks import naming_rows_of
from maxmargin.evaluate.scoring import scorer_of
from maxmargin.evaluate.splitters import Holdout
from maxmargin.problems import is_source


class SealedRows:
    """Rows with labels, weights and groups, split by a hold-out whose test part nobody is given."""

    def __init__(self, X: Rows, y: Any, sample_weight: Any, groups: Any, splitter: Holdout):
        X, y = _checked(X, y)
        weight = check_weights(sample_weight, len(y))
        self.__data = X, y, weight, None if groups is None else np.asarray(groups)
        self.__train, self.__test = next(splitter.split(X, y, groups))
        self.n_train, self.n_test = len(self.__train), len(self.__test)
        self.is_weighted = weight is not None
        self.hashes = self._hashed()
        """Hash of all data, and of which rows are sealed."""

    def __repr__(self) -> str:
        return f"SealedRows({self.n_train} rows to train on, {self.n_test} sealed)"

    def _hashed(self) -> tuple[str, str]:
        return data_hash(*self.__data), data_hash(self.__test)

    def check_unchanged(self) -> None:
        """Refuse data that were changed in place: they are not copied, and what was compared was about others."""
        if self._hashed() != self.hashes:
            raise DataError(
                "the data were changed in place after the experiment began, and the models were compared on what they "
                "were. Begin again with the changed data, or change a copy; scaling belongs into a pipeline."
            )

    def naming_rows(self) -> AbstractContextManager[None]:
        """Around work on parts of the rows: NaN that is refused is reported with its row in the whole."""
        return naming_rows_of(self.__data[0])

    def training(self, estimator: Any) -> tuple[Rows, Labels, Vector | None, RowIndex | None]:
        """Rows that are not sealed, as the estimator takes them, with labels, weights and groups."""
        X, y, weight, groups = self.__data
        rows = self.__train
        X_train, y_train = _safe_split(estimator, X, y, rows)
        return X_train, y_train, None if weight is None else weight[rows], None if groups is None else groups[rows]

    def score(self, model: Any, scoring: str | None) -> tuple[float, str]:
        """Score of a trained model on the sealed rows, and the hash of its predictions: a look at them."""
        X, y, weight, _ = self.__data
        X_test, y_test = _safe_split(model, X, y, self.__test, self.__train)
        weights = {} if weight is None else {"sample_weight": weight[self.__test]}
        with self.naming_rows():
            score = float(scorer_of(model, scoring)(model, X_test, y_test, **weights))
            predictions = model.predict(X_test)
        return check_score(score, scoring, "the sealed rows"), data_hash(predictions, score)


def _checked(X: Any, y: Any) -> tuple[Any, Labels]:
    """Rows that can be indexed, and one label for each."""
    if is_source(X):
        raise DataTypeError(
            "an Experiment takes rows in memory, got a source. X, y = source.head(source.n_rows) brings all of them "
            "into memory."
        )
    labels = np.asarray(y)
    if labels.ndim == 0:
        raise DataError(f"y must have one label a row, got y={y!r}.")
    if sparse.issparse(X) and X.format not in ("csr", "csc"):  # of most others no rows can be taken
        X = X.tocsr()
    with our_errors():
        n_rows = _num_samples(X)
    if n_rows != len(labels):
        raise DataError(f"X has {n_rows} rows and y has {len(labels)}; there must be one label a row.")
    return X, labels
