"""An experiment whose test set is locked away until one model is chosen, and looked at once.

    split the rows into D_trnval and D_tst; put D_tst in a safe place
    compare     train and score every method on D_trnval: on a validation part or on folds
    choose      the best, or the first that is within one standard error of it
    retrain     the chosen method on all of D_trnval
    reveal      score it on D_tst, once

The mean of a score over test rows converges to its expectation only if the model is independent of them. A second look,
at another model, makes the better of two scores the result, and that is no longer an estimate of anything. So a second
look is refused, the file of an experiment remembers the first, and the report says that there was one.

The seal keeps from accidents. It is no safe: the rows are in the memory of the process, a new experiment on the same
data has a new seal, and so has a copy of the file from before the look. What can be noticed is said in the record:
other looks at the same data in this process (`sealed_rows`), data changed in place, models compared after the look.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier

from maxmargin._types import Labels, Rows, Vector
from maxmargin.errors import CheckpointError, ParameterError
from maxmargin.evaluate.cross_validation import validated
from maxmargin.evaluate.dealing import Stratify
from maxmargin.evaluate.experiment.seal import Seal, look_in, read_file, write_file
from maxmargin.evaluate.experiment.sealed_rows import Revealed, SealedRows
from maxmargin.evaluate.experiment.standings import Entry, SameFolds, Standings, named
from maxmargin.evaluate.fingerprints import settings_of
from maxmargin.evaluate.progress import working_on
from maxmargin.evaluate.sample import check_estimator
from maxmargin.evaluate.scoring import check_comparable, check_name
from maxmargin.evaluate.splitters import holdout
from maxmargin.evaluate.tables import CORRELATED, ShownAsTable, Table


class Experiment(ShownAsTable):
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
        splitter, self._scoring = holdout(test, seed=seed, stratify=stratify), scoring
        if scoring is not None:
            check_name(scoring)
        self._rows = SealedRows(X, y, sample_weight, groups, splitter)
        self._standings, self._folds, self._seal = Standings(), SameFolds(), Seal()
        self._trained: tuple[str, Any] | None = None

    @property
    def training(self) -> tuple[Rows, Labels]:
        """The rows that are not sealed, with their labels: to look at as much as you like."""
        sample, _ = self._rows.training(BaseEstimator())
        return sample.X, sample.y

    @property
    def scores(self) -> dict[str, Vector]:
        """Scores of every model that was compared, one a fold."""
        return {name: np.array(entry.scores) for name, entry in self._standings.entries.items()}

    @property
    def looks(self) -> int:
        """How often the test set was looked at: 0 or 1."""
        return 0 if self._seal.revealed is None else 1

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
        entries, given = self._standings.entries, named(models)
        is_new = any(name not in entries for name in given)
        if is_new:
            self._rows.check_unchanged()
        if is_new or cv is not None:
            self._folds.agree(cv, is_settled=bool(entries))
        for name, one in given.items():
            estimator = clone(one)  # who changes theirs later does not change what was compared
            settings = settings_of(estimator)
            if name not in entries:
                with working_on(f"compare {name}"):
                    scores = self._scores(estimator, n_jobs, verbose)
                entries[name] = Entry(settings, scores, estimator, is_late=self.looks > 0)
            elif entries[name].settings != settings:
                raise ParameterError(f"a model {name!r} with other settings was compared before; give another name.")
            elif entries[name].estimator is None:  # from a file; what was compared here is kept, whatever looks like it
                entries[name] = replace(entries[name], estimator=estimator)
        return self

    def _scores(self, estimator: Any, n_jobs: int | None, verbose: bool | int) -> list[float]:
        check_estimator(estimator)
        sample, groups = self._rows.training(estimator)
        folds = self._folds.folds(sample, groups, classifies=is_classifier(estimator))
        with self._rows.naming_rows():
            found = validated(estimator, sample, folds, self._scoring, n_jobs, verbose)
        return [
            check_comparable(float(score), self._scoring, f"fold {k} of {len(found.scores)}")
            for k, score in enumerate(found.scores, start=1)
        ]

    def choose(self, rule: str = "best", among: Iterable[str] | None = None) -> str:
        """Choose a model, and give its name.

        Parameters
        ----------
        rule
            "best" for the best mean; "one-standard-error" for the first model, in the order they were given, whose mean
            is within one standard error of the best; or the name of a model.
        among
            Names of the models to choose from; None for all.
        """
        return self._standings.choose(rule, among)

    def retrain(self, name: str | None = None) -> Any:
        """Train the chosen model, or the one named, on all rows that are not sealed, and give it."""
        name = self._standings.name(name)
        model = self._fitted(name)
        # What is revealed is what was trained here, whatever becomes of theirs.
        self._trained = name, copy.deepcopy(model)
        return model

    def _fitted(self, name: str) -> Any:
        estimator = self._standings.entries[name].estimator
        if estimator is None:
            raise ParameterError(
                f"a file holds no estimators; give {name!r} again by compare({{{name!r}: ...}}), which trains nothing "
                "where the settings are those of the file."
            )
        self._rows.check_unchanged()
        sample, _ = self._rows.training(estimator)
        with self._rows.naming_rows():
            return sample.train(clone(estimator))

    def reveal(self, name: str | None = None) -> Revealed:
        """Score the chosen model, or the one named, on the sealed rows: the one look that there is.

        It is retrained first where that was not done. The same model again gives the same record without a new look;
        another one raises `TestSetUsedError`. An experiment that has a file is written before the score is shown.
        """
        name = self._standings.name(name)
        entry = self._standings.entries[name]
        known = self._seal.look_for(name, entry)
        if known is not None:
            return known
        model = self._trained[1] if self._trained is not None and self._trained[0] == name else self._fitted(name)
        self._rows.check_unchanged()
        revealed = self._rows.look(name, model, self._scoring, self._standings)
        known = self._seal.look_for(name, entry)  # again: another process may have been quicker
        if known is None:
            self._seal.write(self._record(revealed))
            self._show(revealed)
        self._trained = None  # there will be no other look
        return known or revealed

    def _show(self, revealed: Revealed) -> None:
        """The look is made: the seal is broken, and whoever asks in this process is told."""
        self._seal.revealed = revealed
        self._rows.count(revealed)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the experiment, without data and models, to a JSON file, which a later `reveal` brings up to date.

        So it does with every file that the experiment was saved to.
        """
        self._rows.check_unchanged()
        self._seal.check_may_replace(path)
        write_file(path, self.as_record())
        self._seal.keep_in(path)

    def __reduce__(self) -> NoReturn:
        raise ParameterError(
            "an Experiment is neither copied nor pickled, because the copy would have a seal of its own. Use "
            "save(path) and Experiment.open(path, X, y)."
        )

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
        body = read_file(path)
        settings = {name: body[name] for name in ("test", "seed", "stratify", "scoring")}
        experiment = cls(X, y, groups=groups, sample_weight=sample_weight, **settings)
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
        experiment._standings = Standings.of(body["models"], body["chosen"])
        experiment._folds = SameFolds(body["cv"], body.get("splitter"))
        revealed = look_in(body)
        if revealed is not None:
            experiment._show(revealed)
        experiment._seal.keep_in(path)
        return experiment

    def as_record(self) -> dict[str, Any]:
        """What a file of the experiment holds, as plain values: split, data hash, models, choice and look."""
        return self._record(self._seal.revealed)

    def _record(self, revealed: Revealed | None) -> dict[str, Any]:
        whole, sealed = self._rows.hashes
        return {
            **asdict(self._rows.splitter),
            "scoring": self._scoring,
            "data_hash": whole,
            "sealed_hash": sealed,
            "cv": self._folds.words,
            "splitter": self._folds.record,
            "models": self._standings.as_records(),
            "chosen": self._standings.chosen,
            "looks": 0 if revealed is None else 1,
            "revealed": None if revealed is None else asdict(revealed),
        }

    def table(self) -> Table:
        """The models, their scores, and how often the test set was looked at."""
        standings, revealed = self._standings, self._seal.revealed
        notes = [CORRELATED] if any(len(entry.scores) > 1 for entry in standings.entries.values()) else []
        notes += ["The test set was looked at 0 times."] if revealed is None else revealed.notes(standings.chosen)
        columns = ("model", "mean score", "standard error", "")
        return Table(f"Experiment: {self._parts()}", columns, standings.rows(), notes)

    def __repr__(self) -> str:
        return f"Experiment({self._parts()})"

    def _parts(self) -> str:
        seal = "sealed" if self._seal.revealed is None else "looked at once"
        return f"{self._rows.n_train} rows to train on, {self._rows.n_test} test rows {seal}"
