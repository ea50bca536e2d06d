"""Peers in virtual environments of their own, and the processes that contestants run in.

The environments are made on first use in `benchmarks/.venvs`. A library that does not install is reported with the
reason and left out.
"""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
ENVIRONMENTS = HERE / ".venvs"
REQUIREMENTS = {
    "LIBLINEAR": "liblinear-official==2.50.0",
    "scikit-learn": "scikit-learn==1.9.1",
    "Cyanure": "cyanure==1.2.2",
    "Snap ML": "snapml==1.17.2",
}
READY_SECONDS = 600.0
"""For loading the data and what a library does with them before its fits."""
ANSWER_SECONDS = 10.0
"""For the way of the weights, after a fit."""


class PeerError(Exception):
    """A library that is not there, or failed; the message says why."""


class OverLimitError(Exception):
    """A fit took longer than it may; its process is gone."""


@cache
def python_of(library: str) -> Path:
    """The interpreter that has the library; its environment is made where it is missing."""
    if library not in REQUIREMENTS:
        return Path(sys.executable)
    folder = ENVIRONMENTS / library.lower().replace(" ", "-")
    python, marker = folder / "bin" / "python", folder / "installed.txt"
    requirement = REQUIREMENTS[library]
    if marker.exists() and marker.read_text() == requirement:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    _command(library, [sys.executable, "-m", "venv", str(folder)])
    _command(library, [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement])
    marker.write_text(requirement)
    return python


def _command(library: str, words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        reason = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
        raise PeerError(f"{library} does not install: {reason}")


def installed() -> tuple[dict[str, str], dict[str, str]]:
    """Peers that are there, with what was asked for, and those that are not, with the reason."""
    present, missing = {}, {}
    for library, requirement in REQUIREMENTS.items():
        try:
            python_of(library)
            present[library] = requirement
        except PeerError as error:
            missing[library] = str(error)
    return present, missing


@dataclass(frozen=True)
class Fit:
    """One fit, as its process reports it."""

    seconds: float
    weights: np.ndarray
    exhausted: bool
    extra_mb: float | None
    dual: float | None
    gap: float | None


class Worker:
    """A process that holds the data and fits on request (`peer_worker.py`)."""

    def __init__(self, data: Path, library: str, solver: str, loss: str, C: float):
        self._folder = tempfile.TemporaryDirectory(prefix="maxmargin-race-")
        self._errors = Path(self._folder.name) / "stderr.txt"
        task = {"library": library, "solver": solver, "loss": loss, "C": C}
        folders = {"data": str(data), "answers": self._folder.name}
        # -P keeps this folder, whose modules have common names, out of the libraries' way.
        words = [str(python_of(library)), "-P", str(HERE / "peer_worker.py"), json.dumps(task | folders)]
        with self._errors.open("w") as errors:
            self._process = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        try:
            self._next(READY_SECONDS)
        except OverLimitError:
            self.close()
            raise PeerError(f"not ready after {READY_SECONDS:g} s") from None
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()

    def fit(self, tol: float, limit: float) -> Fit:
        """One fit at that tolerance; `OverLimitError` where it takes more than `limit` seconds."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"tol": tol}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self._why_it_ended()) from None
        words = self._next(limit + ANSWER_SECONDS)
        if words["seconds"] > limit:
            raise OverLimitError
        weights = Path(words.pop("weights"))
        answer = np.load(weights)
        weights.unlink()
        return Fit(weights=answer, **words)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def _next(self, seconds: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            raise OverLimitError from None
        if not line:
            raise PeerError(self._why_it_ended())
        words: dict[str, Any] = json.loads(line)
        if "error" in words:
            raise PeerError(words["error"].splitlines()[0])
        return words

    def _why_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"the process was ended by signal {-code}" + (", perhaps for want of memory" if code == -9 else "")
        said = self._errors.read_text().strip().splitlines()
        return said[-1] if said else f"the process ended with code {code}"
