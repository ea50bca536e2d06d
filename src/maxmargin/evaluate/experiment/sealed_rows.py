"""Rows of which a part is sealed: it comes out as a score of a trained model, and in no other form.

Looks at test rows are counted in the process, whichever experiment made them. A new experiment on the same data has a
new seal: nothing stops who makes one, and another, until a score is good. But where that happens in one process, as in
a notebook whose cells are run again, every record says how many looks at the same data came before it. The same look
again, at the same rows for the same model, is not another. A model that is random may have the same settings twice; it
is the same only if it says the same about the rows.
"""

from __future__ import annotations

import math
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import is_classifier

import maxmargin
from maxmargin._types import RowIndex, Rows
from maxmargin.errors import DataError, DataTypeError
from maxmargin.estimators.fitting.validation import check_weights
from maxmargin.evaluate.experiment.standings import Standings
from maxmargin.evaluate.fingerprints import data_hash
from maxmargin.evaluate.sample import Sample, check_pairs
from maxmargin.evaluate.scoring import check_comparable, scorer_of
from maxmargin.evaluate.splitters import Holdout
from maxmargin.evaluate.tables import ShownAsTable, Table, number
from maxmargin.problems import is_source

_made: set[tuple[str, str, str, str]] = set()
"""Looks of this process: hashes of data and of test rows, settings of the model, and the hash of what it predicted."""

_lock = threading.Lock()


@dataclass(frozen=True)
class Revealed(ShownAsTable):
    """Score on the sealed rows; `str()` is a table.

    Attributes
    ----------
    name, settings
        The model: its name in the experiment, its class and its parameters as text.
    score, standard_error
        On the sealed rows. The error is that of an accuracy, sqrt(p (1 - p) / n), and None for other scores.
    scoring
        Name of the score; None for the model's own.
    n_train, n_test
        Rows that it was trained and tested on.
    validation_mean, validation_standard_error
        What comparing had shown before.
    n_compared
        Models that had been compared by then.
    time
        Coordinated universal time, ISO 8601.
    data_hash
        SHA-256 of rows, labels, weights and groups.
    seed, test
        Settings of the split.
    versions
        Of the packages that matter.
    earlier_looks
        How often the process had looked at test rows of the same data before, in other experiments.
    predictions_hash
        SHA-256 of what was predicted for the sealed rows, and of the score.
    """

    name: str
    settings: dict[str, str]
    score: float
    standard_error: float | None
    scoring: str | None
    n_train: int
    n_test: int
    validation_mean: float
    validation_standard_error: float | None
    n_compared: int
    time: str
    data_hash: str
    seed: int
    test: float
    versions: dict[str, str]
    earlier_looks: int = 0
    predictions_hash: str = ""

    def table(self) -> Table:
        """The score with what was expected of it."""
        rows = [
            ("test score", number(self.score)),
            ("standard error", number(self.standard_error)),
            ("score when compared", number(self.validation_mean)),
            ("rows trained and tested on", f"{self.n_train} and {self.n_test}"),
            ("models compared before", str(self.n_compared)),
            ("looks at the test set", "1"),
            ("earlier looks at these data", str(self.earlier_looks)),
            ("time", self.time),
            ("data", self.data_hash[:16]),
        ]
        return Table(f"Revealed: {self.name}", ("figure", "value"), rows)

    def notes(self, chosen: str | None) -> list[str]:
        """The look, and what else must be known to judge it, where `chosen` is the model chosen now."""
        notes = [
            f"The test set was looked at once, on {self.time}, for {self.name}: score {number(self.score)}, "
            f"standard error {number(self.standard_error)}."
        ]
        if self.earlier_looks:
            notes.append(f"Looks at test rows of the same data before it, in other experiments: {self.earlier_looks}.")
        if chosen not in (None, self.name):
            notes.append(f"The model chosen now is another: of {chosen} no test score is known.")
        return notes


class SealedRows:
    """Rows with labels, weights and groups, split by a hold-out whose test part nobody is given."""

    def __init__(self, X: Rows, y: Any, sample_weight: Any, groups: Any, splitter: Holdout):
        if is_source(X):
            raise DataTypeError(
                "an Experiment takes rows in memory, got a source. X, y = source.head(source.n_rows) brings all of "
                "them into memory."
            )
        X, y = check_pairs(X, y, "label")
        self.__sample = Sample(X, y, check_weights(sample_weight, len(y)))
        self.__groups = None if groups is None else np.asarray(groups)
        self.__train, self.__test = next(splitter.split(X, y, groups))
        self.n_train, self.n_test, self.splitter = len(self.__train), len(self.__test), splitter
        self.hashes = self._hashed()
        """Hash of all data, and of which rows are sealed."""

    def __repr__(self) -> str:
        return f"SealedRows({self.n_train} rows to train on, {self.n_test} sealed)"

    def _hashed(self) -> tuple[str, str]:
        return data_hash(*self.__sample, self.__groups), data_hash(self.__test)

    def check_unchanged(self) -> None:
        """Refuse data that were changed in place: they are not copied, and what was compared was about others."""
        if self._hashed() != self.hashes:
            raise DataError(
                "the data were changed in place after the experiment began, and the models were compared on what they "
                "were. Begin again with the changed data, or change a copy; scaling belongs into a pipeline."
            )

    def naming_rows(self) -> AbstractContextManager[None]:
        """Around work on parts of the rows: NaN that is refused is reported with its row in the whole."""
        return self.__sample.naming_rows()

    def training(self, estimator: Any) -> tuple[Sample, RowIndex | None]:
        """Rows that are not sealed, as the estimator takes them, and their groups."""
        groups = None if self.__groups is None else self.__groups[self.__train]
        return self.__sample.part(estimator, self.__train), groups

    def look(self, name: str, model: Any, scoring: str | None, standings: Standings) -> Revealed:
        """Score a trained model on the sealed rows, and note the circumstances."""
        test, entry = self.__sample.part(model, self.__test, self.__train), standings.entries[name]
        with self.naming_rows():
            score = float(scorer_of(model, scoring)(model, test.X, test.y, **test.weights))
            predictions = model.predict(test.X)
        check_comparable(score, scoring, "the sealed rows")
        predictions_hash = data_hash(predictions, score)
        made = (*self.hashes, repr(entry.settings), predictions_hash)
        with _lock:
            earlier_looks = sum(other[0] == made[0] and other != made for other in _made)
        is_share = is_classifier(model) and scoring in (None, "accuracy") and test.weight is None
        return Revealed(
            name=name,
            settings=entry.settings,
            score=score,
            standard_error=math.sqrt(score * (1.0 - score) / self.n_test) if is_share else None,
            scoring=scoring,
            n_train=self.n_train,
            n_test=self.n_test,
            validation_mean=entry.mean,
            validation_standard_error=entry.standard_error,
            n_compared=len(standings.entries),
            time=datetime.now(UTC).isoformat(timespec="seconds"),
            data_hash=self.hashes[0],
            seed=self.splitter.seed,
            test=self.splitter.test,
            versions={"maxmargin": maxmargin.__version__}
            | {package: version(package) for package in ("numpy", "scikit-learn", "scipy")},
            earlier_looks=earlier_looks,
            predictions_hash=predictions_hash,
        )

    def count(self, revealed: Revealed) -> None:
        """A look was made and shown."""
        with _lock:
            _made.add((*self.hashes, repr(revealed.settings), revealed.predictions_hash))
