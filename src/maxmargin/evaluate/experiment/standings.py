"""Models compared on the same folds, in the order they were given, and the rules that choose one of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from maxmargin.errors import ParameterError, unknown_name
from maxmargin.evaluate.fingerprints import data_hash, in_words, name_of
from maxmargin.evaluate.folds import folds_of
from maxmargin.evaluate.sample import Sample
from maxmargin.evaluate.scoring import standard_error
from maxmargin.evaluate.splitters import Folds, from_record, k_fold, record_of
from maxmargin.evaluate.tables import number


@dataclass(frozen=True)
class Entry:
    """A model: its settings as text, its scores, one a fold, and itself, which no file holds."""

    settings: dict[str, str]
    scores: list[float]
    estimator: Any = None
    is_late: bool = False
    """Whether it was compared when the test set had been looked at."""

    @property
    def mean(self) -> float:
        """Mean score."""
        return float(np.mean(self.scores))

    @property
    def standard_error(self) -> float | None:
        """Standard error as if folds were independent; None for one score."""
        return float(standard_error(np.array(self.scores))) if len(self.scores) > 1 else None


@dataclass
class Standings:
    """Entries by name, and which is chosen."""

    entries: dict[str, Entry] = field(default_factory=dict)
    chosen: str | None = None

    @classmethod
    def of(cls, records: Mapping[str, Any], chosen: str | None) -> Standings:
        """Standings from a file."""
        entries = {
            name: Entry(one["settings"], one["scores"], is_late=one.get("is_late", False))
            for name, one in records.items()
        }
        return cls(entries, chosen)

    def as_records(self) -> dict[str, Any]:
        """The entries as a file holds them."""
        kept = ("settings", "scores", "mean", "standard_error", "is_late")
        return {name: {field: getattr(entry, field) for field in kept} for name, entry in self.entries.items()}

    def choose(self, rule: str, among: Iterable[str] | None = None) -> str:
        """Name of the entry with the best mean, of the first within one standard error of it, or the one named."""
        names = self.entries if among is None else {self.name(one) for one in among}
        entries = {name: entry for name, entry in self.entries.items() if name in names}
        if not entries:
            raise ParameterError("there is nothing to choose from; compare some models first.")
        best = max(entries, key=lambda name: entries[name].mean)
        if rule == "best":
            self.chosen = best
        elif rule == "one-standard-error":
            error = entries[best].standard_error
            if error is None:
                raise ParameterError("one score has no standard error; compare on several folds, or choose('best').")
            least = entries[best].mean - error
            self.chosen = next(name for name, entry in entries.items() if entry.mean >= least)
        elif rule in entries:
            self.chosen = rule
        else:
            raise unknown_name("rule", rule, ["best", "one-standard-error", *entries])
        return self.chosen

    def name(self, given: str | None) -> str:
        """The name given, else the chosen one, else the best."""
        if given is None:
            return self.chosen or self.choose("best")
        if given not in self.entries:
            raise unknown_name("name", given, self.entries)
        return given

    def rows(self) -> list[tuple[str, ...]]:
        """Lines of a table."""
        lines: list[tuple[str, ...]] = []
        for name, entry in self.entries.items():
            remarks = ["chosen"] * (name == self.chosen) + ["compared after the look"] * entry.is_late
            lines.append((name, number(entry.mean), number(entry.standard_error), ", ".join(remarks)))
        return lines


def named(models: Mapping[str, Any] | Sequence[Any] | Any) -> dict[str, Any]:
    """Estimators by name; those without one are named by their text."""
    if isinstance(models, Mapping):
        found = {str(name): estimator for name, estimator in models.items()}
    else:
        if isinstance(models, str) or not (hasattr(models, "get_params") or isinstance(models, Iterable)):
            raise ParameterError(f"compare takes estimators such as SVC(C=10), alone, listed or named, got {models!r}.")
        listed = [models] if hasattr(models, "get_params") else list(models)
        found = {name_of(estimator): estimator for estimator in listed}
        if len(found) < len(listed):
            raise ParameterError("two of the models have the same text; give a dictionary with a name for each.")
    if not found:
        raise ParameterError("compare needs at least one model.")
    for name, estimator in found.items():
        if not hasattr(estimator, "get_params") or isinstance(estimator, type):
            raise ParameterError(f"{name} is no estimator; give instances such as SVC(C=10).")
    return found


class SameFolds:
    """The folds that all models are scored on, because scores on other rows could not be compared.

    The way to split is kept in words, and itself, which a file holds only where it is of this library.
    """

    def __init__(self, words: str | None = None, record: dict[str, Any] | None = None):
        self.words = words
        self._cv: Any = None if record is None else from_record(record)
        self._folds: dict[bool, Folds] = {}

    def agree(self, cv: Any, *, is_settled: bool) -> None:
        """Settle on `cv`, None being what was used before, else five folds; refuse another where that is settled."""
        if cv is None and is_settled and self._cv is None:
            raise ParameterError(
                f"the other models of this experiment were scored with cv={self.words}, which no file holds; give it "
                "again."
            )
        if cv is None:
            cv = self._cv if is_settled else k_fold(5)
        elif isinstance(cv, (int, np.integer)):
            cv = k_fold(int(cv))
        elif not hasattr(cv, "split") and isinstance(cv, Iterable):
            cv = list(cv)
        words = in_words(cv)
        if isinstance(cv, list):
            parts = (rows for pair in cv if isinstance(pair, Iterable) for rows in pair)  # others are refused later
            words = f"{len(cv)} splits, {data_hash(*parts)[:16]}"
        if words == self.words and self._cv is not None:
            return
        if is_settled and words != self.words:
            raise ParameterError(
                f"the other models of this experiment were scored with cv={self.words}; give the same one. "
                f"Scores with cv={words} could not be compared with theirs."
            )
        self._cv, self.words, self._folds = cv, words, {}

    @property
    def record(self) -> dict[str, Any] | None:
        """The way to split as a file holds it."""
        return record_of(self._cv)

    def folds(self, sample: Sample, groups: Any, *, classifies: bool) -> Folds:
        """The folds, always the same; a splitter may draw others when it is asked again."""
        if classifies not in self._folds:
            self._folds[classifies] = folds_of(self._cv, sample, groups, classifies=classifies)
        return self._folds[classifies]
