"""An experiment whose test set is locked away until one model is chosen, and looked at once.

    split the rows into D_trnval and D_tst; put D_tst in a safe place
    compare     train and score every method on D_trnval: on a validation part or on folds
    choose      the best, or the first that is within one standard error of it
    retrain     the chosen method on all of D_trnval
    reveal      score it on D_tst, once

The mean of a score over test rows converges to its expectation only if the model is independent of them. A second look,
at another model, makes the better of two scores the result, and that is no longer an estimate of anything. So a second
look is refused, the file of an experiment remembers the first, and the report says that there was one.

The seal keeps from accidents. It is no safe: the rows are in the memory of the process, and a new experiment on the
same data has a new seal.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from maxmargin._types import Labels, Rows, Vector
from maxmargin.errors import CheckpointError, ParameterError, TestSetUsedError
from maxmargin.evaluate import experiment_file
from maxmargin.evaluate.cross_validation import CORRELATED, folds_of, validated
from maxmargin.evaluate.data_hash import data_hash
from maxmargin.evaluate.dealing import Stratify
from maxmargin.evaluate.revealed import Revealed, look
from maxmargin.evaluate.sealed_rows import SealedRows
from maxmargin.evaluate.settings import in_words, settings_of
from maxmargin.evaluate.splitters import Folds, holdout, k_fold
from maxmargin.evaluate.standings import Entry, Standings, named
from maxmargin.evaluate.tables import Table, number


class Experiment:
    """Rows with a sealed test part, the models compared on the others, and the one look at the test part.

    Parameters
    ----------
    X, y
        The data, in any layout that the models take: dense, sparse, a table, a list of strings.
    test
        Share of the rows that are sealed.
    seed
        Whole number; the same data and seed seal the same rows.
    stratify
        Whether classes are dealt in proportion; "auto" where y looks like labels.
    groups
        One entry a row; rows of a group stay on one side, of the seal and of every fold.
    sample_weight
        Weights of rows, for fits and for scores.
    scoring
        Name of a score as in scikit-learn; None for the models' own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from maxmargin import SVC, LinearSVC
    >>> from maxmargin.evaluate import Experiment
    >>> experiment = Experiment(*load_iris(return_X_y=True), test=0.2, seed=0)
    >>> experiment
    Experiment(120 rows to train on, 30 test rows sealed)
    >>> experiment.compare({"line": LinearSVC(), "curve": SVC()}).choose()
    'curve'
    >>> experiment.reveal().n_test
    30
    >>> experiment
    Experiment(120 rows to train on, 30 test rows looked at once)
    """

    def __init__(
        self,
        X: Rows,
        y: Labels,
        *,
        test: float = 0.2,
        seed: int = 0,
        stratify: Stratify = "auto",
        groups: Any = None,
        sample_weight: Vector | None = None,
        scoring: str | None = None,
    ):
        if scoring is not None and not isinstance(scoring, str):
            raise ParameterError(
                f"scoring must be the name of a score, which a file can hold, or None; got {scoring!r}."
            )
        self._splitter, self._scoring = holdout(test, seed=seed, stratify=stratify), scoring
        self._rows = SealedRows(X, y, sample_weight, groups, self._splitter)
        self._standings = Standings()
        self._cv: Any = None
        self._folds: dict[bool, Folds] = {}
        self._trained: tuple[str, Any] | None = None
        self._revealed: Revealed | None = None
        self._path: str | None = None

    @property
    def training(self) -> tuple[Rows, Labels]:
        """The rows that are not sealed, with their labels: to look at as much as you like."""
        X, y, _, _ = self._rows.training(BaseEstimator())
        return X, y

    @property
    def scores(self) -> dict[str, Vector]:
        """Scores of every model that was compared, one a fold."""
        return {name: np.array(entry.scores) for name, entry in self._standings.entries.items()}

    @property
    def looks(self) -> int:
        """How often the test set was looked at: 0 or 1."""
        return 0 if self._revealed is None else 1

    def compare(
        self,
        models: Mapping[str, Any] | Sequence[Any] | Any,
        *,
        cv: Any = None,
        n_jobs: int | None = None,
        verbose: bool | int = 0,
    ) -> Experiment:
        """Train and score models on the rows that are not sealed, all on the same folds.

        A model whose scores are known, because it was compared before or is in the file, is not trained again.

        Parameters
        ----------
        models
            Estimators: a dictionary from names, a list, or one. Simple ones first: `choose("one-standard-error")` takes
            the first that is good enough.
        cv
            As for `cross_validate`; `holdout(0.125)` is a validation part. None means what was used before, else five
            folds.
        n_jobs, verbose
            As for `cross_validate`.

        Returns
        -------
        Experiment
            Itself; its text is the table.
        """
        entries = self._standings.entries
        for name, given in named(models).items():
            estimator = clone(given)  # who changes theirs later does not change what was compared
            settings = settings_of(estimator)
            if name not in entries:
                self._agree(cv)
                entries[name] = Entry(settings, self._scores(estimator, n_jobs, verbose), estimator)
            elif entries[name].settings == settings:
                entries[name] = replace(entries[name], estimator=estimator)
            else:
                raise ParameterError(f"a model {name!r} with other settings was compared before; give another name.")
        return self

    def _agree(self, cv: Any) -> None:
        """Settle on the splits of all models of this experiment: scores on other rows could not be compared."""
        if cv is None:
            cv = self._cv if self._standings.entries and self._cv is not None else k_fold(5)
        elif isinstance(cv, (int, np.integer)):
            cv = k_fold(int(cv))
        elif not hasattr(cv, "split") and isinstance(cv, Iterable):
            cv = list(cv)
        words = in_words(cv)
        if isinstance(cv, list):
            words = f"{len(cv)} splits, {data_hash(*(rows for pair in cv for rows in pair))[:16]}"
        if words == self._standings.cv and self._cv is not None:
            return
        if self._standings.entries and words != self._standings.cv:
            raise ParameterError(
                f"the other models of this experiment were scored with cv={self._standings.cv}; give the same one. "
                f"Scores with cv={words} could not be compared with theirs."
            )
        self._cv, self._standings.cv, self._folds = cv, words, {}

    def _scores(self, estimator: Any, n_jobs: int | None, verbose: bool | int) -> list[float]:
        X, y, weight, groups = self._rows.training(estimator)
        classifies = is_classifier(estimator)
        if classifies not in self._folds:  # kept, because a splitter may draw others when it is asked again
            self._folds[classifies] = folds_of(self._cv, X, y, groups, classifies=classifies)
        found = validated(
            estimator,
            X,
            y,
            self._folds[classifies],
            scoring=self._scoring,
            sample_weight=weight,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        return [float(score) for score in found.scores]

    def choose(self, rule: str = "best") -> str:
        """Choose a model, and give its name.

        Parameters
        ----------
        rule
            "best" for the best mean; "one-standard-error" for the first model, in the order they were given, whose mean
            is within one standard error of the best; or the name of a model.
        """
        return self._standings.choose(rule)

    def retrain(self, name: str | None = None) -> Any:
        """Train the chosen model, or the one named, on all rows that are not sealed, and give it."""
        name = self._standings.name(name)
        estimator = self._standings.entries[name].estimator
        if estimator is None:
            raise ParameterError(
                f"a file holds no estimators; give {name!r} again by compare({{{name!r}: ...}}), which trains nothing "
                "where the settings are those of the file."
            )
        X, y, weight, _ = self._rows.training(estimator)
        model = clone(estimator)
        model.fit(X, y) if weight is None else model.fit(X, y, sample_weight=weight)
        self._trained = (
            name,
            copy.deepcopy(model),
        )  # what is revealed is what was trained here, whatever becomes of theirs
        return model

    def reveal(self, name: str | None = None) -> Revealed:
        """Score the chosen model, or the one named, on the sealed rows: the one look that there is.

        It is retrained first where that was not done. The same model again gives the same record without a new look;
        another one raises `TestSetUsedError`. An experiment that has a file is written before the score is shown.
        """
        name = self._standings.name(name)
        if self._path is not None and self._revealed is None:
            self._revealed = _look_in(experiment_file.read(self._path))  # another process may have been here
        if self._revealed is not None:
            if self._revealed.settings == self._standings.entries[name].settings:
                return self._revealed
            raise TestSetUsedError(
                f"the test set was looked at on {self._revealed.time} for {self._revealed.name!r}; a score of {name!r} "
                "on the same rows would be the better of two. Report that look, or collect new test data."
            )
        model = self._trained[1] if self._trained is not None and self._trained[0] == name else self.retrain(name)
        revealed = look(self._rows, self._splitter, self._scoring, name, model, self._standings)
        if self._path is not None:
            experiment_file.write(self._path, self._body(revealed))
        self._revealed = revealed
        return revealed

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the experiment, without data and models, to a JSON file, which a later `reveal` brings up to date."""
        if os.path.exists(path):
            remembered = _look_in(experiment_file.read(path))
            if remembered is not None and remembered != self._revealed:
                raise TestSetUsedError(
                    f"{os.fspath(path)} remembers a look at a test set, on {remembered.time} for {remembered.name!r}, "
                    "which would be lost. Go on with Experiment.open, or save under another name."
                )
        experiment_file.write(path, self._body(self._revealed))
        self._path = os.path.abspath(path)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        X: Rows,
        y: Labels,
        *,
        groups: Any = None,
        sample_weight: Vector | None = None,
    ) -> Experiment:
        """Go on with an experiment from its file, on the same data; the seal is as it was."""
        body = experiment_file.read(path)
        experiment = cls(
            X,
            y,
            test=body["test"],
            seed=body["seed"],
            stratify=body["stratify"],
            groups=groups,
            sample_weight=sample_weight,
            scoring=body["scoring"],
        )
        whole, sealed = experiment._rows.hashes
        if whole != body["data_hash"]:
            raise CheckpointError(
                f"{os.fspath(path)} is about other data: their hash is {body['data_hash'][:16]}, that of the rows, "
                f"labels, weights and groups given is {whole[:16]}. Give the same, in the same layout and order."
            )
        if sealed != body["sealed_hash"]:
            raise CheckpointError(
                f"{os.fspath(path)} sealed other rows of these data than this version of maxmargin would."
            )
        entries = {name: Entry(one["settings"], one["scores"]) for name, one in body["models"].items()}
        experiment._standings = Standings(entries, body["cv"], body["chosen"])
        experiment._revealed = _look_in(body)
        experiment._path = os.path.abspath(path)
        return experiment

    def _body(self, revealed: Revealed | None) -> dict[str, Any]:
        """What the file holds."""
        whole, sealed = self._rows.hashes
        entries = self._standings.entries
        return {
            "test": self._splitter.test,
            "seed": self._splitter.seed,
            "stratify": self._splitter.stratify,
            "scoring": self._scoring,
            "data_hash": whole,
            "sealed_hash": sealed,
            "cv": self._standings.cv,
            "models": {name: {"settings": one.settings, "scores": one.scores} for name, one in entries.items()},
            "chosen": self._standings.chosen,
            "looks": 0 if revealed is None else 1,
            "revealed": None if revealed is None else asdict(revealed),
        }

    def table(self) -> Table:
        """The models, their scores, and how often the test set was looked at."""
        notes = [CORRELATED] if any(len(scores) > 1 for scores in self.scores.values()) else []
        if self._revealed is None:
            notes.append("The test set was looked at 0 times.")
        else:
            one = self._revealed
            notes.append(
                f"The test set was looked at once, on {one.time}, for {one.name}: score {number(one.score)}, "
                f"standard error {number(one.standard_error)}."
            )
        return Table(
            f"Experiment: {self._parts()}", ("model", "mean score", "standard error", ""), self._standings.rows(), notes
        )

    def __str__(self) -> str:
        return self.table().as_text()

    def _repr_html_(self) -> str:
        return self.table().as_html()

    def __repr__(self) -> str:
        return f"Experiment({self._parts()})"

    def _parts(self) -> str:
        seal = "sealed" if self._revealed is None else "looked at once"
        return f"{self._rows.n_train} rows to train on, {self._rows.n_test} test rows {seal}"


def _look_in(body: dict[str, Any]) -> Revealed | None:
    """The look that a file remembers."""
    return None if body["revealed"] is None else Revealed(**body["revealed"])
