"""The seal of an experiment: whether its test set was looked at, for which model, and what remembers it.

The file of an experiment is JSON with a checksum, written whole or not at all. The checksum finds a file that was cut
short or changed by hand. It is no lock: who wants to cheat can.

A look is written before it is shown, into every file that the experiment was saved to or opened from; otherwise an
older file of the same experiment would still be sealed. The files are read again just before, because another process
may have been quicker. The last file must be there. An older one may be gone.

The same model is one with the same settings and the same scores when it was compared: settings are texts, and what
prints alike, or is random, may be something else.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from pathlib import Path
from typing import Any, NoReturn

from maxmargin.data.replacing import replacing
from maxmargin.errors import CheckpointError, TestSetUsedError
from maxmargin.evaluate.experiment.sealed_rows import Revealed
from maxmargin.evaluate.experiment.standings import Entry

_FORMAT = "maxmargin experiment"
_VERSION = 1
_ROUNDING = 1e-9  # of a mean score: sums over threads may differ in their last digits


class Seal:
    """The one look, once it was made, and the files of the experiment."""

    def __init__(self) -> None:
        self.revealed: Revealed | None = None
        self._paths: list[str] = []

    def keep_in(self, path: str | os.PathLike[str]) -> None:
        """From now on this file remembers the look, too."""
        where = os.path.abspath(path)
        self._paths = [known for known in self._paths if known != where] + [where]

    def look_for(self, name: str, entry: Entry) -> Revealed | None:
        """The look that there was, if it was for this model; None if there was none; an error if it was for another."""
        if self.revealed is None:
            found = [look_in(read_file(path)) for path in self._files()]
            self.revealed = next((look for look in found if look is not None), None)
        known = self.revealed
        if known is None:
            return None
        has_same_mean = math.isclose(known.validation_mean, entry.mean, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
        if known.settings == entry.settings and has_same_mean:
            return known
        raise TestSetUsedError(
            f"the test set was looked at on {known.time} for {known.name!r}; a score of {name!r} "
            "on the same rows would be the better of two. Report that look, or collect new test data."
        )

    def write(self, body: dict[str, Any]) -> None:
        """Write an experiment with its look to every file."""
        for path in self._files():
            write_file(path, body)

    def check_may_replace(self, path: str | os.PathLike[str]) -> None:
        """Refuse to write over a file that remembers another look."""
        if not os.path.exists(path):
            return
        remembered = look_in(read_file(path))
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


def look_in(body: dict[str, Any]) -> Revealed | None:
    """The look that a file remembers."""
    return None if body["revealed"] is None else Revealed(**body["revealed"])


def write_file(path: str | os.PathLike[str], body: dict[str, Any]) -> None:
    """Write an experiment in the place of what is there."""
    content = {"format": _FORMAT, "version": _VERSION, "sha256": _checksum(body), "experiment": body}
    with replacing(path) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read_file(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read an experiment, or refuse a file that is not one as it was written."""
    where = os.fspath(path)
    try:
        content = json.loads(Path(path).read_bytes(), parse_constant=_refuse)
    except ValueError as error:  # cut short, or no text at all
        raise CheckpointError(f"{where} is damaged or no experiment: {error}. Use a copy of it.") from error
    if not isinstance(content, dict) or content.get("format") != _FORMAT:
        raise CheckpointError(f"{where} is not the file of an experiment; Experiment.save writes those.")
    if content.get("version") != _VERSION:
        raise CheckpointError(
            f"{where} has version {content.get('version')!r}; this maxmargin reads version {_VERSION}. Update it."
        )
    body = content.get("experiment")
    if not isinstance(body, dict) or content.get("sha256") != _checksum(body):
        raise CheckpointError(f"{where} was changed after it was written: its checksum disagrees. Use a copy of it.")
    return body


def _refuse(name: str) -> NoReturn:
    """What Python would read, and JSON does not know."""
    raise ValueError(f"{name} is no number of JSON")


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(body, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()).hexdigest()
