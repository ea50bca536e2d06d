"""The file of an experiment: JSON with a checksum, written whole or not at all.

The checksum finds a file that was cut short or changed by hand. It is no lock: who wants to cheat can.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, NoReturn

from maxmargin.data.replacing import replacing
from maxmargin.errors import CheckpointError

_FORMAT = "maxmargin experiment"
_VERSION = 1


def write(path: str | os.PathLike[str], body: dict[str, Any]) -> None:
    """Write an experiment in the place of what is there."""
    content = {"format": _FORMAT, "version": _VERSION, "sha256": _checksum(body), "experiment": body}
    with replacing(path) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode())


def read(path: str | os.PathLike[str]) -> dict[str, Any]:
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
