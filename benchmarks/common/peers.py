"""Peers in virtual environments of their own, and the processes that contestants run in.

The environments are made on first use in `benchmarks/.venvs`. A library that does not install is reported with the
reason and left out.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common.worker import REPEATED_FOR

HERE = Path(__file__).parents[1]
ENVIRONMENTS = HERE / ".venvs"
REQUIREMENTS = {
    "LIBLINEAR": "liblinear-official==2.50.0",
    "scikit-learn": "scikit-learn==1.9.1",
    "Cyanure": "cyanure==1.2.2",
    "Snap ML": "snapml==1.17.2",
    "scikit-learn-intelex": "scikit-learn-intelex==2026.2.0 scikit-learn==1.9.1",
    "celer": "celer==0.7.4 scikit-learn==1.9.1",
    "LIBSVM": "libsvm-official==3.37.0 scipy",
}
READY_SECONDS = 600.0
"""For loading the data and what a library does with them before its fits."""
ANSWER_SECONDS = 10.0
"""For the way of the arrays, after a run."""


class PeerError(Exception):
    """A library that is not there, or failed; the message says why."""


class OverLimitError(Exception):
    """A run took longer than it may; its process is gone."""


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
    _command(
        library, [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirement.split()]
    )
    marker.write_text(requirement)
    return python


def _command(library: str, words: list[str]) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no reason given"]
        reason = next((line for line in reversed(lines) if line.startswith("ERROR")), lines[-1])
        raise PeerError(f"{library} does not install: {reason}")


def installed(libraries: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Those that are there, with what was asked for, and those that are not, with the reason."""
    present, missing = {}, {}
    for library in libraries:
        try:
            python_of(library)
            present[library] = REQUIREMENTS[library]
        except PeerError as error:
            missing[library] = str(error)
    return present, missing


@dataclass(frozen=True)
class Run:
    """One run, as its process reports it."""

    seconds: float
    extra_mb: float | None
    arrays: dict[str, np.ndarray]
    words: dict[str, Any]


class Worker:
    """A process that holds the data, or the first `rows` of them, and works on request (`worker.py`).

    `program` is the module that knows the libraries, `task` what the library is set to.
    """

    def __init__(self, program: str, data: Path, library: str, task: Mapping[str, Any], rows: int | None = None):
        self._folder = tempfile.TemporaryDirectory(prefix="maxmargin-race-")
        self._errors = Path(self._folder.name) / "stderr.txt"
        told = {"library": library, "data": str(data), "rows": rows, "answers": self._folder.name} | dict(task)
        # -P keeps the working directory, whose modules may have common names, out of the libraries' way.
        words = [str(python_of(library)), "-P", "-m", f"benchmarks.{program}", json.dumps(told)]
        environment = os.environ | {"PYTHONPATH": str(HERE.parent)}
        with self._errors.open("w") as errors:
            # A session of its own, so that processes which the library starts end with it.
            self._process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env=environment,
                start_new_session=True,
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
        """End the process, and those that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._folder.cleanup()

    def run(self, limit: float, **request: Any) -> Run:
        """One run, or the best of `repeat`; `OverLimitError` where it takes more than `limit` seconds."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise PeerError(self._why_it_ended()) from None
        words = self._next(limit + ANSWER_SECONDS + (REPEATED_FOR if "repeat" in request else 0.0))
        if words["measured"]["seconds"] > limit:
            raise OverLimitError
        path = Path(words["arrays"])
        with np.load(path) as stored:
            arrays = dict(stored)
        path.unlink()
        return Run(arrays=arrays, words=words["words"], **words["measured"])

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
