"""A contestant in a process of its own: works on request, and reports time, memory and where its arrays are.

The process runs in the contestant's virtual environment, so this file needs numpy, scipy and that one library only.
It is given one JSON object as its argument (folders of the data and of the answers, how many rows to use, the library,
and what it is set to), reads requests from standard input, a line of JSON each, and answers each with a line of JSON.
Arrays go to `.npz` files. Nothing is pickled.

The clock runs during `Contestant.run` alone. What a library wants done to the data beforehand, and can do once for many
runs, is done in `prepare`, outside the clock; the memory it keeps is counted.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

REPEATED_FOR = 3.0
"""Seconds after which a run is not repeated once more."""
SOME_ROWS = 5000
"""Enough for every loop of a library to be loaded, or compiled, before the clock runs."""
MOST_CLASSES = 20
"""More different values than that in y are taken for numbers to be predicted."""


class Answer(NamedTuple):
    """What came of a run."""

    arrays: dict[str, np.ndarray]
    words: dict[str, Any]
    """Everything that is not an array."""


class Contestant:
    """A library, set to one problem."""

    first: Mapping[str, Any] = {}
    """Request of the run on a few rows that comes before any clock."""

    def prepare(self, X: Any, y: np.ndarray) -> Any:
        """The data as the library likes them best."""
        return X, y

    def run(self, data: Any, *_: Any, **request: Any) -> Any:
        """A model, or whatever is asked for; this is what the clock measures."""
        raise NotImplementedError

    def answer(self, result: Any) -> Answer:
        """What is to be known of what `run` gave."""
        raise NotImplementedError


def read_rows(folder: Path, *, mapped: bool = False) -> tuple[Any, np.ndarray]:
    """X (dense, or CSR) and y from a folder of arrays; a mapped dense X stays on disk."""
    y = np.load(folder / "y.npy")
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy", mmap_mode="r" if mapped else None), y
    data, columns, starts, shape = (np.load(folder / f"{part}.npy") for part in ("data", "columns", "starts", "shape"))
    return sparse.csr_matrix((data, columns, starts), shape=tuple(shape.tolist())), y


def first_rows(X: Any, y: np.ndarray, count: int | None) -> tuple[Any, np.ndarray]:
    """The first rows, in memory of their own; all of them where `count` is None."""
    if count is None or count >= len(y):
        return X, y
    return (X[:count] if sparse.issparse(X) else np.array(X[:count])), y[:count]


def a_few_rows(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray]:
    """Rows of every class: enough to load every module, start the threads and find compiled code."""
    labels = np.unique(y)
    if len(labels) > MOST_CLASSES:
        return X[:SOME_ROWS], y[:SOME_ROWS]
    each = SOME_ROWS // len(labels)
    rows = np.sort(np.concatenate([np.flatnonzero(y == label)[:each] for label in labels]))
    return X[rows], y[rows]


def memory_of_process(field: str) -> float | None:
    """VmRSS, or VmHWM, the peak, of this process in MB; None where the system does not tell."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith(field)), None)


def forget_peak() -> bool:
    """Let VmHWM start again from the present size; False where the system cannot."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def be_first_to_go() -> None:
    """Where memory runs out, this process is the one to end, and the race goes on."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def measured_run(
    contestant: Contestant, data: Any, request: dict[str, Any], before: float | None
) -> tuple[Answer, dict[str, Any]]:
    """The best of up to `repeat` runs, and the peak of memory beyond what the process held `before`."""
    repeat = request.pop("repeat", 1)
    resets = forget_peak()
    seconds: list[float] = []
    while len(seconds) < repeat and sum(seconds) < REPEATED_FOR:
        start = time.perf_counter()
        result = contestant.run(data, **request)
        seconds.append(time.perf_counter() - start)
    peak = memory_of_process("VmHWM") if resets else None
    extra = None if peak is None or before is None else max(0.0, peak - before)
    return contestant.answer(result), {"seconds": min(seconds), "extra_mb": extra}


def serve(make: Callable[[Mapping[str, Any]], Contestant]) -> None:
    """Answer requests until standard input ends; the task is the argument of the process."""
    # What a library prints must not mix with the answers.
    answers_to = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    be_first_to_go()

    def say(**words: Any) -> None:
        answers_to.write(json.dumps(words) + "\n")

    task = json.loads(sys.argv[1])
    try:
        contestant = make(task)
        X, y = first_rows(*read_rows(Path(task["data"])), task["rows"])
        few = contestant.prepare(*a_few_rows(X, y))
        contestant.run(few, **contestant.first)
        before = memory_of_process("VmRSS")
        data = contestant.prepare(X, y)
    except Exception as error:
        say(error=f"{error}" if isinstance(error, NotImplementedError) else f"{type(error).__name__}: {error}")
        return
    say(ready=True)
    for count, line in enumerate(sys.stdin):
        try:
            answer, measured = measured_run(contestant, data, json.loads(line), before)
        except Exception as error:
            say(error=f"{type(error).__name__}: {error}")
            continue
        arrays = Path(task["answers"]) / f"{count}.npz"
        np.savez(arrays, allow_pickle=False, **answer.arrays)
        say(measured=measured, words=answer.words, arrays=str(arrays))
