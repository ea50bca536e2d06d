"""The folds that all models of an experiment are scored on: scores on other rows could not be compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from maxmargin.errors import ParameterError
from maxmargin.evaluate.fingerprints import data_hash, in_words
from maxmargin.evaluate.folds import folds_of
from maxmargin.evaluate.sample import Sample
from maxmargin.evaluate.splitters import Folds, from_record, k_fold, record_of


class SameFolds:
    """A way to split: in words, and itself, which a file holds only where it is of this library."""

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
