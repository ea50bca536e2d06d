"""What a command writes: a table for people, one JSON object for machines; and files.

What would fail at the end of writing a file is told before the command begins.
"""

from __future__ import annotations

import glob
import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maxmargin.errors import ParameterError

_NUMBERS = (
    "objective",
    "primal",
    "dual",
    "gap",
    "relative_gap",
    "kkt_violation",
    "rounding",
    "tol",
    "solver",
    "n_support",
    "passes",
    "seconds",
    "reason",
)


def certificate_record(certificate: Any) -> dict[str, Any] | None:
    """A certificate as plain values."""
    if certificate is None:
        return None
    record = {name: getattr(certificate, name) for name in _NUMBERS}
    return {**record, "status": certificate.status.name, "parts": len(certificate.parts or (certificate,))}


def print_json(record: Mapping[str, Any]) -> None:
    """One JSON object; numbers that JSON does not know become null."""
    print(json.dumps(_plain(record), indent=2, ensure_ascii=False))


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Columns of text, numbers to the right."""
    widths = [max(len(cell) for cell in column) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def check_output(path: Path, inputs: Sequence[Path] = ()) -> None:
    """Refuse a place where no new file can appear, or where it would replace one of the inputs."""
    if str(path) == "-":
        raise ParameterError("'-' is no name of a file. Name one; predictions go to stdout where --output is left out.")
    if path.is_dir():
        raise ParameterError(f"{str(path)!r} is a directory. Give the name of the file to write in it, too.")
    folder = path.resolve().parent
    if not folder.is_dir():
        raise ParameterError(f"there is no directory {str(path.parent)!r} to write {path.name!r} into. Make it first.")
    if is_device(path):
        raise ParameterError(f"{str(path)!r} is a device or a pipe, and would be replaced. Name a file to write.")
    if not os.access(folder, os.W_OK):
        raise ParameterError(f"nothing can be written into the directory {str(path.parent)!r}. Name another one.")
    if path.exists() and any(path.samefile(name) for one in inputs for name in glob.glob(str(one))):
        raise ParameterError(
            f"{str(path)!r} is read by this command, and would be replaced. Name another file to write."
        )


def is_device(path: Path) -> bool:
    """Whether there is something of that name that is written to, and never replaced."""
    return path.exists() and not path.is_file()
