"""What the one look at a sealed test set showed, and under which circumstances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from sklearn.base import is_classifier

import maxmargin
from maxmargin.evaluate import looks
from maxmargin.evaluate.sealed_rows import SealedRows
from maxmargin.evaluate.splitters import Holdout
from maxmargin.evaluate.standings import Standings
from maxmargin.evaluate.tables import Table, number


@dataclass(frozen=True)
class Revealed:
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

    def __str__(self) -> str:
        return self.table().as_text()

    def _repr_html_(self) -> str:
        return self.table().as_html()


def look(
    rows: SealedRows, splitter: Holdout, scoring: str | None, name: str, model: Any, standings: Standings
) -> Revealed:
    """Score a trained model on the sealed rows, and note the circumstances."""
    (score, predictions_hash), entry = rows.score(model, scoring), standings.entries[name]
    made = looks.Look(*rows.hashes, repr(entry.settings), predictions_hash)
    is_share = is_classifier(model) and scoring in (None, "accuracy") and not rows.is_weighted
    return Revealed(
        name=name,
        settings=entry.settings,
        score=score,
        standard_error=math.sqrt(score * (1.0 - score) / rows.n_test) if is_share else None,
        scoring=scoring,
        n_train=rows.n_train,
        n_test=rows.n_test,
        validation_mean=entry.mean,
        validation_standard_error=entry.standard_error,
        n_compared=len(standings.entries),
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        data_hash=rows.hashes[0],
        seed=splitter.seed,
        test=splitter.test,
        versions={"maxmargin": maxmargin.__version__}
        | {package: version(package) for package in ("numpy", "scikit-learn", "scipy")},
        earlier_looks=looks.count_others(made),
        predictions_hash=predictions_hash,
    )
