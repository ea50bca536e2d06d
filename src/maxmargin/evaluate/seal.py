"""The seal of an experiment: whether its test set was looked at, for which model, and the files that remember it.

A look is written before it is shown, into every file that the experiment was saved to or opened from; otherwise an
older file of the same experiment would still be sealed. The files are read again just before, because another process
may have been quicker. The last file must be there. An older one may be gone.

The same model is one with the same settings and the same scores when it was compared: settings are texts, and what
prints alike, or is random, may be something else.
"""

from __future__ import annotations

import math
import os
from typing import Any

from maxmargin.errors import CheckpointError, TestSetUsedError
from maxmargin.evaluate import experiment_file
from maxmargin.evaluate.revealed import Revealed
from maxmargin.evaluate.standings import Entry

_ROUNDING = 1e-9  # of a mean score: sums over threads may differ in their last digits


class Seal:
    """The one look, once it was made, and the files of the experiment."""

    def __init__(self, revealed: Revealed | None = None) -> None:
        self.revealed = revealed
        self._paths: list[str] = []

    def keep_in(self, path: str | os.PathLike[str]) -> None:
        """From now on this file remembers the look, too."""
        where = os.path.abspath(path)
        self._paths = [known for known in self._paths if known != where] + [where]

    def look_for(self, name: str, entry: Entry) -> Revealed | None:
        """The look that there was, if it was for this model; None if there was none; an error if it was for another."""
        if self.revealed is None:
            found = [look_in(experiment_file.read(path)) for path in self._files()]
            self.revealed = next((look for look in found if look is not None), None)
        if self.revealed is None or _is_for(self.revealed, entry):
            return self.revealed
        raise TestSetUsedError(
            f"the test set was looked at on {self.revealed.time} for {self.revealed.name!r}; a score of {name!r} "
            "on the same rows would be the better of two. Report that look, or collect new test data."
        )

    def write(self, body: dict[str, Any]) -> None:
        """Write an experiment with its look to every file."""
        for path in self._files():
            experiment_file.write(path, body)

    def check_may_replace(self, path: str | os.PathLike[str]) -> None:
        """Refuse to write over a file that remembers another look."""
        if not os.path.exists(path):
            return
        remembered = look_in(experiment_file.read(path))
        if remembered is not None and remembered != self.revealed:
            raise TestSetUsedError(
                f"{os.fspath(path)} remembers a look at a test set, on {remembered.time} for {remembered.name!r}, "
                "which would be lost. Go on with Experiment.open, or save under another name."
            )

    def _files(self) -> list[str]:
        """The last file, and the older ones that are still there."""
        if not self._paths:
            return []
        *older, last = self._paths
        if not os.path.exists(last):
            raise CheckpointError(
                f"{last}, the file of this experiment, is gone, and a look could not be written down. None was "
                "shown or counted. Bring the file back, or write a new one with save(path)."
            )
        return [path for path in older if os.path.exists(path)] + [last]


def _is_for(revealed: Revealed, entry: Entry) -> bool:
    """Whether a look was for this model."""
    has_same_mean = math.isclose(revealed.validation_mean, entry.mean, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
    return revealed.settings == entry.settings and has_same_mean


def look_in(body: dict[str, Any]) -> Revealed | None:
    """The look that a file remembers."""
    return None if body["revealed"] is None else Revealed(**body["revealed"])
