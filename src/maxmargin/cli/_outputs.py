"""Files that a command writes: what would fail at its end is told before it begins."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from pathlib import Path

from maxmargin.errors import ParameterError


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
